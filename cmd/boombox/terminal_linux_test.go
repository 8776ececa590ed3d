package main_test

import (
	"os"
	"os/exec"
	"strconv"
	"syscall"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"golang.org/x/sys/unix"

	"github.com/boombox-go/boombox/fixtures"
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

	It("records and replays without an input", func() {
		dir := GinkgoT().TempDir()
		child := []string{"streams", fixtures.Out("x")}
		_, cmd := onTerminal(call{args: onTape("record", nil, child[0], child[1:]...), dir: dir})
		Expect(collect(cmd).Status).To(Equal(0))
		Expect(call{args: onTape("replay", nil, child[0], child[1:]...), dir: dir}.run().Stdout).To(Equal("x"))
	})
})
