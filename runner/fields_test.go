package runner_test

import (
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/boombox-go/boombox/cassette"
	"github.com/boombox-go/boombox/contain"
	"github.com/boombox-go/boombox/fake"
	. "github.com/boombox-go/boombox/matchers"
	"github.com/boombox-go/boombox/runner"
	"github.com/boombox-go/boombox/runner/runnertest"
)

// row says what becomes of one field of Cmd. A field without a row fails the suite: nothing that can be asked for is
// ignored by anybody.
type row struct {
	// set asks for something.
	set func(*runner.Cmd)
	// shown runs a command with that, some way, and sees it done, where this system has it; see lacking for where it has not.
	shown func(ctx SpecContext, w way, set func(*runner.Cmd))
	// fake and cassette say what doubles make of it.
	fake, cassette doubled
}

// doubled is what a double makes of a field: it is honoured, as a case of package runnertest shows; or refused; or it has
// no meaning without a process, and the double's documentation says so.
type doubled struct {
	honoured  string
	refused   bool
	noMeaning bool
}

var (
	refused   = doubled{refused: true}
	noMeaning = doubled{noMeaning: true}
)

func honoured(by string) doubled { return doubled{honoured: by} }

// outputOf is what a command prints, which must succeed.
func outputOf(ctx context.Context, w way, cmd *runner.Cmd, set func(*runner.Cmd)) string {
	GinkgoHelper()
	res := outcomeOf(ctx, w, cmd, set)
	Expect(res.Check()).To(Succeed())
	return strings.TrimSpace(string(res.Stdout()))
}

func outcomeOf(ctx context.Context, w way, cmd *runner.Cmd, set func(*runner.Cmd)) *runner.Result {
	GinkgoHelper()
	set(cmd)
	res, err := w.run(ctx, cmd)
	Expect(err).NotTo(HaveOccurred())
	return res
}

