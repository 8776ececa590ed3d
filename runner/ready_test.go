package runner_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/boombox-go/boombox/fake"
	. "github.com/boombox-go/boombox/matchers"
	"github.com/boombox-go/boombox/runner"
	"github.com/boombox-go/boombox/runner/runnertest"
)

// served starts a listener that takes a moment.
func served(ctx context.Context, what string) *runner.Process {
	GinkgoHelper()
	p, err := runner.Contained{}.Start(ctx, fixture("listener", what, "100ms", "chatty"))
	Expect(err).NotTo(HaveOccurred())
	DeferCleanup(func() { Expect(p.Close()).To(Succeed()) })
	return p
}

// loopback is an address on this machine that nobody else has, or skips.
func loopback() string {
	GinkgoHelper()
	if _, err := os.Stat("/proc/self"); err != nil {
		Skip("only Linux answers on all of 127.0.0.0/8")
	}
	pid := os.Getpid()
	return fmt.Sprintf("127.%d.%d.%d:%d", 1+pid>>16&0x7f, pid>>8&0xff, 1+pid&0x7f, 20_000+GinkgoRandomSeed()%10_000+int64(time.Now().Nanosecond()%1000))
}

var _ = Describe("waiting for a real child", func() {
	It("for a port, a socket, a file or an HTTP answer comes to its end when it is there, and not before", func(ctx SpecContext) {
		dir := GinkgoT().TempDir()
		socket, file, tcp, web := filepath.Join(dir, "s"), filepath.Join(dir, "f"), loopback(), loopback()
		short, cancel := context.WithTimeout(ctx, 20*time.Millisecond)
		defer cancel()

		p := served(ctx, "unix:"+socket)
		// The negative control: a child that has begun is not ready.
		Expect(p.WaitForSocket(short, socket)).To(MatchError(runner.ErrNotReady))
		Expect(p.WaitForSocket(ctx, socket)).To(Succeed())

		p = served(ctx, "file:"+file)
		Expect(p.WaitForFile(ctx, file)).To(Succeed())
		Expect(p.WaitForFile(ctx, dir)).To(Succeed())

		p = served(ctx, "tcp:"+tcp)
		Expect(p.WaitForPort(ctx, tcp)).To(Succeed())

		p = served(ctx, "http:"+web)
		Expect(p.WaitForHTTP(ctx, "http://"+web+"/health?a=b")).To(Succeed())
	}, NodeTimeout(time.Minute))

	It("does not stall it, however much it says first", func(ctx SpecContext) {
		p := served(ctx, "file:"+filepath.Join(GinkgoT().TempDir(), "f"))
		line, err := p.WaitForLine(ctx, func(l runner.Line) bool { return len(l.Text) >= 200_000 })
		Expect(err).NotTo(HaveOccurred())
		Expect(line.Text).To(Equal(strings.Repeat("x", 200_000)))
	}, NodeTimeout(time.Minute))

	It("fails when it ends, with its outcome, and touches nothing", func(ctx SpecContext) {
		p, err := runner.Contained{}.Start(ctx, shell("sleep 0.1; exit 4"))
		Expect(err).NotTo(HaveOccurred())
		missing := filepath.Join(GinkgoT().TempDir(), "missing")
		for _, err := range []error{
			p.WaitForFile(ctx, missing), p.WaitForSocket(ctx, missing), p.WaitForPort(ctx, loopback()),
			p.WaitForHTTP(ctx, "http://"+loopback()),
		} {
			notReady, ok := errors.AsType[*runner.NotReadyError](err)
			Expect(ok).To(BeTrue())
			Expect(notReady.Outcome).To(Equal(runner.Exited(4)))
			Expect(notReady.Err).To(HaveOccurred(), "what the last attempt found")
		}
		res, err := p.Wait(ctx)
		Expect(err).NotTo(HaveOccurred())
		Expect(res).To(HaveExited(4))
	}, NodeTimeout(time.Minute))

	It("finds what it left behind when it was over", func(ctx SpecContext) {
		file := filepath.Join(GinkgoT().TempDir(), "left")
		cmd := shell(`: >"$LEFT"`)
		cmd.Env = cmd.Env.Set("LEFT", file)
		p, err := runner.Contained{}.Start(ctx, cmd)
		Expect(err).NotTo(HaveOccurred())
		_, err = p.Wait(ctx)
		Expect(err).NotTo(HaveOccurred())
		Expect(p.WaitForFile(ctx, file)).To(Succeed())
	})

	It("for a line fails early when it has closed its streams and lives on", func(ctx SpecContext) {
		p, err := runner.Contained{}.Start(ctx, fixture("earlyclose"))
		Expect(err).NotTo(HaveOccurred())
		DeferCleanup(p.Close)
		_, err = p.WaitForLine(ctx, func(l runner.Line) bool { return l.Text == "never" })
		notReady, ok := errors.AsType[*runner.NotReadyError](err)
		Expect(ok).To(BeTrue())
		Expect(notReady.Outcome).To(BeZero())
		Expect(err).To(MatchError(ContainSubstring("both of its streams are at their end")))
		Expect(p.Settled()).NotTo(BeClosed())
	}, NodeTimeout(time.Minute))
})

var _ = Describe("what is not ready", func() {
	pending := func(ctx context.Context) *runner.Process {
		GinkgoHelper()
		r := fake.New()
		r.On("tool").Reply(fake.Stdout("sentinel-out\n"), fake.Pending())
		p, err := r.Start(ctx, runner.Command("tool", "sentinel-arg"))
		Expect(err).NotTo(HaveOccurred())
		DeferCleanup(p.Close)
		return p
	}

	It("is told without a path, an argument or output", func(ctx SpecContext) {
		p := pending(ctx)
		short, cancel := context.WithTimeout(ctx, 20*time.Millisecond)
		defer cancel()
		_, line := p.WaitForLine(short, func(runner.Line) bool { return false })
		for _, err := range []error{
			line, p.WaitForFile(short, "/sentinel-path"), p.WaitForSocket(short, "/sentinel-path"),
			p.WaitForHTTP(short, "http://127.0.0.1:1/?token=sentinel-query"),
			p.WaitForHTTP(short, "http://user:sentinel-user@127.0.0.1:1/"),
			p.WaitForHTTP(ctx, "sentinel-url"),
		} {
			Expect(err).To(MatchError(runner.ErrNotReady))
			Expect(runnertest.Leaks(err, "sentinel")).To(BeEmpty())
		}
		Expect(line.Error()).To(HavePrefix(`runner: "tool" is not ready: no such line after `))
		Expect(line.Error()).To(HaveSuffix("context deadline exceeded"))
	})

	It("is refused at once for what is no http URL", func(ctx SpecContext) {
		p := pending(ctx)
		for _, url := range []string{"https://127.0.0.1/", "127.0.0.1:80", "http://", "http://a\r\nb/", "http://a b/", ""} {
			Expect(p.WaitForHTTP(ctx, url)).To(MatchError(ContainSubstring("not an http URL")))
		}
	})
})
