package cassette_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"path/filepath"
	"regexp"
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/boombox-go/boombox/cassette"
	"github.com/boombox-go/boombox/fake"
	. "github.com/boombox-go/boombox/matchers"
	"github.com/boombox-go/boombox/runner"
)

// tapeOf is a cassette of runs that are written by hand, each "NAME OUTPUT STATUS", separated by commas.
func tapeOf(runs string) *cassette.Tape {
	GinkgoHelper()
	text := "cassette 1\n"
	for run := range strings.SplitSeq(runs, ",") {
		if f := strings.Fields(run); len(f) == 3 {
			text += "run\n  argv \"" + f[0] + "\"\n  out \"" + f[1] + "\\n\"\n  exit " + f[2] + "\n"
		}
	}
	tape, err := cassette.Parse(sealed(text))
	Expect(err).NotTo(HaveOccurred())
	return tape
}

// short is tape in the words of tapeOf.
func short(tape *cassette.Tape) string {
	var runs []string
	for _, r := range tape.Runs() {
		code, _ := r.Outcome().ExitCode()
		runs = append(runs, r.Program()+" "+strings.TrimSpace(string(r.Stdout()))+" "+string(rune('0'+code)))
	}
	return strings.Join(runs, ",")
}

var _ = Describe("Comparing", func() {
	It("pairs runs by what is matched, and names the class and the fields", func() {
		changes, err := cassette.Compare(tapeOf("a 1 0,b 1 0,c 1 0,gone 1 0"), tapeOf("b 2 0,a 1 0,c 1 3,new 1 0"))
		Expect(err).NotTo(HaveOccurred())
		Expect(changes).To(Equal([]cassette.Change{
			{Class: cassette.ClassOutput, Old: 2, New: 1, Program: "b", Fields: []string{"stdout"}},
			{Class: cassette.ClassSame, Old: 1, New: 2, Program: "a"},
			{Class: cassette.ClassOutcome, Old: 3, New: 3, Program: "c", Fields: []string{"outcome"}},
			{Class: cassette.ClassNew, New: 4, Program: "new"},
			{Class: cassette.ClassMissing, Old: 4, Program: "gone"},
		}))
		Expect(changes[0].String()).To(Equal(`run 2, of "b": output (stdout)`))
	})
})