// rows are those of every system; rowsHere adds what a child is born with.
func rows() map[string]row {
	all := map[string]row{
		"Dir": {
			set: func(c *runner.Cmd) { c.Dir = os.TempDir() },
			shown: func(ctx SpecContext, w way, set func(*runner.Cmd)) {
				want, err := filepath.EvalSymlinks(os.TempDir())
				Expect(err).NotTo(HaveOccurred())
				Expect(outputOf(ctx, w, fixture("cwd"), func(*runner.Cmd) {})).NotTo(Equal(want), "the control")
				Expect(outputOf(ctx, w, fixture("cwd"), set)).To(Equal(want))
			},
			fake: noMeaning, cassette: honoured("key"),
		},
		"Env": {
			set: func(c *runner.Cmd) { c.Env = c.Env.Set("BOOMBOX_FIELD", "x") },
			shown: func(ctx SpecContext, w way, set func(*runner.Cmd)) {
				Expect(strings.Fields(outputOf(ctx, w, fixture("envnames"), set))).To(ContainElement("BOOMBOX_FIELD"))
			},
			fake: noMeaning, cassette: noMeaning,
		},
		"Stdin": {
			set: func(c *runner.Cmd) { c.Stdin = runner.StdinString("input") },
			shown: func(ctx SpecContext, w way, set func(*runner.Cmd)) {
				Expect(outputOf(ctx, w, fixture("cat"), set)).To(Equal("input"))
			},
			fake: honoured("standard input is read to its end"), cassette: honoured("standard input is read to its end"),
		},
		"Output": {
			set: func(c *runner.Cmd) { c.Output.Stdout = runner.Stream{Policy: runner.Head, MaxBytes: 2} },
			shown: func(ctx SpecContext, w way, set func(*runner.Cmd)) {
				Expect(outcomeOf(ctx, w, shell("printf four"), func(*runner.Cmd) {})).To(HaveStdout("four"), "the control")
				Expect(outcomeOf(ctx, w, shell("printf four"), set)).To(HaveStdout("fo"))
			},
			fake: honoured("Head keeps the beginning and counts the rest"), cassette: honoured("Head keeps the beginning and counts the rest"),
		},
		"Timeout": {
			set: func(c *runner.Cmd) { c.Timeout = 300 * time.Millisecond },
			shown: func(ctx SpecContext, w way, set func(*runner.Cmd)) {
				Expect(outcomeOf(ctx, w, fixture("sleep", "quiet"), set)).To(HaveTimedOut())
			},
			fake: honoured("the command's timeout ends it, and is data"), cassette: honoured("the command's timeout ends it, and is data"),
		},
		"IdleTimeout": {
			set: func(c *runner.Cmd) { c.IdleTimeout = 300 * time.Millisecond },
			shown: func(ctx SpecContext, w way, set func(*runner.Cmd)) {
				Expect(outcomeOf(ctx, w, fixture("sleep"), set)).To(HaveOutcome(runner.IdleTimedOut))
			},
			fake: honoured("the command's idle timeout ends it, and is another thing"), cassette: honoured("the command's idle timeout ends it, and is another thing"),
		},
		"Grace": {
			set:  func(c *runner.Cmd) { c.Grace = time.Minute },
			fake: honoured("a grace after the timeout does not change what it is"), cassette: honoured("a grace after the timeout does not change what it is"),
		},
		"CancelGrace": {
			set:  func(c *runner.Cmd) { c.CancelGrace = time.Minute },
			fake: honoured("a cancel has a grace of its own"), cassette: honoured("a cancel has a grace of its own"),
		},
		"StopSignal": {
			set:  func(c *runner.Cmd) { c.Grace, c.StopSignal = time.Minute, syscall.SIGINT },
			fake: honoured("the signal that begins a grace is the command's"), cassette: honoured("the signal that begins a grace is the command's"),
		},
		"Require": {
			set:  func(c *runner.Cmd) { c.Require = contain.KillTree },
			fake: noMeaning, cassette: noMeaning,
			shown: func(ctx SpecContext, w way, set func(*runner.Cmd)) {
				cmd := fixture("exit")
				set(cmd)
				res, err := w.run(ctx, cmd)
				if contain.Host().Guarantees().Has(contain.KillTree) {
					Expect(err).NotTo(HaveOccurred())
					Expect(res.Teardown().Guarantees.Has(contain.KillTree)).To(BeTrue())
					return
				}
				Expect(err).To(MatchError(runner.ErrUnsupported))
			},
		},
		"Limits": {
			set:  func(c *runner.Cmd) { c.Limits.Processes = 50 },
			fake: noMeaning, cassette: noMeaning,
			shown: func(ctx SpecContext, w way, set func(*runner.Cmd)) {
				cmd := fixture("exit")
				set(cmd)
				res, err := w.run(ctx, cmd)
				if contain.Host().Guarantees().Has(contain.CapProcesses) && !w.shared {
					Expect(err).NotTo(HaveOccurred())
					Expect(res.Evidence().Limits).To(HaveLen(1))
					return
				}
				refused, ok := errors.AsType[*contain.LimitError](err)
				Expect(ok).To(BeTrue(), "%v", err)
				Expect(refused.Kind).To(Equal(contain.LimitProcesses))
			},
		},
		"Arg0": {
			set: func(c *runner.Cmd) { c.Arg0 = contain.Seal("another-name") },
			shown: func(ctx SpecContext, w way, set func(*runner.Cmd)) {
				Expect(outputOf(ctx, w, shell("echo $0"), func(c *runner.Cmd) {})).To(Equal("sh"), "the control")
				Expect(outputOf(ctx, w, shell("echo $0"), set)).To(Equal("another-name"))
			},
			fake: noMeaning, cassette: refused,
		},
		"Files": {
			set:  func(c *runner.Cmd) { c.Files = []*os.File{nil} },
			fake: refused, cassette: refused,
		},
		"PTY": {
			set: func(c *runner.Cmd) { c.PTY = &runner.PTY{Cols: 100, Rows: 30} },
			shown: func(ctx SpecContext, w way, set func(*runner.Cmd)) {
				Expect(outputOf(ctx, w, shell("test -t 0 || echo none"), func(c *runner.Cmd) {})).To(Equal("none"), "the control")
				Expect(outputOf(ctx, w, shell("stty size"), set)).To(Equal("30 100"))
			},
			fake: honoured("a terminal is one stream"), cassette: honoured("key"),
		},
		"NewSession":      {set: func(c *runner.Cmd) { c.NewSession = true }, fake: noMeaning, cassette: noMeaning},
		"NoNewPrivileges": {set: func(c *runner.Cmd) { c.NoNewPrivileges = true }, fake: noMeaning, cassette: noMeaning},
		"NoCoreDumps":     {set: func(c *runner.Cmd) { c.NoCoreDumps = true }, fake: noMeaning, cassette: noMeaning},
		"Credential":      {set: func(c *runner.Cmd) { c.Credential = &contain.Credential{UID: 4711, GID: 4712} }, fake: noMeaning, cassette: noMeaning},
		"Umask":           {set: func(c *runner.Cmd) { c.Umask = new(os.FileMode(0o137)) }, fake: noMeaning, cassette: noMeaning},
		"Rlimits": {set: func(c *runner.Cmd) {
			limits := reflect.ValueOf(&c.Rlimits).Elem()
			for i := range limits.NumField() {
				limits.Field(i).Set(reflect.ValueOf(&contain.Rlimit{Soft: 64 << 20, Hard: 128 << 20}))
			}
			c.Rlimits.NoFile = &contain.Rlimit{Soft: 100, Hard: 100}
		}, fake: noMeaning, cassette: noMeaning},
		"Nice":        {set: func(c *runner.Cmd) { c.Nice = new(7) }, fake: noMeaning, cassette: noMeaning},
		"IOPriority":  {set: func(c *runner.Cmd) { c.IOPriority = &contain.IOPriority{Class: contain.IOBestEffort, Level: 6} }, fake: noMeaning, cassette: noMeaning},
		"CPUAffinity": {set: func(c *runner.Cmd) { c.CPUAffinity = []int{firstCPU()} }, fake: noMeaning, cassette: noMeaning},
		"OOMScoreAdj": {set: func(c *runner.Cmd) { c.OOMScoreAdj = new(321) }, fake: noMeaning, cassette: noMeaning},
	}
	for name, shown := range shownHere {
		r := all[name]
		r.shown = shown
		all[name] = r
	}
	return all
}

