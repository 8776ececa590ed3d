package runner_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/boombox-go/boombox/internal/procfs"
	"github.com/boombox-go/boombox/internal/suite"
	"github.com/boombox-go/boombox/runner"
)

var _ = Describe("a detached start", func() {
	BeforeEach(func() {
		if runtime.GOOS != "linux" {
			Skip("the process is looked at through /proc, which this system has not")
		}
	})

	It("names a process that nobody holds, in a session of its own, which runs on", func(ctx SpecContext) {
		dir := GinkgoT().TempDir()
		mark := filepath.Join(dir, "mark")
		nonce, find := suite.WithNonce()
		name, value, _ := strings.Cut(nonce, "=")
		Expect(os.WriteFile(filepath.Join(dir, "input"), []byte("from a file"), 0o600)).To(Succeed())
		cmd := shell(`cat > "$0.new"; echo "$MODE $(ps -o sid= -p $$)" >> "$0.new"; mv "$0.new" "$0"; sleep 20 & wait`)
		cmd = cmd.With(mark)
		cmd.Dir = dir
		cmd.Env = cmd.Env.Set("MODE", " free").Set(name, value)
		cmd.Stdin = runner.StdinFrom(filepath.Join(dir, "input"))
		starting, cancel := context.WithCancel(ctx)
		m, err := runner.Detach(starting, cmd)
		Expect(err).NotTo(HaveOccurred())
		DeferCleanup(func() {
			suite.EndAll(find)
			Eventually(func() bool { return suite.Alive(m.PID) }).Should(BeFalse(), "it is reaped")
		})
		cancel() // bounds the start alone
		Eventually(ctx, func() ([]byte, error) { return os.ReadFile(mark) }).ShouldNot(BeEmpty())
		text, err := os.ReadFile(mark)
		Expect(err).NotTo(HaveOccurred())
		Expect(strings.Fields(string(text))).To(Equal([]string{"from", "a", "file", "free", strconv.Itoa(m.PID)}), "it leads its session")
		now, err := procfs.Look(m.PID)
		Expect(err).NotTo(HaveOccurred())
		Expect(now.Alive()).To(BeTrue())
		Expect(now.Start).To(Equal(m.Start))
		Expect(m.Start).NotTo(BeZero())
	})

	It("refuses every field that takes somebody to hold the child, before anything starts", func(ctx SpecContext) {
		mark := filepath.Join(GinkgoT().TempDir(), "mark")
		honoured := map[string]bool{"Dir": true, "Env": true, "Arg0": true, "NewSession": true}
		for name, row := range rows() {
			cmd := shell(`: > "$0"`).With(mark)
			row.set(cmd)
			if honoured[name] {
				continue
			}
			_, err := runner.Detach(ctx, cmd)
			Expect(err).To(HaveOccurred(), name)
			if unsupported, ok := errors.AsType[*runner.UnsupportedError](err); ok {
				Expect(honoured).NotTo(HaveKey(unsupported.Field), name)
				Expect(err).NotTo(MatchError(runner.ErrInvalid))
			} else {
				Expect(err).To(MatchError(runner.ErrInvalid), name)
			}
		}
		Consistently(mark, "100ms").ShouldNot(BeAnExistingFile())
	})

	It("tells what cannot be started as every start does", func(ctx SpecContext) {
		_, err := runner.Detach(ctx, runner.Command("no-such-tool"))
		Expect(err).To(MatchError(runner.ErrNotFound))
		bad := runner.Command("true")
		bad.Dir = "/no/such"
		_, err = runner.Detach(ctx, bad)
		Expect(err).To(MatchError(runner.ErrBadDir))
		over, cancel := context.WithCancel(ctx)
		cancel()
		_, err = runner.Detach(over, runner.Command("true"))
		Expect(err).To(MatchError(runner.ErrCancelled))
	})
})