var _ = Describe("Merging", func() {
	DescribeTable("joins what two sides made of a cassette",
		func(base, ours, theirs, want string) {
			merged, err := cassette.Merge(tapeOf(base), tapeOf(ours), tapeOf(theirs))
			Expect(err).NotTo(HaveOccurred())
			Expect(short(merged)).To(Equal(want))
		},
		Entry("nothing", "a 1 0", "a 1 0", "a 1 0", "a 1 0"),
		Entry("changes of different runs", "a 1 0,b 1 0", "a 2 0,b 1 0", "a 1 0,b 2 0", "a 2 0,b 2 0"),
		Entry("the same change", "a 1 0", "a 2 0", "a 2 0", "a 2 0"),
		Entry("a removal", "a 1 0,b 1 0,c 1 0", "a 1 0,b 1 0,c 1 0", "a 1 0,c 1 0", "a 1 0,c 1 0"),
		Entry("removals on both sides", "a 1 0,b 1 0,c 1 0", "b 1 0,c 1 0", "a 1 0,b 1 0", "b 1 0"),
		Entry("additions at one place", "a 1 0,b 1 0", "a 1 0,x 1 0,b 1 0", "a 1 0,y 1 0,b 1 0", "a 1 0,y 1 0,x 1 0,b 1 0"),
		Entry("additions at the ends", "a 1 0", "a 1 0,z 1 0", "y 1 0,a 1 0", "y 1 0,a 1 0,z 1 0"),
		Entry("the same addition", "a 1 0", "a 1 0,x 1 0", "a 1 0,x 1 0", "a 1 0,x 1 0"),
		Entry("from nothing", "", "a 1 0", "b 1 0", "b 1 0,a 1 0"),
	)
	DescribeTable("refuses what both sides made different",
		func(base, ours, theirs, where string) {
			_, err := cassette.Merge(tapeOf(base), tapeOf(ours), tapeOf(theirs))
			Expect(err).To(MatchError(cassette.ErrConflict))
			Expect(err).To(MatchError(ContainSubstring(where)))
		},
		Entry("two changes", "a 1 0,b 1 0", "a 1 0,b 2 0", "a 1 0,b 3 0", "run 2 (line 6), of \"b\""),
		Entry("changed here, removed there", "a 1 0", "a 2 0", "", "run 1"),
		Entry("removed here, changed there", "a 1 0", "", "a 2 0", "run 1"),
	)

	// dumps are runs "NAME SEED", each with a side file of its seed.
	dumps := func(runs string) []byte {
		var samples []cassette.Sample
		for run := range strings.SplitSeq(runs, ",") {
			var name string
			var seed uint64
			if _, err := fmt.Sscan(run, &name, &seed); err == nil {
				samples = append(samples, cassette.Sample{Argv: []string{name}, Out: noise(seed, 70<<10), Outcome: runner.Exited(0)})
			}
		}
		return cassette.TapeOf(samples...).Marshal()
	}
	DescribeTable("needs no side files to tell whether they differ",
		func(base, ours, theirs, want string) {
			merged, err := cassette.MergeFiles(dumps(base), dumps(ours), dumps(theirs))
			if want == "" {
				Expect(err).To(MatchError(cassette.ErrConflict))
				return
			}
			Expect(err).NotTo(HaveOccurred())
			Expect(string(merged)).To(Equal(string(dumps(want))))
		},
		Entry("nothing", "a 1", "a 1", "a 1", "a 1"),
		Entry("changes of different runs", "a 1,b 2", "a 3,b 2", "a 1,b 4", "a 3,b 4"),
		Entry("the same change", "a 1", "a 2", "a 2", "a 2"),
		Entry("two changes", "a 1", "a 2", "a 3", ""),
		Entry("one content of two runs, of which one is left", "a 1,b 1", "a 2,b 1", "a 1,b 1", "a 2,b 1"),
		Entry("a content that is removed here and taken up there", "a 1", "a 2", "a 1,b 1", ""),
		Entry("a content that is taken up here and removed there", "a 1", "a 1,b 1", "a 2", ""),
	)
})

var _ = Describe("Looking over a file", func() {
	texts := func(data []byte) (list []string) {
		for _, p := range cassette.Lint(data) {
			list = append(list, p.Text)
		}
		return list
	}
	It("has nothing to say of a sound one", func() {
		Expect(cassette.Lint(tapeOf("a 1 0,b 1 0").Marshal())).To(BeEmpty())
	})
	It("tells what its owner should look at", func() {
		good := string(sealed("cassette 1\nrun\n  argv \"tool\"\n  exit 0\n"))
		Expect(texts([]byte(strings.ReplaceAll(good, "\n", "\r\n")))).To(ConsistOf(ContainSubstring("CR LF")))
		Expect(texts([]byte(strings.Replace(good, "exit 0", "exit 1", 1)))).To(ConsistOf(ContainSubstring("checksum")))
		Expect(texts([]byte(strings.Replace(good, "exit", "exxit", 1)))).To(ConsistOf(ContainSubstring("unknown kind")))
		Expect(texts(sealed("cassette 1\ntokens tmp:1\nrun\n  argv \"tool\"\n  argv \"/tmp/x\"\n  dir \"/home/me\"\n  exit 0\n  x-allow all\n"))).To(ConsistOf(
			ContainSubstring("tmp:1"), ContainSubstring("argument 1"), ContainSubstring("directory"), ContainSubstring("x-allow wants")))
		Expect(texts(sealed("cassette 1\nrun\n  argv \"a\"\n  exit 0\n  repeat *\nrun\n  argv \"a\"\n  exit 1\n"))).To(ConsistOf(ContainSubstring("never played")))
	})
})

