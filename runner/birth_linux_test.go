package runner_test

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"golang.org/x/sys/unix"

	"github.com/boombox-go/boombox/contain"
	. "github.com/boombox-go/boombox/matchers"
	"github.com/boombox-go/boombox/runner"
)

var _ = Describe("what a command asks its child to be born with", func() {
	nobody := &contain.Credential{UID: 65534, GID: 65534}
	root := func() {
		GinkgoHelper()
		if os.Geteuid() != 0 {
			Skip("it takes root")
		}
	}

	It("is a start error that names the step when the system refuses it", func(ctx SpecContext) {
		cmd := fixture("exit")
		cmd.CPUAffinity = []int{1000}
		_, err := runner.Contained{}.Start(ctx, cmd)
		Expect(err).To(beStartError(runner.StartOther))
		step, ok := errors.AsType[*contain.StartError](err)
		Expect(ok).To(BeTrue())
		Expect(step.Step).To(Equal(contain.StepAffinity))
		Expect(err).To(MatchError(unix.EINVAL))
		Expect(err.Error()).To(ContainSubstring("set the processors"))
	})

	It("makes a program and a directory that the user may not use what they are, and not something else", func(ctx SpecContext) {
		root()
		dir := GinkgoT().TempDir()
		Expect(os.Chmod(dir, 0o700)).To(Succeed())
		program := filepath.Join(dir, "program")
		Expect(os.WriteFile(program, []byte("#!/bin/sh\n"), 0o755)).To(Succeed())
		cmd := runner.Command(program)
		Expect(runner.Output(ctx, runner.Contained{}, cmd)).To(BeEmpty(), "the control: we may")
		cmd.Credential = nobody
		_, err := runner.Contained{}.Start(ctx, cmd)
		Expect(err).To(And(beStartError(runner.StartNotExecutable), MatchError(unix.EACCES)))
		cmd = shell(":")
		cmd.Credential, cmd.Dir = nobody, dir
		_, err = runner.Contained{}.Start(ctx, cmd)
		Expect(err).To(And(beStartError(runner.StartBadDir), MatchError(unix.EACCES)))
	})

	It("has no say in which program is chosen: we look for it, and the user may execute it or not", func(ctx SpecContext) {
		root()
		dir := GinkgoT().TempDir()
		for d := dir; d != "/" && d != os.TempDir(); d = filepath.Dir(d) {
			Expect(os.Chmod(d, 0o755)).To(Succeed())
		}
		ours, everybodys := filepath.Join(dir, "ours"), filepath.Join(dir, "everybodys")
		for d, mode := range map[string]os.FileMode{ours: 0o700, everybodys: 0o755} {
			Expect(os.Mkdir(d, 0o755)).To(Succeed())
			Expect(os.WriteFile(filepath.Join(d, "tool"), []byte("#!/bin/sh\n"), mode)).To(Succeed())
			Expect(os.Chmod(filepath.Join(d, "tool"), mode)).To(Succeed())
		}
		cmd := runner.Command("tool")
		cmd.Credential = nobody
		cmd.Env = cmd.Env.Set("PATH", ours+":"+everybodys)
		Expect(runner.Resolve(cmd)).To(Equal(filepath.Join(ours, "tool")))
		_, err := runner.Contained{}.Start(ctx, cmd)
		Expect(err).To(And(beStartError(runner.StartNotExecutable), MatchError(unix.EACCES)))
		cmd.Env = cmd.Env.Set("PATH", everybodys)
		Expect(runner.Output(ctx, runner.Contained{}, cmd)).To(BeEmpty(), "the control: that one may be executed")
	})

	It("tells a missing interpreter as it does without", func(ctx SpecContext) {
		file := filepath.Join(GinkgoT().TempDir(), "lost")
		Expect(os.WriteFile(file, []byte("#!/boombox/no/such/interpreter\n"), 0o700)).To(Succeed())
		cmd := runner.Command(file)
		cmd.Nice = new(5)
		_, err := runner.Contained{}.Start(ctx, cmd)
		Expect(err).To(And(beStartError(runner.StartNotExecutable), MatchError(ContainSubstring("interpreter"))))
	})

	It("is set before the child's first step, so that files have the mode from the start", func(ctx SpecContext) {
		dir := GinkgoT().TempDir()
		for _, umask := range []fs.FileMode{0o027, 0o077, 0} {
			cmd := shell("echo x > file; stat -c %a file; rm file")
			cmd.Dir, cmd.Umask = dir, &umask
			want := map[fs.FileMode]string{0o027: "640", 0o077: "600", 0: "666"}[umask]
			Expect(runner.Output(ctx, runner.Contained{}, cmd)).To(Equal(want))
		}
	})

	It("bounds what the child can do, and the kernel ends what goes beyond", func(ctx SpecContext) {
		cmd := shell("exec head -c 100000 /dev/zero > file")
		cmd.Dir = GinkgoT().TempDir()
		Expect(runner.Probe(ctx, runner.Contained{}, cmd)).To(BeTrue(), "the control")
		cmd.Rlimits.FSize = &contain.Rlimit{Soft: 1000, Hard: 1000}
		res, err := runner.Run(ctx, runner.Contained{}, cmd)
		Expect(err).NotTo(HaveOccurred())
		Expect(res).To(BeSignaled(unix.SIGXFSZ))
	})

	It("composes with input, output, a deadline and a shared group", func(ctx SpecContext) {
		root()
		g, err := contain.New(contain.Options{})
		Expect(err).NotTo(HaveOccurred())
		DeferCleanup(func() { Expect(g.Close()).To(Succeed()) })
		cmd := shell("id -u; cat; exec sleep 60")
		cmd.Credential, cmd.Nice = nobody, new(3)
		cmd.Stdin = runner.StdinString("input")
		cmd.Timeout = 1500 * time.Millisecond
		res, err := runner.Run(ctx, runner.Contained{Group: g}, cmd)
		Expect(err).NotTo(HaveOccurred())
		Expect(res).To(HaveTimedOut())
		Expect(res).To(HaveStdout("65534\ninput"))
		Expect(res).NotTo(HaveSurvivors())
	})

	It("is each stage's own in a pipeline", func(ctx SpecContext) {
		first, second := shell("umask; cat"), shell("cat; umask")
		first.Umask, second.Umask = new(fs.FileMode(0o031)), new(fs.FileMode(0o013))
		first.Stdin = runner.StdinString("between\n")
		out, err := runner.Pipe(first, second).Output(ctx, runner.Contained{})
		Expect(err).NotTo(HaveOccurred())
		Expect(out).To(Equal("0031\nbetween\n0013"))
		second.CPUAffinity = []int{1000}
		_, err = runner.Pipe(first, second).Output(ctx, runner.Contained{})
		Expect(err).To(beStartError(runner.StartOther))
	})
})
