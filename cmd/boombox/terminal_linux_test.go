package main_test

import (
	"bytes"
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"syscall"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"github.com/onsi/gomega/gbytes"
	"golang.org/x/sys/unix"

	"github.com/boombox-go/boombox/cassette"
	"github.com/boombox-go/boombox/fixtures"
	. "github.com/boombox-go/boombox/matchers"
	"github.com/boombox-go/boombox/runner"
)

// onTerminal makes boombox with a controlling terminal of its own as its input. What is written to keyboard is typed
// there.
func onTerminal(c call) (keyboard *os.File, cmd *exec.Cmd) {
	GinkgoHelper()
	keyboard, err := os.OpenFile("/dev/ptmx", os.O_RDWR|syscall.O_NOCTTY, 0)
	if err != nil {
		Skip("no terminals on this host")
	}
	DeferCleanup(keyboard.Close)
	fd := int(keyboard.Fd())
	Expect(unix.IoctlSetPointerInt(fd, unix.TIOCSPTLCK, 0)).To(Succeed())
	number, err := unix.IoctlGetInt(fd, unix.TIOCGPTN)
	Expect(err).NotTo(HaveOccurred())
	tty, err := os.OpenFile("/dev/pts/"+strconv.Itoa(number), os.O_RDWR|syscall.O_NOCTTY, 0)
	Expect(err).NotTo(HaveOccurred())
	DeferCleanup(tty.Close)
	cmd = c.command()
	cmd.Stdin = tty
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true, Ctty: 0}
	return keyboard, cmd
}

var _ = Describe("on a terminal", func() {
	It("passes on what is typed, though the program is in no foreground group", func() {
		keyboard, cmd := onTerminal(call{args: boxed(nil, "cat")})
		_, err := keyboard.WriteString("typed\n\x04")
		Expect(err).NotTo(HaveOccurred())
		end := collect(cmd)
		Expect(end.Stdout).To(Equal("typed\n"))
		Expect(end.Status).To(Equal(0))
	})

	It("does not wait for keys that the program does not ask for", func() {
		_, cmd := onTerminal(call{args: boxed(nil, "exit", "5")})
		Expect(collect(cmd).Status).To(Equal(5))
	})

	It("ends by Ctrl-C", func() {
		keyboard, cmd := onTerminal(call{args: boxed(nil, "sleep")})
		live := launch(cmd)
		_, err := keyboard.WriteString("\x03")
		Expect(err).NotTo(HaveOccurred())
		Expect(live.end()).To(Equal(128 + 2))
	})

	It("is where verify talks again to a program that was talked to on one, and resizes it again", func(ctx context.Context) {
		const script = `printf 'name? '; read -r name; trap 'stty size; exit 3' WINCH; printf "hello $name "; n=0; while [ $n -lt 3000 ]; do sleep 0.01; n=$((n+1)); done`
		dir := GinkgoT().TempDir()
		path := filepath.Join(dir, "t.cassette")
		rec, err := cassette.NewRecorder(path, nil)
		Expect(err).NotTo(HaveOccurred())
		defer rec.Close()
		said := gbytes.NewBuffer()
		cmd := runner.Command("sh", "-c", script)
		cmd.Stdin, cmd.PTY = runner.StdinPipe(), &runner.PTY{Cols: 100, Rows: 30}
		cmd.Output.Stdout.Tee = said
		p, err := rec.Start(ctx, cmd)
		if errors.Is(err, runner.ErrUnsupported) {
			Skip("no terminals on this host")
		}
		Expect(err).NotTo(HaveOccurred())
		defer p.Close()
		Eventually(said).WithTimeout(time.Minute).Should(gbytes.Say(`name\? `))
		_, err = p.Stdin().Write([]byte("Ann\n"))
		Expect(err).NotTo(HaveOccurred())
		Eventually(said).WithTimeout(time.Minute).Should(gbytes.Say("hello Ann "))
		Expect(p.Resize(132, 43)).To(Succeed())
		res, err := p.Wait(ctx)
		Expect(err).NotTo(HaveOccurred())
		Expect(res).To(HaveExited(3))
		Expect(rec.Save()).To(Succeed())
		text, err := os.ReadFile(path)
		Expect(err).NotTo(HaveOccurred())
		Expect(string(text)).To(And(ContainSubstring(`43 132\r\n"`), ContainSubstring("r132x43")))

		verify := func() ended { return call{args: []string{"verify", "t.cassette"}, dir: dir}.run() }
		Expect(verify()).To(And(HaveField("Status", 0), HaveField("Stdout", MatchRegexp(`run 1, of "sh": (same|timing)`))))

		By("and tells when it says something else")
		changed, err := cassette.Reseal(bytes.Replace(text, []byte("43 132"), []byte("34 123"), 1))
		Expect(err).NotTo(HaveOccurred())
		Expect(os.WriteFile(path, changed, 0o600)).To(Succeed())
		Expect(verify()).To(And(HaveField("Status", 1), HaveField("Stdout", MatchRegexp(`run 1, of "sh": output \(.*stdout\)`))))
	})

	It("records and replays without an input", func() {
		dir := GinkgoT().TempDir()
		child := []string{"streams", fixtures.Out("x")}
		_, cmd := onTerminal(call{args: onTape("record", nil, child[0], child[1:]...), dir: dir})
		Expect(collect(cmd).Status).To(Equal(0))
		Expect(call{args: onTape("replay", nil, child[0], child[1:]...), dir: dir}.run().Stdout).To(Equal("x"))
	})
})
