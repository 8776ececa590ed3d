package main_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/boombox-go/boombox/cassette"
	"github.com/boombox-go/boombox/fixtures"
	. "github.com/boombox-go/boombox/matchers"
)

// onTape is the arguments of boombox record or replay for a fixture child.
func onTape(verb string, flags []string, child string, args ...string) []string {
	line := append([]string{verb, "t.cassette"}, flags...)
	return append(append(line, "--"), fixture(child, args...)...)
}

var _ = Describe("record and replay", func() {
	var dir string
	BeforeEach(func() { dir = GinkgoT().TempDir() })

	in := func(args ...string) ended {
		GinkgoHelper()
		return call{args: args, dir: dir}.run()
	}
	runs := func() []*cassette.Run {
		GinkgoHelper()
		tape, err := cassette.Load(filepath.Join(dir, "t.cassette"))
		Expect(err).NotTo(HaveOccurred())
		return tape.Runs()
	}

	It("give the same bytes on the same streams and the same status, with no program to be found", func() {
		sh, err := exec.LookPath("sh")
		if err != nil {
			Skip("no sh to be recorded")
		}
		words := []string{"sh", "-c", `printf "\377\000bin"; printf err >&2; exit 3`}
		recorded := in(append([]string{"record", "t.cassette", "--env", "PATH=" + filepath.Dir(sh), "--"}, words...)...)
		Expect(recorded).To(Equal(ended{3, "\xff\x00bin", "err", dir}))

		Expect(filepath.Join(dir, "t.cassette")).To(And(BePrivateFile(), HaveMode(0o600)))

		empty := []string{"PATH="}
		replayed := call{args: append([]string{"replay", "t.cassette", "--report", "r.json", "--"}, words...), env: empty, dir: dir}.run()
		Expect(replayed).To(Equal(recorded))
		Expect(reportOf(read(dir, "r.json"))).To(And(
			HaveKeyWithValue("replayed", BeTrue()),
			HaveKeyWithValue("outcome", "exited"), HaveKeyWithValue("exit_code", BeEquivalentTo(3)),
			HaveKeyWithValue("mechanism", BeNil()), HaveKeyWithValue("survivors", BeNil()),
		))

		By("while run finds no sh there")
		Expect(call{args: append([]string{"run", "--"}, words...), env: empty, dir: dir}.run().Status).To(Equal(127))
	})

	DescribeTable("keep every way of ending",
		func(status int, flags []string, child string, args ...string) {
			recorded := in(onTape("record", flags, child, args...)...)
			Expect(recorded.Status).To(Equal(status), recorded.Stderr)
			replayed := in(onTape("replay", nil, child, args...)...)
			Expect(replayed.Status).To(Equal(status), replayed.Stderr)
			Expect(replayed.Stdout).To(Equal(recorded.Stdout))
		},
		Entry("success", 0, nil, "lines", "3"),
		Entry("a failure", 7, nil, "exit", "7"),
		Entry("a signal", 128+9, nil, "signal", "9"),
		Entry("a timeout", 124, []string{"--timeout", "300ms"}, "sleep"),
		Entry("an idle timeout", 123, []string{"--idle-timeout", "300ms"}, "sleep", "quiet"),
	)

	It("adds a run to a cassette, and starts it anew with --replace", func() {
		in(onTape("record", nil, "lines", "1")...)
		in(onTape("record", nil, "lines", "2")...)
		Expect(runs()).To(HaveLen(2))
		in(onTape("record", []string{"--replace"}, "lines", "3")...)
		Expect(runs()).To(HaveLen(1))
		Expect(in(onTape("replay", nil, "lines", "3")...).Stdout).To(Equal("line 1\nline 2\nline 3\n"))
	})

	It("match the input", func() {
		Expect(call{args: onTape("record", nil, "cat"), dir: dir, stdin: "one"}.run().Stdout).To(Equal("one"))
		Expect(call{args: onTape("record", nil, "cat"), dir: dir, stdin: "two"}.run().Stdout).To(Equal("two"))
		Expect(call{args: onTape("replay", nil, "cat"), dir: dir, stdin: "two"}.run().Stdout).To(Equal("two"))
		Expect(call{args: onTape("replay", nil, "cat"), dir: dir, stdin: "six"}.run()).To(haveRefused("only the input differs"))
	})

	It("match --dir", func() {
		there := GinkgoT().TempDir()
		Expect(in(onTape("record", []string{"--dir", there}, "exit")...).Status).To(Equal(0))
		Expect(in(onTape("replay", []string{"--dir", there}, "exit")...).Status).To(Equal(0))
		Expect(in(onTape("replay", nil, "exit")...)).To(haveRefused("directory"))
	})

	It("keep the pace on request", func() {
		in(onTape("record", nil, "lines", "3", "300ms")...)
		took := func(flags ...string) time.Duration {
			began := time.Now()
			Expect(in(onTape("replay", flags, "lines", "3", "300ms")...).Stdout).To(Equal("line 1\nline 2\nline 3\n"))
			return time.Since(began)
		}
		Expect(took("--pace", "real")).To(BeNumerically(">=", 550*time.Millisecond))
		Expect(took("--pace", "2x")).To(BeNumerically(">=", 275*time.Millisecond))
	})

	It("miss with the nearest run named, and its arguments kept out of the message", func() {
		in(onTape("record", nil, "streams", fixtures.Out("x"))...)
		end := in(onTape("replay", []string{"--report", "r.json"}, "streams", fixtures.Out("SECRET"))...)
		Expect(end).To(haveRefused("nearest is run 1 (unplayed): argument 3 differs"))
		Expect(end.Stderr).NotTo(ContainSubstring(fixtures.Out("SECRET")))
		Expect(reportOf(read(dir, "r.json"))).To(HaveKeyWithValue("outcome", "start_failed"))
	})

	It("miss another program as such, and never as one that is not found", func() {
		in(onTape("record", nil, "exit")...)
		Expect(in("replay", "t.cassette", "--", "git", "status")).To(haveRefused("no such program"))
	})

	DescribeTable("write no cassette when the run did not come to its end",
		func(status int, args, argv []string) {
			end := in(append(append([]string{"record", "t.cassette"}, args...), append([]string{"--"}, argv...)...)...)
			Expect(end.Status).To(Equal(status), end.Stderr)
			Expect(files(dir)).To(BeEmpty())
		},
		Entry("a missing program", 127, nil, []string{"no-such-program"}),
		Entry("a directory as program", 126, nil, []string{"/"}),
		Entry("a directory that is missing", 125, []string{"--dir", "/no/such"}, fixture("exit")),
		Entry("a guarantee that nobody gives", 125, []string{"--require", "cap-cpu,resist-same-uid"}, fixture("exit")),
	)

	Context("a file that cannot be used", func() {
		line := func(verb string) []string {
			if verb == "show" {
				return []string{"show", "t.cassette"}
			}
			return onTape(verb, nil, "exit")
		}
		for _, verb := range []string{"record", "replay", "show"} {
			DescribeTable("is told by "+verb+" when it is corrupt, and stays as it is",
				func(what, text string) {
					Expect(os.WriteFile(filepath.Join(dir, "t.cassette"), []byte(text), 0o600)).To(Succeed())
					end := in(line(verb)...)
					Expect(end).To(haveRefused(what))
					Expect(end.Stderr).NotTo(ContainSubstring("SECRET"))
					Expect(read(dir, "t.cassette")).To(Equal(text))
					Expect(files(dir)).To(HaveLen(1))
				},
				Entry("something else", "t.cassette", "SECRET\n"),
				Entry("empty", "t.cassette", ""),
				Entry("cut short", "cut short", "cassette 1\nrun\n  argv \"SECRET\n"),
				Entry("broken inside", "line 3",
					"cassette 1\nrun\n  argv \"SECRET\n  exit 0\nend 1 sha256:"+strings.Repeat("0", 64)+"\n"),
				Entry("edited", "checksum",
					"cassette 1\nrun\n  argv \"SECRET\"\n  exit 0\nend 1 sha256:"+strings.Repeat("0", 64)+"\n"),
				Entry("of a later version", "version", "cassette 9\nSECRET\n"),
			)

			It("is told by "+verb+" when it is a directory", func() {
				Expect(os.Mkdir(filepath.Join(dir, "t.cassette"), 0o700)).To(Succeed())
				Expect(in(line(verb)...)).To(haveRefused("not a regular file"))
			})

			It("is told by "+verb+" when it is not readable", func() {
				if os.Getuid() == 0 {
					Skip("root reads everything")
				}
				Expect(os.WriteFile(filepath.Join(dir, "t.cassette"), nil, 0)).To(Succeed())
				Expect(in(line(verb)...)).To(haveRefused("permission denied"))
			})
		}
		for _, verb := range []string{"replay", "show"} {
			It("is told by "+verb+" when it is missing", func() {
				Expect(in(line(verb)...)).To(haveRefused("no such file"))
				Expect(files(dir)).To(BeEmpty())
			})
		}

		It("is not written through when it is a symbolic link", func() {
			Expect(os.Symlink("elsewhere", filepath.Join(dir, "t.cassette"))).To(Succeed())
			Expect(in(line("record")...)).To(haveRefused("not a regular file"))
			Expect(filepath.Join(dir, "elsewhere")).NotTo(BeAnExistingFile())
		})
	})
})