// lackingNow is why a field cannot be had, beyond what the system lacks.
func lackingNow(name string) bool {
	return slices.Contains(lacking, name) || name == "Credential" && os.Geteuid() != 0
}

var _ = Describe("every field of a Cmd", func() {
	It("has a row, and every row a field", func() {
		var fields []string
		for f := range reflect.TypeFor[runner.Cmd]().Fields() {
			if f.IsExported() {
				fields = append(fields, f.Name)
			}
		}
		var named []string
		for name, r := range rows() {
			named = append(named, name)
			cmd := runner.Command("x")
			r.set(cmd)
			Expect(reflect.ValueOf(*cmd).FieldByName(name).IsZero()).To(BeFalse(), name)
		}
		Expect(named).To(ConsistOf(fields))
	})

	It("is kept by a clone, which shares nothing that can be changed", func() {
		for name, r := range rows() {
			cmd := runner.Command("x")
			r.set(cmd)
			clone := reflect.ValueOf(*cmd.Clone()).FieldByName(name)
			Expect(clone.IsZero()).To(BeFalse(), name)
			original := reflect.ValueOf(*cmd).FieldByName(name)
			if k := clone.Kind(); k == reflect.Pointer || k == reflect.Slice {
				Expect(clone.UnsafePointer()).NotTo(Equal(original.UnsafePointer()), name)
			}
		}
		one := runner.Command("x")
		one.Rlimits.Core = &contain.Rlimit{Soft: 1, Hard: 1}
		one.Credential = &contain.Credential{Groups: []uint32{1}}
		two := one.Clone()
		two.Rlimits.Core.Soft, two.Credential.Groups[0] = 0, 2
		Expect(one.Rlimits.Core.Soft).To(BeEquivalentTo(1))
		Expect(one.Credential.Groups).To(Equal([]uint32{1}))
	})

	for name, r := range rows() {
		It("is enforced by the real runner, or refused by name: "+name, func(ctx SpecContext) {
			if !lackingNow(name) {
				Expect(r.shown).NotTo(BeNil(), "nothing shows that it is enforced here")
				r.shown(ctx, alone, r.set)
				return
			}
			cmd := fixture("exit")
			r.set(cmd)
			_, err := runner.Contained{}.Start(ctx, cmd)
			Expect(err).To(beUnsupported(name))
			_, err = runner.Resolve(cmd)
			Expect(err).To(beUnsupported(name))
		})

		It("is honoured, refused or said to have no meaning by doubles: "+name, func(ctx SpecContext) {
			for _, d := range doubles {
				said := d.of(r)
				cmd := runner.Command("tool")
				r.set(cmd)
				for _, double := range d.make() {
					p, err := double.Start(ctx, cmd)
					if said.refused {
						Expect(err).To(beUnsupported(name), d.name)
						continue
					}
					if unsupported, ok := errors.AsType[*runner.UnsupportedError](err); ok {
						Fail(d.name + " refuses " + unsupported.Field)
					}
					if p != nil {
						_ = p.Close()
					}
				}
				switch {
				case said.noMeaning:
					Expect(documented(d.doc, name)).To(BeTrue(), d.doc+" says nothing of "+name)
				case said.honoured == "key":
					Expect(d.make()[0].Start(ctx, cmd)).Error().To(MatchError(cassette.ErrMiss))
				case said.honoured != "":
					Expect(setBy(said.honoured, name)).To(BeTrue(), "the case "+said.honoured+" does not set "+name)
				}
			}
		})
	}
})