var _ = Describe("Mode verify", func() {
	verify := func(ctx context.Context, output string, status int, calls ...string) error {
		path := tempFile()
		Expect(tapeOf("a 1 0,b 1 0").Save(path)).To(Succeed())
		before := contents(path)
		inner := fake.New()
		inner.On().Reply(fake.Stdout(output), fake.Exit(status))
		GinkgoT().Setenv(cassette.EnvMode, "")
		deck, err := cassette.Open(path, cassette.WithMode(cassette.Verify), cassette.WithRunner(inner))
		Expect(err).NotTo(HaveOccurred())
		defer deck.Close()
		for _, call := range calls {
			_, err := runner.Run(ctx, deck, runner.Command(call))
			Expect(err).NotTo(HaveOccurred())
		}
		Expect(deck.Save()).To(Succeed())
		Expect(contents(path)).To(Equal(before), "nothing is written")
		Expect(names(filepath.Dir(path))).To(HaveLen(1))
		return deck.Check()
	}
	classes := func(err error) (list []cassette.Class) {
		GinkgoHelper()
		var drift *cassette.DriftError
		Expect(err).To(MatchError(cassette.ErrDrift))
		Expect(err).To(BeAssignableToTypeOf(drift))
		for _, c := range err.(*cassette.DriftError).Changes {
			list = append(list, c.Class)
		}
		return list
	}

	It("runs for real and compares", func(ctx context.Context) {
		Expect(verify(ctx, "1\n", 0, "a", "b")).To(Succeed(), "timing is no drift")
		Expect(classes(verify(ctx, "2\n", 0, "a", "b"))).To(Equal([]cassette.Class{cassette.ClassOutput, cassette.ClassOutput}))
		Expect(classes(verify(ctx, "1\n", 1, "a", "b"))).To(Equal([]cassette.Class{cassette.ClassOutcome, cassette.ClassOutcome}))
		Expect(classes(verify(ctx, "1\n", 0, "a", "c"))).To(Equal([]cassette.Class{cassette.ClassNew, cassette.ClassMissing}))
	})

	It("wants the file", func() {
		GinkgoT().Setenv(cassette.EnvMode, string(cassette.Verify))
		_, err := cassette.Open(tempFile())
		Expect(missOf(err).Class).To(Equal(cassette.MissNoCassette))
	})

	It("is forbidden by WithReplayOnly, since it starts processes", func() {
		GinkgoT().Setenv(cassette.EnvMode, string(cassette.Verify))
		_, err := cassette.Open(tempFile(), cassette.WithReplayOnly())
		Expect(err).To(MatchError(cassette.ErrMode))
	})
})

var _ = Describe("Passing through", func() {
	It("is for the named programs, and for no other", func(ctx context.Context) {
		path := tempFile()
		Expect(tapeOf("a 1 0").Save(path)).To(Succeed())
		inner := fake.New()
		inner.On().Reply(fake.Stdout("live"))
		GinkgoT().Setenv(cassette.EnvMode, "")
		deck, err := cassette.Open(path, cassette.WithRunner(inner), cassette.WithPassthrough("date"))
		Expect(err).NotTo(HaveOccurred())
		defer deck.Close()
		Expect(runner.Output(ctx, deck, runner.Command("/bin/date"))).To(Equal("live"))
		Expect(runner.Output(ctx, deck, runner.Command("a"))).To(Equal("1"))
		_, err = runner.Run(ctx, deck, runner.Command("b"))
		Expect(err).To(MatchError(cassette.ErrMiss))
		_, err = cassette.Open(path, cassette.WithReplayOnly(), cassette.WithPassthrough("date"))
		Expect(err).To(MatchError(cassette.ErrMode))
	})
})

