package runner_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"syscall"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/boombox-go/boombox/contain"
	. "github.com/boombox-go/boombox/matchers"
	"github.com/boombox-go/boombox/runner"
	"github.com/boombox-go/boombox/runner/runnertest"
)

var _ = Describe("no printer", func() {
	const secret = "sentinel-4711"

	// clean expects that no printer shows the secret, on its own or where no method can be called.
	clean := func(what string, v any) {
		GinkgoHelper()
		Expect(runnertest.Leaks(v, secret)).To(BeEmpty(), what)
	}
	spoken := func() *runner.Cmd {
		cmd := runner.Command("tool", secret, "--token="+secret)
		cmd.Env = runner.CleanEnv().Set("TOKEN", secret)
		cmd.Stdin = runner.StdinString(secret)
		return cmd
	}

	It("shows what a Cmd, an Env or a Stdin holds", func() {
		cmd := spoken()
		clean("*Cmd", cmd)
		clean("Cmd", *cmd)
		clean("clone", cmd.Tapped(func(runner.StreamID, []byte) {}))
		clean("Env", cmd.Env)
		clean("*Env", &cmd.Env)
		clean("allow", runner.AllowEnv("PATH").Set("A", secret))
		for _, s := range []runner.Stdin{
			cmd.Stdin, runner.StdinOf([]byte(secret)), runner.StdinFrom("/" + secret),
			runner.StdinStream(bytes.NewBufferString(secret)),
		} {
			clean("Stdin", s)
			clean("*Stdin", &s)
		}
		withDir := spoken()
		withDir.Dir = "/" + secret
		Expect(fmt.Sprintf("%v %+v %#v", withDir, withDir, *withDir)).NotTo(ContainSubstring(secret))
	})

	It("shows what a run said", func() {
		cmd := spoken()
		b := newStub()
		p := runner.Attach(cmd, b, time.Now())
		b.out.write([]byte(secret))
		clean("live Process", p)
		clean("live Process by value", *p)
		b.err.write([]byte(secret))
		b.finish(contain.ExitStatus{Code: 1})
		res, err := p.Wait(context.Background())
		Expect(err).NotTo(HaveOccurred())
		clean("settled Process", p)
		clean("*Result", res)
		clean("Result", *res)
		clean("ExitError", res.Check())

		run := runner.Finished{Outcome: runner.Exited(2), Stdout: []byte(secret), Stderr: []byte(secret)}
		replayed := runner.Settle(cmd, run)
		clean("replayed Process", replayed)
		clean("replayed Process by value", *replayed)
		other, _ := replayed.Result()
		clean("replayed Result", other)
		for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%q", "%x"} {
			Expect(fmt.Sprintf(verb, run)).NotTo(ContainSubstring(secret))
		}
	})

	It("shows what an error knows", func(ctx SpecContext) {
		r := runner.Contained{}
		fails := func(cmd *runner.Cmd) error {
			GinkgoHelper()
			_, err := runner.Output(ctx, r, cmd)
			Expect(err).To(HaveOccurred())
			return err
		}
		sh := func(script string) *runner.Cmd {
			cmd := shell(": " + secret + "; " + script)
			cmd.Env = cmd.Env.Set("TOKEN", secret)
			cmd.Stdin = runner.StdinString(secret)
			return cmd
		}
		clean("exit", fails(sh("echo "+secret+"; echo "+secret+" >&2; exit 3")))
		clean("signal", fails(sh("kill -9 $$")))
		slow := sh("sleep 60")
		slow.Timeout = 50 * time.Millisecond
		clean("timeout", fails(slow))
		loud := sh("echo " + secret)
		loud.Output.Stdout.MaxBytes = 3
		clean("overflow", fails(loud))
		ended, cancel := context.WithCancel(ctx)
		cancel()
		_, err := r.Start(ended, sh("exit"))
		clean("cancelled before", err)
		late, cancel := context.WithCancel(ctx)
		cut := sh("echo " + secret + "; sleep 60")
		cut.Output.Stdout.Tee = teeFunc(func([]byte) { cancel() })
		_, err = runner.Run(late, r, cut)
		Expect(err).To(MatchError(runner.ErrCancelled))
		clean("cancelled", err)
		clean("not found", fails(runner.Command("/"+secret+"/tool")))
		lost := sh("exit")
		lost.Dir = "/" + secret
		clean("bad dir", fails(lost))
		blind := sh("exit")
		blind.Stdin = runner.StdinFrom("/" + secret)
		clean("bad stdin", fails(blind))
		path := runner.Command("tool")
		path.Env = runner.CleanEnv().Set("PATH", "/"+secret)
		clean("not in PATH", fails(path))
		bad := sh("exit")
		bad.Env = bad.Env.Set(secret+"=", secret)
		clean("invalid", fails(bad))
	})

	It("shows a control or bidi character of a foreign text, or all of a long one", func() {
		hostile := errors.New("a\x1b[2Jb\nc\u202ed\u2029e " + string(bytes.Repeat([]byte("x"), 9999)))
		for _, err := range []error{
			&runner.StartError{Program: "p\n\u202e", Kind: runner.StartOther, Err: hostile},
			runner.NotStarted(ended(hostile), runner.Command("p\n")),
			&runner.InvalidError{Program: "p\n", Field: "Env", Reason: "r"},
		} {
			Expect(err.Error()).NotTo(MatchRegexp(`[\x00-\x1f\x{202e}\x{2029}]`))
			Expect(len(err.Error())).To(BeNumerically("<", 600))
		}
	})
})