var _ = Describe("show", func() {
	It("shows the sizes of a terminal", func() {
		dir := GinkgoT().TempDir()
		file, err := cassette.Reseal([]byte("cassette 2\nrun\n  argv \"top\"\n  pty 80x24\n  out \"x\\r\\n\"\n  exit 0\n  tape 0o3 0r132x43 0r90x20 0x\n"))
		Expect(err).NotTo(HaveOccurred())
		Expect(os.WriteFile(filepath.Join(dir, "t.cassette"), file, 0o600)).To(Succeed())
		end := call{args: []string{"show", "t.cassette"}, dir: dir}.run()
		Expect(end.Status).To(Equal(0))
		Expect(end.Stdout).To(ContainSubstring("  pty  80x24, then 132x43, then 90x20\n"))
	})

	It("shows everything, and nothing that a terminal would obey", func() {
		dir := GinkgoT().TempDir()
		args := []string{fixtures.Out("plain\n\x1b[31mred\x07\xff\u202e"), fixtures.Err("oops\n"), "exit:3"}
		call{args: onTape("record", []string{"--env", "BOX_NAME=SECRET"}, "streams", args...), dir: dir}.run()
		end := call{args: []string{"show", "t.cassette"}, dir: dir}.run()
		Expect(end.Status).To(Equal(0))
		Expect(end.Stderr).To(BeEmpty())
		Expect(end.Stdout).To(And(
			HavePrefix("run 1  "), ContainSubstring("boombox-fixture streams"), ContainSubstring("  env  BOX_NAME\n"),
			ContainSubstring("  out| plain\n"), ContainSubstring(`  out| \x1b[31mred\a\xff\u202e`+"\n"),
			ContainSubstring("(no newline at the end)"), ContainSubstring("  err| oops\n"), ContainSubstring("  exit 3"),
		))
		Expect(end.Stdout).NotTo(ContainSubstring("SECRET"))
		Expect(end.Stdout).NotTo(MatchRegexp(fmt.Sprintf("[%c-\x09\x0b-\x1f\x7f]", 0)))
	})
})