var _ = Describe("The index of used cassettes", func() {
	It("has a line for each cassette that was opened", func() {
		dir := GinkgoT().TempDir()
		index := filepath.Join(dir, "index")
		GinkgoT().Setenv(cassette.EnvIndex, index)
		GinkgoT().Setenv(cassette.EnvMode, "")
		path := filepath.Join(dir, "x.cassette")
		Expect(tapeOf("a 1 0").Save(path)).To(Succeed())
		for range 2 {
			deck, err := cassette.Open(path)
			Expect(err).NotTo(HaveOccurred())
			Expect(deck.Close()).To(Succeed())
		}
		Expect(contents(index)).To(Equal(strings.Repeat("\""+path+"\"\n", 2)))
	})
})

var _ = Describe("Other formats", func() {
	text := "cassette 1\nrun\n  argv \"sh\"\n  argv \"-c\"\n  dir \"/x\"\n  env A\n  in \"hi\"\n  out \"caf\\u00e9\\n\"\n  out \"\\xff\\n\"\n  err \"-- oops --\\n\"\n  exit 3\n  tape 5o4 10e11 20o4 100x\nrun\n  argv \"\\xfe\"\n  timeout 1s then signal SIGKILL\n"
	export := func(format cassette.Format) string {
		GinkgoHelper()
		tape, err := cassette.Parse(sealed(text))
		Expect(err).NotTo(HaveOccurred())
		var b bytes.Buffer
		Expect(tape.Export(&b, format)).To(Succeed())
		return b.String()
	}

	It("as asciicast has the times, whole characters and the exit status", func() {
		lines := strings.Split(strings.TrimSpace(export(cassette.Asciicast)), "\n")
		Expect(lines[0]).To(MatchJSON(`{"version":3,"term":{"cols":80,"rows":24}}`))
		Expect(lines[1:]).To(Equal([]string{
			`[0,"m","run 1: sh -c"]`, `[0.005,"o","caf"]`, `[0.01,"o","-- oops --\r\n"]`, `[0.02,"o","é\r\n�\r\n"]`,
			`[0.1,"m","run 2: \"\\xfe\""]`, `[0,"x","1"]`,
		}))
	})

	It("as a text archive quotes what it cannot hold", func() {
		Expect(export(cassette.Txtar)).To(HaveSuffix("-- 1/argv --\n\"sh\"\n\"-c\"\n-- 1/stdin.quoted --\n\"hi\"\n-- 1/stdout.quoted --\n\"café\\n\\xff\\n\"\n" +
			"-- 1/stderr.quoted --\n\"-- oops --\\n\"\n-- 1/outcome --\nexit 3\n-- 2/argv --\n\"\\xfe\"\n-- 2/outcome --\ntimeout 1s then signal SIGKILL\n"))
	})

	It("as JSON lines loses nothing", func() {
		var out []byte
		events := []string{}
		for line := range strings.Lines(export(cassette.JSONLines)) {
			var e struct {
				Event, Outcome string
				Text           *string
				Base64         []byte
				Argv64         [][]byte `json:"argv_base64"`
			}
			Expect(json.Unmarshal([]byte(line), &e)).To(Succeed())
			events = append(events, e.Event+e.Outcome)
			if e.Event == "out" {
				if e.Text != nil {
					out = append(out, *e.Text...)
				}
				out = append(out, e.Base64...)
			}
			if len(e.Argv64) > 0 {
				Expect(e.Argv64).To(Equal([][]byte{{0xfe}}))
			}
		}
		Expect(string(out)).To(Equal("café\n\xff\n"))
		Expect(events).To(Equal([]string{"start", "in", "out", "err", "out", "endexit 3", "start", "endtimeout 1s then signal SIGKILL"}))
	})
})

