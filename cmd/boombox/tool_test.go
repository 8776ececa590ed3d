package main_test

import (
	"context"
	"encoding/json"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/boombox-go/boombox/cassette"
	"github.com/boombox-go/boombox/fake"
	"github.com/boombox-go/boombox/runner"
)

var _ = Describe("the cassette tools", func() {
	var dir string
	BeforeEach(func() { dir = GinkgoT().TempDir() })
	in := func(args ...string) ended { return call{args: args, dir: dir}.run() }
	// write seals text and writes it as a cassette.
	write := func(name, text string) {
		GinkgoHelper()
		data, err := cassette.Reseal([]byte(text))
		Expect(err).NotTo(HaveOccurred())
		Expect(os.WriteFile(filepath.Join(dir, name), data, 0o600)).To(Succeed())
	}
	run := func(program, out string) string {
		return "run\n  argv \"" + program + "\"\n  out \"" + out + "\\n\"\n  exit 0\n"
	}
	ends := func(status int, stdout string) OmegaMatcher {
		return And(HaveField("Status", status), HaveField("Stdout", stdout), HaveField("Stderr", BeEmpty()))
	}
	fails := func(what string) OmegaMatcher {
		return And(HaveField("Status", 2), HaveField("Stdout", BeEmpty()), HaveField("Stderr", And(MatchRegexp(`^boombox: [^\n]+\n$`), ContainSubstring(what))))
	}

	It("fix seals what was edited, and nothing that does not read", func() {
		write("t.cassette", "cassette 1\n"+run("a", "1"))
		sound := read(dir, "t.cassette")
		Expect(in("fix", "t.cassette")).To(ends(0, ""))
		edited := strings.Replace(sound, `"1\n"`, `"2\n"`, 1)
		Expect(os.WriteFile(filepath.Join(dir, "t.cassette"), []byte(edited), 0o600)).To(Succeed())
		Expect(in("show", "t.cassette").Stderr).To(ContainSubstring("checksum"))
		Expect(in("fix", "--check", ".")).To(ends(1, "t.cassette: would be sealed\n"))
		Expect(read(dir, "t.cassette")).To(Equal(edited))
		Expect(in("fix", ".")).To(ends(0, "t.cassette: sealed\n"))
		Expect(in("show", "t.cassette").Stdout).To(ContainSubstring("out| 2"))

		broken := strings.Replace(sound, "exit", "SECRET", 1)
		Expect(os.WriteFile(filepath.Join(dir, "t.cassette"), []byte(broken), 0o600)).To(Succeed())
		end := in("fix", "t.cassette")
		Expect(end).To(fails("line 5"))
		Expect(end.Stderr).NotTo(ContainSubstring("SECRET"))
		Expect(read(dir, "t.cassette")).To(Equal(broken))
	})

	It("diff shows the lines that differ, and has the classes as JSON", func() {
		write("a.cassette", "cassette 1\n"+run("tool", `one\n\x1b[31mred`)+run("gone", "x"))
		write("b.cassette", "cassette 1\n"+run("tool", `one\nblue`))
		Expect(in("diff", "a.cassette", "a.cassette")).To(ends(0, ""))
		Expect(in("diff", "a.cassette", "b.cassette")).To(ends(1,
			"run 1, of \"tool\": output (stdout)\n  -out| \\x1b[31mred\n  +out| blue\nrun 2, of \"gone\": missing\n"))
		end := in("diff", "--json", "a.cassette", "b.cassette")
		Expect(end.Status).To(Equal(1))
		Expect(end.Stdout).To(MatchJSON(`{"version":1,"changes":[{"class":"output","old":1,"new":1,"program":"tool","fields":["stdout"]},
			{"class":"missing","old":2,"new":null,"program":"gone","fields":[]}]}`))
	})

	It("lint, scan and scrub find what they look for, and never show it", func() {
		write("t.cassette", "cassette 1\n"+run("tool", "https://me:t0psecret@host")+"run\n  argv \"ls\"\n  argv \"/home/me/x\"\n  exit 0\n")
		Expect(in("lint", ".")).To(ends(1, "t.cassette:6: run 2: argument 1 holds a path of one machine: record with WithPaths or WithToken\n"))
		Expect(in("scan", "t.cassette")).To(ends(1, "t.cassette:2: run 1 of \"tool\", stdout line 1 (rule url-password)\n"))
		Expect(in("scan", "--without-rule", "url-password", "t.cassette")).To(ends(0, ""))
		Expect(in("scan", "--without-rule", "nosuch", "t.cassette")).To(fails("no rule"))
		end := in("scan", "--json", "t.cassette")
		Expect(end.Stdout).To(MatchJSON(`{"version":1,"findings":[{"file":"t.cassette","line":2,"run":1,"rule":"url-password","text":"run 1 of \"tool\", stdout line 1 (rule url-password)"}]}`))
		before := read(dir, "t.cassette")
		Expect(in("scrub", "--check", "t.cassette")).To(ends(1, "t.cassette: scrubbed\n"))
		Expect(read(dir, "t.cassette")).To(Equal(before))
		Expect(in("scrub", "t.cassette")).To(ends(0, "t.cassette: scrubbed\n"))
		Expect(read(dir, "t.cassette")).NotTo(ContainSubstring("t0psecret"))
		Expect(in("scan", "t.cassette")).To(ends(0, ""))
		Expect(in("scrub", "t.cassette")).To(ends(0, ""))
	})

	It("verify runs the commands again, and writes nothing", func() {
		Expect(in(onTape("record", nil, "lines", "2")...).Status).To(Equal(0))
		Expect(in(onTape("record", nil, "exit", "3")...).Status).To(Equal(3))
		before := read(dir, "t.cassette")
		end := in("verify", "t.cassette")
		Expect(end.Status).To(Equal(0), end.Stdout+end.Stderr)
		Expect(end.Stdout).To(MatchRegexp(`(?s)^t.cassette: run 1, .*: (same|timing).*run 2, .*: (same|timing)[^\n]*\n$`))

		changed := strings.Replace(before, "exit 3", "exit 4", 1)
		write("t.cassette", changed)
		end = in("verify", "--json", "t.cassette")
		Expect(end.Status).To(Equal(1))
		var report struct{ Runs []struct{ Class string } }
		Expect(json.Unmarshal([]byte(end.Stdout), &report)).To(Succeed())
		Expect(report.Runs[1].Class).To(Equal("outcome"))
		Expect(files(dir)).To(ConsistOf("t.cassette"))
	})

	It("verify holds a recorded conversation with the program of today", func(ctx context.Context) {
		sh, err := exec.LookPath("sh")
		if err != nil {
			Skip("no sh to talk to")
		}
		const script = `printf 'name? '; read -r name; echo "hello $name"; read -r more || echo bye`
		talk := func() *runner.Cmd {
			cmd := runner.Command(sh, "-c", script)
			cmd.Stdin = runner.StdinPipe()
			return cmd
		}
		path := filepath.Join(dir, "t.cassette")
		rec, err := cassette.NewRecorder(path, nil)
		Expect(err).NotTo(HaveOccurred())
		defer rec.Close()
		p, err := rec.Start(ctx, talk())
		Expect(err).NotTo(HaveOccurred())
		_, err = p.Stdin().Write([]byte("Ann\n"))
		Expect(err).NotTo(HaveOccurred())
		_, err = p.WaitForLine(ctx, func(l runner.Line) bool { return strings.Contains(l.Text, "hello Ann") })
		Expect(err).NotTo(HaveOccurred())
		Expect(p.Stdin().Close()).To(Succeed())
		_, err = p.Wait(ctx)
		Expect(err).NotTo(HaveOccurred())
		Expect(rec.Save()).To(Succeed())
		Expect(in("verify", "t.cassette")).To(Or(ends(0, "t.cassette: run 1, of \"sh\": timing (tape)\n"), ends(0, "t.cassette: run 1, of \"sh\": same\n")))

		By("and tells when it says something else")
		write("t.cassette", strings.Replace(read(dir, "t.cassette"), "hello Ann", "HELLO Ann", 1))
		got := in("verify", "t.cassette")
		Expect(got.Status).To(Equal(1))
		Expect(got.Stdout).To(MatchRegexp(`run 1, of "sh": output \(.*stdout\)`))
	})

	It("prune finds what no test has opened, and deletes it when told to", func() {
		write("used.cassette", "cassette 1\n"+run("a", "1"))
		write("orphan.cassette", "cassette 1\n"+run("a", "1"))
		index := filepath.Join(GinkgoT().TempDir(), "index")
		quoted, _ := json.Marshal(filepath.Join(dir, "used.cassette"))
		Expect(os.WriteFile(index, append(quoted, '\n'), 0o600)).To(Succeed())
		Expect(in("prune", "--index", index, ".")).To(ends(1, "orphan.cassette: belongs to no test\n"))
		Expect(files(dir)).To(HaveLen(2))
		Expect(in("prune", "--index", index, "--delete", ".")).To(ends(0, "orphan.cassette: deleted\n"))
		Expect(files(dir)).To(ConsistOf("used.cassette"))

		By("side files of a cassette that has none, or is gone, among them")
		for _, folder := range []string{"used.blobs", "gone.blobs"} {
			Expect(os.Mkdir(filepath.Join(dir, folder), 0o700)).To(Succeed())
			Expect(os.WriteFile(filepath.Join(dir, folder, "0123"), nil, 0o600)).To(Succeed())
		}
		Expect(in("lint", "used.cassette")).To(ends(1, "used.cassette: the side file 0123 is used by no run: boombox prune removes it\n"))
		Expect(in("prune", "--index", index, ".")).To(ends(1, filepath.Join("used.blobs", "0123")+": belongs to no test\n"+filepath.Join("gone.blobs", "0123")+": belongs to no test\n"))
		Expect(in("prune", "--index", index, "--delete", ".").Status).To(BeZero())
		Expect(files(dir)).To(ConsistOf("used.cassette"))

		By("what a recording that was cut short left, too")
		for _, name := range []string{".used.cassette.tmp", ".gone.cassette.tmp"} {
			Expect(os.WriteFile(filepath.Join(dir, name), nil, 0o600)).To(Succeed())
		}
		Expect(in("lint", "used.cassette")).To(ends(1, "used.cassette: a recording goes on, or one that was cut short left .used.cassette.tmp: boombox prune removes it\n"))
		Expect(in("prune", "--index", index, ".")).To(ends(1, ".used.cassette.tmp: belongs to no test\n.gone.cassette.tmp: belongs to no test\n"))
		Expect(in("prune", "--index", index, "--delete", ".").Status).To(BeZero())
		Expect(files(dir)).To(ConsistOf("used.cassette"))

		Expect(os.WriteFile(index, []byte("\"/elsewhere\"\n"), 0o600)).To(Succeed())
		Expect(in("prune", "--index", index, "--delete", ".")).To(fails("of other tests"))
		Expect(files(dir)).To(ConsistOf("used.cassette"))
	})

	// gitIn begins a repository in dir, which merges cassettes by the arguments, and returns how to call git there.
	gitIn := func(driver string) (do func(args ...string) (string, error), must func(args ...string)) {
		GinkgoHelper()
		git, err := exec.LookPath("git")
		if err != nil {
			Skip("no git to merge with")
		}
		do = func(args ...string) (string, error) {
			cmd := exec.Command(git, append([]string{"-c", "user.name=n", "-c", "user.email=e", "-c", "merge.cassette.driver=" + binary + " merge " + driver}, args...)...)
			cmd.Dir = dir
			out, err := cmd.CombinedOutput()
			return string(out), err
		}
		must = func(args ...string) {
			GinkgoHelper()
			out, err := do(args...)
			Expect(err).NotTo(HaveOccurred(), out)
		}
		must("init", "-q", "-b", "main")
		Expect(os.WriteFile(filepath.Join(dir, ".gitattributes"), []byte("*.cassette text eol=lf merge=cassette\n**/*.blobs/* -text\n"), 0o600)).To(Succeed())
		return do, must
	}

	DescribeTable("merge is a driver that git can use", func(driver string) {
		do, must := gitIn(driver)
		commit := func(text string) {
			write("t.cassette", "cassette 1\n"+text)
			must("add", ".")
			must("commit", "-q", "-m", "x")
		}
		commit(run("a", "1") + run("b", "1"))
		must("checkout", "-q", "-b", "side")
		commit(run("a", "1") + run("b", "2"))
		must("checkout", "-q", "main")
		commit(run("a", "2") + run("b", "1") + run("c", "1"))
		must("merge", "-q", "-m", "m", "side")
		Expect(in("show", "t.cassette").Stdout).To(MatchRegexp(`(?s)run 1  a\n  out\| 2\n.*run 2  b\n  out\| 2\n.*run 3  c\n`))

		must("checkout", "-q", "side")
		commit(run("a", "3") + run("b", "2"))
		out, err := do("merge", "-q", "-m", "m", "main")
		Expect(err).To(HaveOccurred())
		Expect(out).To(ContainSubstring(`run 1 (line 2), of "a"`))
	},
		Entry("with the name of the file", "%O %A %B %P"),
		Entry("without", "%O %A %B"),
	)

	// dumps records runs of dump NAME, each with a side file of its seed.
	dumps := func(seeds map[string]byte) {
		GinkgoHelper()
		inner := fake.New()
		rec, err := cassette.NewRecorder(filepath.Join(dir, "t.cassette"), inner)
		Expect(err).NotTo(HaveOccurred())
		defer func() { Expect(rec.Close()).To(Succeed()) }()
		for _, name := range slices.Sorted(maps.Keys(seeds)) {
			inner.On("dump", name).Reply(fake.Stdout(large(seeds[name])))
			_, err := runner.Run(context.Background(), rec, runner.Command("dump", name))
			Expect(err).NotTo(HaveOccurred())
		}
		Expect(rec.Save()).To(Succeed())
	}

	It("merge leaves side files to git, which has them where no driver finds them", func() {
		twoSides := func(must func(...string)) {
			GinkgoHelper()
			commit := func(seeds map[string]byte) {
				GinkgoHelper()
				dumps(seeds)
				must("add", ".")
				must("commit", "-q", "-m", "x")
			}
			commit(map[string]byte{"a": 1, "b": 2})
			must("checkout", "-q", "-b", "side")
			commit(map[string]byte{"a": 1, "b": 3, "c": 4})
			must("checkout", "-q", "main")
			commit(map[string]byte{"a": 5, "b": 2})
		}
		do, must := gitIn("%O %A %B %P")
		twoSides(must)
		must("merge", "-q", "-m", "m", "side")
		tape, err := cassette.Load(filepath.Join(dir, "t.cassette"))
		Expect(err).NotTo(HaveOccurred())
		var seeds []byte
		for _, run := range tape.Runs() {
			seeds = append(seeds, run.Stdout()[0])
		}
		Expect(seeds).To(Equal([]byte{5, 3, 4}))
		Expect(in("lint", "t.cassette")).To(ends(0, ""))
		Expect(do("status", "--porcelain")).To(BeEmpty())

		By("and would fail without the name, which tells it so")
		dir = GinkgoT().TempDir()
		do, must = gitIn("%O %A %B")
		twoSides(must)
		out, err := do("merge", "-q", "-m", "m", "side")
		Expect(err).To(HaveOccurred())
		Expect(out).To(ContainSubstring("side file"))
	})

	It("export and import speak with others", func() {
		write("t.cassette", "cassette 1\n"+run("tool", "x"))
		Expect(in("export", "--format", "txtar", "t.cassette").Stdout).To(ContainSubstring("-- 1/stdout --\nx\n"))
		Expect(in("export", "t.cassette").Stdout).To(HavePrefix(`{"run":1,"event":"start","argv":["tool"]}` + "\n"))
		Expect(in("export", "--format", "SECRET", "t.cassette")).To(fails("no format"))
		Expect(os.WriteFile(filepath.Join(dir, "f.json"), []byte(`{"version":3,"entries":[{"program":"a","args":[],"stdout":"1","stderr":"","code":0},{"program":"b","args":[],"has_stdin":true,"stdout":"","stderr":"","code":0}]}`), 0o600)).To(Succeed())
		Expect(in("import", "f.json", "new.cassette")).To(ends(1, "1 runs\nleft out: entry 2, of \"b\": it has input, of which only a digest is kept\n"))
		Expect(in("show", "new.cassette").Stdout).To(ContainSubstring("run 1  a\n"))
		Expect(in("import", "f.json", "new.cassette")).To(fails("is there already"))
		Expect(in("stats", "new.cassette").Stdout).To(HavePrefix("new.cassette: 1 runs, "))
		Expect(in("stats", "--json", "new.cassette").Stdout).To(ContainSubstring(`"runs":1`))
	})

	DescribeTable("end with 2 and one line when they cannot do their work",
		func(what string, args ...string) { Expect(in(args...)).To(fails(what)) },
		Entry("a file that is not there", "no such file", "lint", "nosuch"),
		Entry("no file", "expected", "fix"),
		Entry("an unknown flag", "unknown flag --frob", "scan", "--frob", "x"),
		Entry("a timeout without unit", "--timeout", "verify", "--timeout", "5", "x"),
		Entry("no index", "missing flags: --index", "prune", "."),
	)
})

// large is a content that stands in a side file.
func large(seed byte) []byte {
	data := make([]byte, 70<<10)
	for i := range data {
		data[i] = byte(i*int(seed)) ^ byte(i>>8)
	}
	data[0] = seed
	return append(data, 0xff)
}