// doubles are the runners without a process; the recorder is with them because it refuses what a player could not play.
var doubles = []struct {
	name, doc string
	of        func(row) doubled
	make      func() []runner.Runner
}{
	{"fake", "../fake/doc.go", func(r row) doubled { return r.fake }, func() []runner.Runner {
		scripted := fake.New()
		scripted.On("tool")
		return []runner.Runner{scripted, fake.DryRun(nil)}
	}},
	{"cassette", "../cassette/player.go", func(r row) doubled { return r.cassette }, func() []runner.Runner {
		inner := fake.New()
		inner.On("tool")
		rec, err := cassette.NewRecorder(filepath.Join(GinkgoT().TempDir(), "x.cassette"), inner)
		Expect(err).NotTo(HaveOccurred())
		DeferCleanup(rec.Close)
		_, err = runner.Run(context.Background(), rec, runner.Command("tool"))
		Expect(err).NotTo(HaveOccurred())
		tape, err := rec.Tape()
		Expect(err).NotTo(HaveOccurred())
		player, err := cassette.NewPlayer(tape)
		Expect(err).NotTo(HaveOccurred())
		return []runner.Runner{player, rec}
	}},
}

// setBy reports whether the case of package runnertest of that name is about a command with the field set.
func setBy(name, field string) (set bool) {
	GinkgoHelper()
	i := slices.IndexFunc(runnertest.Cases(), func(c runnertest.Case) bool { return c.Name == name })
	Expect(i).To(BeNumerically(">=", 0), "no case "+name)
	runnertest.Cases()[i].Run(GinkgoTB(), runnertest.Harness{
		Prepare: func(_ testing.TB, b runnertest.Behaviour, configure func(*runner.Cmd)) (runner.Runner, *runner.Cmd) {
			cmd := runner.Command("tool")
			configure(cmd)
			set = set || !reflect.ValueOf(*cmd).FieldByName(field).IsZero()
			parts := []fake.Reply{fake.Stdout(b.Stdout), fake.Stderr(b.Stderr), fake.Exit(b.Code)}
			if b.Pending {
				parts = append(parts, fake.Pending())
			}
			r := fake.New()
			r.On("tool").ReplyFunc(func(cmd *runner.Cmd) []fake.Reply {
				if !b.EchoStdin {
					return parts
				}
				input, err := cmd.Stdin.Open()
				Expect(err).NotTo(HaveOccurred())
				echoed, err := io.ReadAll(input)
				Expect(err).NotTo(HaveOccurred())
				return append(parts, fake.Stdout(echoed))
			})
			return r, cmd
		},
	})
	return set
}

// documented reports whether the comments of a file say of a field that it has no meaning.
func documented(file, field string) bool {
	GinkgoHelper()
	text, err := os.ReadFile(file)
	Expect(err).NotTo(HaveOccurred())
	var comments strings.Builder
	for line := range strings.Lines(string(text)) {
		if comment, ok := strings.CutPrefix(strings.TrimSpace(line), "//"); ok {
			comments.WriteString(comment + " ")
		}
	}
	for sentence := range strings.SplitSeq(comments.String(), ". ") {
		words := strings.FieldsFunc(sentence, func(r rune) bool { return strings.ContainsRune(" ,:;.", r) })
		if strings.Contains(sentence, "no meaning") && slices.Contains(words, field) {
			return true
		}
	}
	return false
}

// beUnsupported matches an UnsupportedError that names field.
func beUnsupported(field string) OmegaMatcher {
	return SatisfyAll(MatchError(runner.ErrUnsupported), WithTransform(func(err error) string {
		unsupported, ok := errors.AsType[*runner.UnsupportedError](err)
		if !ok {
			return "none"
		}
		return unsupported.Field
	}, Equal(field)))
}