func ended(cause error) context.Context {
	ctx, cancel := context.WithCancelCause(context.Background())
	cancel(cause)
	return ctx
}

var _ = Describe("errors", func() {
	settled := func(o runner.Outcome) *runner.Result {
		cmd := runner.Command("tool")
		cmd.Timeout, cmd.IdleTimeout = 2*time.Second, time.Second
		res, _ := runner.Settle(cmd, runner.Finished{Outcome: o}).Result()
		return res
	}

	DescribeTable("keep look-alikes apart",
		func(o runner.Outcome, is error, text string) {
			err := settled(o).Check()
			Expect(err).To(MatchError(runner.ErrUnsuccessful))
			Expect(err.Error()).To(Equal(`runner: "tool" ` + text))
			for _, other := range []error{
				runner.ErrTimedOut, runner.ErrIdleTimedOut, runner.ErrCancelled, runner.ErrOverflowed, runner.ErrNotFound,
			} {
				Expect(errors.Is(err, other)).To(Equal(other == is), other.Error())
			}
			exit, ok := errors.AsType[*runner.ExitError](err)
			Expect(ok).To(BeTrue())
			Expect(exit.Result()).To(HaveOutcome(o))
		},
		Entry("exit", runner.Exited(3), nil, "exited 3"),
		Entry("signal", runner.Signalled(syscall.SIGKILL), nil, "was ended by SIGKILL (9)"),
		Entry("timeout", runner.TimedOut, runner.ErrTimedOut, "timed out after 2s"),
		Entry("idle", runner.IdleTimedOut, runner.ErrIdleTimedOut, "gave no output and timed out after 1s"),
		Entry("overflow", runner.Overflowed, runner.ErrOverflowed, "was ended because its output passed a cap"),
		Entry("cancel", runner.Cancelled, runner.ErrCancelled, "was cancelled"),
	)

	It("name no deadline that is not known", func() {
		res, _ := runner.Settle(runner.Command("tool"), runner.Finished{Outcome: runner.TimedOut}).Result()
		Expect(res.Check()).To(MatchError(`runner: "tool" timed out`))
	})

	It("of a start keep the kinds apart, with the system's refusal inside", func() {
		for kind, is := range map[runner.StartKind]error{
			runner.StartNotFound: runner.ErrNotFound, runner.StartNotExecutable: runner.ErrNotExecutable,
			runner.StartBadDir: runner.ErrBadDir, runner.StartBadStdin: nil, runner.StartOther: nil,
		} {
			err := error(&runner.StartError{Program: "tool", Kind: kind, Err: fs.ErrPermission})
			Expect(err).To(MatchError(fs.ErrPermission))
			for _, other := range []error{runner.ErrNotFound, runner.ErrNotExecutable, runner.ErrBadDir, runner.ErrInvalid} {
				Expect(errors.Is(err, other)).To(Equal(other == is))
			}
		}
	})

	It("of a cancel tell the cause, and that nothing was started", func() {
		cause := errors.New("spec timed out")
		err := runner.NotStarted(ended(cause), runner.Command("tool"))
		Expect(err).To(MatchError(`runner: "tool" was cancelled: spec timed out`))
		Expect(err).To(And(MatchError(runner.ErrCancelled), MatchError(cause)))
		cancelled, ok := errors.AsType[*runner.CancelError](err)
		Expect(ok).To(BeTrue())
		Expect(cancelled.Result()).To(BeNil())
	})
})
