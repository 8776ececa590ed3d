//go:build unix

package main_test

import (
	"os"
	"os/exec"
	"os/signal"
	"syscall"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/boombox-go/boombox/contain"
	"github.com/boombox-go/boombox/internal/suite"
	. "github.com/boombox-go/boombox/matchers"
)

var _ = Describe("run, when it is ended from outside", func() {
	DescribeTable("by a signal kills the whole tree and ends with 128+n",
		func(sig syscall.Signal) {
			suite.Require(contain.KillTree)
			if signal.Ignored(sig) {
				Skip("this suite ignores the signal, as nohup has it, and so does what it starts")
			}
			env, find := suite.WithNonce()
			box := call{args: boxed([]string{"--report", "r.json"}, "escapees"), env: []string{env}}.start()
			Expect(find()).To(HaveMembers(5), "boombox, the program and its three escapees")
			Expect(box.cmd.Process.Signal(sig)).To(Succeed())
			Expect(box.end()).To(Equal(128 + int(sig)))
			Expect(find()).NotTo(HaveSurvivors())
			Expect(box.stderr.String()).To(BeEmpty())
			Expect(reportOf(read(box.cmd.Dir, "r.json"))).To(And(
				HaveKeyWithValue("outcome", "cancelled"), HaveKeyWithValue("survivors", BeEquivalentTo(0)),
			))
		},
		Entry("SIGINT, which is Ctrl-C", syscall.SIGINT),
		Entry("SIGTERM", syscall.SIGTERM),
		Entry("SIGHUP", syscall.SIGHUP),
		Entry("SIGQUIT", syscall.SIGQUIT),
	)

	It("gives the program its grace", func() {
		box := call{args: boxed([]string{"--grace", "10s", "--report", "r.json"}, "graceful", "7")}.start()
		Expect(box.cmd.Process.Signal(syscall.SIGTERM)).To(Succeed())
		Expect(box.end()).To(Equal(128 + 15))
		Expect(reportOf(read(box.cmd.Dir, "r.json"))).To(HaveKeyWithValue("exit_code", BeEquivalentTo(7)))
	})

	It("cuts the grace short at the second signal", func() {
		box := call{args: boxed([]string{"--grace", "60s"}, "sigtermignorer")}.start()
		ended := make(chan int, 1)
		go func() {
			defer GinkgoRecover()
			ended <- box.end()
		}()
		Expect(box.cmd.Process.Signal(syscall.SIGTERM)).To(Succeed())
		Consistently(ended).WithTimeout(300 * time.Millisecond).ShouldNot(Receive())
		Expect(box.cmd.Process.Signal(syscall.SIGINT)).To(Succeed())
		// Well before the program's own life of 20 s is over.
		Eventually(ended).WithTimeout(10 * time.Second).Should(Receive(Equal(128 + 15)))
	})

	It("records nothing, and keeps the cassette that it should have replaced", func() {
		dir := GinkgoT().TempDir()
		Expect(call{args: onTape("record", nil, "exit", "3"), dir: dir}.run().Status).To(Equal(3))
		before := read(dir, "t.cassette")
		box := call{args: onTape("record", []string{"--replace"}, "sleep"), dir: dir}.start()
		Expect(box.cmd.Process.Signal(syscall.SIGTERM)).To(Succeed())
		Expect(box.end()).To(Equal(128 + 15))
		Expect(files(dir)).To(ConsistOf("t.cassette"))
		Expect(read(dir, "t.cassette")).To(Equal(before))
	})

	It("leaves a signal ignored that was ignored before it started", func() {
		sh, err := exec.LookPath("sh")
		if err != nil {
			Skip("no sh to ignore a signal with")
		}
		box := call{via: []string{sh, "-c", `trap "" HUP; exec "$0" "$@"`}, args: boxed(nil, "sleep")}.start()
		Expect(box.cmd.Process.Signal(syscall.SIGHUP)).To(Succeed())
		Expect(box.cmd.Process.Signal(syscall.SIGTERM)).To(Succeed())
		Expect(box.end()).To(Equal(128 + 15))
	})

	It("by a closed stdout kills the tree and ends silently, as a shell expects before head", func() {
		env, find := suite.WithNonce()
		box := call{args: boxed([]string{"--report", "r.json"}, "flood"), env: []string{env}}.command()
		r, w, err := os.Pipe()
		Expect(err).NotTo(HaveOccurred())
		stderr, err := os.Create(box.Dir + "/stderr")
		Expect(err).NotTo(HaveOccurred())
		defer stderr.Close()
		box.Stdout, box.Stderr = w, stderr
		Expect(box.Start()).To(Succeed())
		Expect(w.Close()).To(Succeed())
		_, err = r.Read(make([]byte, 1))
		Expect(err).NotTo(HaveOccurred())
		Expect(r.Close()).To(Succeed())
		Expect(wait(box)).To(Equal(128 + 13))
		Expect(find()).NotTo(HaveSurvivors())
		Expect(read(box.Dir, "stderr")).To(BeEmpty())
		Expect(reportOf(read(box.Dir, "r.json"))).To(HaveKeyWithValue("outcome", "cancelled"))
	})

	It("by a full disk ends with 125 and says so", func() {
		full, err := os.OpenFile("/dev/full", os.O_WRONLY, 0)
		if err != nil {
			Skip("no /dev/full on this system")
		}
		defer full.Close()
		end := call{args: boxed(nil, "flood"), stdout: full}.run()
		Expect(end).To(haveRefused("cannot write standard output: no space left on device"))
		Expect(call{args: []string{"doctor"}, stdout: full}.run()).To(haveRefused("cannot write standard output"))
	})
})