var _ = Describe("Importing", func() {
	It("takes processkit recordings over, and tells what cannot be", func(ctx context.Context) {
		entries := `[
			{"program":"git","args":["status"],"stdout":"clean","stderr":"","code":0,"duration_ms":12,"env_names":["A"],"cwd":"/x"},
			{"program":"git","args":["push","https://me:t0psecret@host"],"stdout":"","stderr":"denied","code":1},
			{"program":"sleep","args":["9"],"stdout":"","stderr":"","code":null,"timed_out":true,"duration_ms":500},
			{"program":"sleep","args":["8"],"stdout":"","stderr":"","code":null,"signal":9},
			{"program":"cat","args":[],"has_stdin":true,"stdin_digest":12345,"stdout":"x","stderr":"","code":0},
			{"program":"yes","args":[],"stdout":"y","stderr":"","code":0,"truncated":true,"total_bytes":99},
			{"program":"gone","args":[],"stdout":"","stderr":"","code":null,"error":{"NotFound":{"searched":"/usr/bin"}}},
			{"program":"locked","args":[],"stdout":"","stderr":"","code":null,"error":{"kind":"Spawn","os_kind":"PermissionDenied","message":"no"}},
			{"program":"odd","args":[],"stdout":"","stderr":"","code":null,"error":{"kind":"OutputTooLarge"}},
			{"program":"mute","args":[],"stdout":"","stderr":"","code":null}
		]`
		for _, version := range []string{"2", "4"} {
			tape, skipped, err := cassette.Import([]byte(`{"version":` + version + `,"entries":` + entries + `}`))
			Expect(err).NotTo(HaveOccurred())
			Expect(skipped).To(Equal([]string{
				`entry 5, of "cat": it has input, of which only a digest is kept`, `entry 6, of "yes": its output is truncated`,
				`entry 9, of "odd": its failure is of a kind that no start has here`, `entry 10, of "mute": it does not say how it ended`,
			}))
			Expect(string(tape.Marshal())).NotTo(ContainSubstring("t0psecret"))
			dir := map[string]string{"2": "/x", "4": ""}[version]
			Expect(tape.Runs()[0].Dir()).To(Equal(dir))
			player, err := cassette.NewPlayer(tape)
			Expect(err).NotTo(HaveOccurred())
			status := runner.Command("git", "status")
			status.Dir = dir
			Expect(runner.Output(ctx, player, status)).To(Equal("clean"))
			res, err := runner.Run(ctx, player, runner.Command("sleep", "9"))
			Expect(err).NotTo(HaveOccurred())
			Expect(res).To(HaveTimedOut())
			_, err = runner.Run(ctx, player, runner.Command("gone"))
			Expect(err).To(MatchError(runner.ErrNotFound))
			_, err = runner.Run(ctx, player, runner.Command("locked"))
			Expect(err).To(MatchError(runner.ErrNotExecutable))
		}
	})

	DescribeTable("refuses what is none", func(text string) {
		_, _, err := cassette.Import([]byte(text))
		Expect(err).To(MatchError(cassette.ErrImport))
		Expect(err.Error()).NotTo(ContainSubstring("SECRET"))
	}, Entry("text", "SECRET"), Entry("a later version", `{"version":5,"entries":[]}`), Entry("no version", `{"SECRET":1}`),
		Entry("a broken entry", `{"version":1,"entries":[{"program":"SECRET","args":"SECRET"}]}`))
})

var _ = Describe("The guide", func() {
	It("names specs that exist", func() {
		_, pains, found := strings.Cut(contents("../docs/cassettes.md"), "## Twenty pains")
		Expect(found).To(BeTrue())
		files, err := filepath.Glob("*_test.go")
		Expect(err).NotTo(HaveOccurred())
		more, err := filepath.Glob("../cmd/boombox/*_test.go")
		Expect(err).NotTo(HaveOccurred())
		var source strings.Builder
		for _, file := range append(files, more...) {
			source.WriteString(contents(file))
		}
		specs := regexp.MustCompile(`"([^"]+)"`).FindAllStringSubmatch(pains, -1)
		Expect(len(specs)).To(BeNumerically(">=", 20))
		missing := []string{}
		for _, spec := range specs {
			begins := regexp.MustCompile(`(Describe|DescribeTable|Context|It)\("` + regexp.QuoteMeta(spec[1]))
			if spec[1] != "not found" && !begins.MatchString(source.String()) {
				missing = append(missing, spec[1])
			}
		}
		Expect(missing).To(BeEmpty())
	})
})
