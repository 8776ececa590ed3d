package runner_test

import (
	"context"
	"os"
	"path/filepath"
	"syscall"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/boombox-go/boombox/runner"
)

var _ = Describe("finding the program", func() {
	var dir string
	BeforeEach(func() { dir = GinkgoT().TempDir() })

	script := func(name, text string, mode os.FileMode) string {
		GinkgoHelper()
		file := filepath.Join(dir, name)
		Expect(os.MkdirAll(filepath.Dir(file), 0o700)).To(Succeed())
		Expect(os.WriteFile(file, []byte(text), mode)).To(Succeed())
		return file
	}
	start := func(ctx context.Context, cmd *runner.Cmd) error {
		_, err := runner.Contained{}.Start(ctx, cmd)
		return err
	}

	It("looks in the PATH of the child and not in ours", func(ctx SpecContext) {
		script("tool", "#!/bin/sh\necho found\n", 0o700)
		cmd := runner.Command("tool")
		Expect(start(ctx, cmd)).To(beStartError(runner.StartNotFound))
		cmd.Env = runner.CleanEnv().Set("PATH", dir)
		Expect(runner.Output(ctx, runner.Contained{}, cmd)).To(Equal("found"))
	})

	It("finds nothing in a clean environment, and nothing in relative entries", func(ctx SpecContext) {
		cmd := shell(":")
		cmd.Env = runner.CleanEnv()
		Expect(start(ctx, cmd)).To(beStartError(runner.StartNotFound))
		script("tool", "#!/bin/sh\n", 0o700)
		GinkgoT().Chdir(dir)
		cmd = runner.Command("tool")
		cmd.Dir = dir
		cmd.Env = runner.CleanEnv().Set("PATH", ".::")
		Expect(start(ctx, cmd)).To(beStartError(runner.StartNotFound))
	})

	It("passes over what cannot be executed, and says so when nothing better comes", func(ctx SpecContext) {
		script("a/tool", "#!/bin/sh\necho a\n", 0o600)
		script("b/tool", "#!/bin/sh\necho b\n", 0o700)
		Expect(os.MkdirAll(filepath.Join(dir, "c", "tool"), 0o700)).To(Succeed())
		cmd := runner.Command("tool")
		path := filepath.Join(dir, "c") + ":" + filepath.Join(dir, "a")
		cmd.Env = runner.CleanEnv().Set("PATH", path)
		Expect(start(ctx, cmd)).To(beStartError(runner.StartNotExecutable))
		cmd.Env = runner.CleanEnv().Set("PATH", path+":"+filepath.Join(dir, "b"))
		Expect(runner.Output(ctx, runner.Contained{}, cmd)).To(Equal("b"))
		cmd.Env = runner.CleanEnv().Set("PATH", filepath.Join(dir, "c"))
		Expect(start(ctx, cmd)).To(beStartError(runner.StartNotFound))
	})

	It("does not take a directory that it may not look into for the program", func(ctx SpecContext) {
		if os.Getuid() == 0 {
			Skip("root may look into every directory")
		}
		locked := filepath.Join(dir, "locked")
		Expect(os.Mkdir(locked, 0o000)).To(Succeed())
		cmd := runner.Command("tool")
		cmd.Env = runner.CleanEnv().Set("PATH", locked)
		Expect(start(ctx, cmd)).To(beStartError(runner.StartNotFound))
		cmd = runner.Command(filepath.Join(locked, "tool"))
		Expect(start(ctx, cmd)).To(beStartError(runner.StartNotExecutable))
	})

	It("takes a name with a separator as it is, relative to us and not to Dir", func(ctx SpecContext) {
		GinkgoT().Chdir(dir)
		script("here/tool", "#!/bin/sh\npwd\n", 0o700)
		Expect(os.Mkdir("there", 0o700)).To(Succeed())
		cmd := runner.Command("./here/tool")
		cmd.Dir = filepath.Join(dir, "there")
		out, err := runner.Output(ctx, runner.Contained{}, cmd)
		Expect(err).NotTo(HaveOccurred())
		Expect(filepath.Base(out)).To(Equal("there"))
		Expect(start(ctx, runner.Command("./here/none"))).To(beStartError(runner.StartNotFound))
		Expect(start(ctx, runner.Command("./here/tool/none"))).To(beStartError(runner.StartNotFound))
	})

	It("tells what is there and cannot be executed from what is not there", func(ctx SpecContext) {
		Expect(start(ctx, runner.Command(script("text", "just text", 0o600)))).To(beStartError(runner.StartNotExecutable))
		Expect(start(ctx, runner.Command(script("format", "no format", 0o700)))).To(beStartError(runner.StartNotExecutable))
		Expect(start(ctx, runner.Command(dir))).To(beStartError(runner.StartNotExecutable))
		missing := script("lost", "#!/boombox/no/such/interpreter\n", 0o700)
		Expect(start(ctx, runner.Command(missing))).To(And(
			beStartError(runner.StartNotExecutable), MatchError(ContainSubstring("interpreter")),
		))
	})

	It("does not blame the program for the directory", func(ctx SpecContext) {
		for _, bad := range []string{filepath.Join(dir, "none"), script("file", "", 0o600)} {
			cmd := fixture("exit")
			cmd.Dir = bad
			Expect(start(ctx, cmd)).To(And(beStartError(runner.StartBadDir), MatchError(runner.ErrBadDir)))
			cmd = runner.Command("boombox-no-such-program")
			cmd.Dir = bad
			Expect(start(ctx, cmd)).To(beStartError(runner.StartBadDir))
		}
	})

	It("tells a missing directory from a file in its place", func(ctx SpecContext) {
		cmd := fixture("exit")
		cmd.Dir = filepath.Join(dir, "none")
		Expect(start(ctx, cmd)).To(And(beStartError(runner.StartBadDir), MatchError(syscall.ENOENT)))
		cmd.Dir = script("file", "", 0o600)
		Expect(start(ctx, cmd)).To(And(beStartError(runner.StartBadDir), MatchError(syscall.ENOTDIR)))
	})

	It("is done without a start by Resolve, which gives the file or the start's own error", func(ctx SpecContext) {
		program := script("tool", "#!/bin/sh\ntouch ran\n", 0o700)
		text := script("text", "", 0o600)
		found := runner.Command("tool")
		found.Env = runner.CleanEnv().Set("PATH", dir)
		Expect(runner.Resolve(found)).To(Equal(program))
		Expect(runner.LookPath(found.Env, "tool")).To(Equal(program))
		GinkgoT().Chdir(dir)
		Expect(runner.Resolve(runner.Command("./tool"))).To(Equal(program))
		Expect(filepath.Join(dir, "ran")).NotTo(BeAnExistingFile())

		badDir := runner.Command("true")
		badDir.Dir = text
		badEnv := runner.Command("true")
		badEnv.Env = badEnv.Env.Set("A=B", "")
		for _, cmd := range []*runner.Cmd{
			runner.Command("boombox-no-such-program"), runner.Command("/boombox/none"), runner.Command(text), runner.Command(dir),
			runner.Command(""), badDir, badEnv,
		} {
			_, err := runner.Resolve(cmd)
			Expect(err).To(HaveOccurred())
			Expect(err).To(Equal(start(ctx, cmd)))
		}
		_, err := runner.LookPath(runner.CleanEnv(), "sh")
		Expect(err).To(beStartError(runner.StartNotFound))
	})

	It("runs where it is told", func(ctx SpecContext) {
		cmd := fixture("cwd")
		cmd.Dir = dir
		want, err := filepath.EvalSymlinks(dir)
		Expect(err).NotTo(HaveOccurred())
		Expect(runner.Output(ctx, runner.Contained{}, cmd)).To(Equal(want))
	})

	It("keeps the system's number in the error, and no path", func(ctx SpecContext) {
		cmd := fixture("exit")
		cmd.Dir = filepath.Join(dir, "secret-dir")
		err := start(ctx, cmd)
		Expect(err).To(MatchError(syscall.ENOENT))
		Expect(err.Error()).NotTo(ContainSubstring("secret-dir"))
	})
})
