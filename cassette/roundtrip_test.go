package cassette_test

import (
	"bytes"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/boombox-go/boombox/cassette"
	"github.com/boombox-go/boombox/contain"
	"github.com/boombox-go/boombox/runner"
)

// randomSample is a run of random content, with chunks that add up.
func randomSample(rnd *rand.Rand) cassette.Sample {
	s := cassette.Sample{Argv: []string{"tool"}, Exit: time.Duration(rnd.IntN(100)) * time.Millisecond}
	for range rnd.IntN(4) {
		s.Argv = append(s.Argv, string(randomBytes(rnd, 30)))
	}
	if rnd.IntN(2) == 0 {
		s.Dir = "/" + string(randomBytes(rnd, 10))
	}
	for range rnd.IntN(3) {
		s.Env = append(s.Env, fmt.Sprintf("NAME %x", randomBytes(rnd, 3)))
	}
	s.Stdin = randomBytes(rnd, 200)
	s.Out, s.Err = randomBytes(rnd, 500), randomBytes(rnd, 300)
	left := [2]int{len(s.Out), len(s.Err)}
	for left[0]+left[1] > 0 {
		id := rnd.IntN(2)
		if left[id] == 0 {
			continue
		}
		n := 1 + rnd.IntN(left[id])
		left[id] -= n
		s.Chunks = append(s.Chunks, cassette.SampleChunk{After: time.Duration(rnd.IntN(9)) * time.Millisecond, Stream: runner.StreamID(id), N: int64(n)})
	}
	s.Outcome = runner.Exited(rnd.IntN(256))
	return s
}

func joined(run *cassette.Run) (out, err []byte) {
	for _, c := range run.Script().Chunks {
		if c.Stream == runner.Stderr {
			err = append(err, c.Data...)
		} else {
			out = append(out, c.Data...)
		}
	}
	return out, err
}

var _ = Describe("What is written", func() {
	It("is read back to the byte, for any bytes in arguments and streams", func() {
		rnd := random()
		for range 300 {
			var samples []cassette.Sample
			for range 1 + rnd.IntN(4) {
				samples = append(samples, randomSample(rnd))
			}
			file := cassette.File(samples)
			tape, err := cassette.Parse(file)
			Expect(err).NotTo(HaveOccurred())
			Expect(tape.Len()).To(Equal(len(samples)))
			for i, run := range tape.Runs() {
				s := samples[i]
				Expect(run.Argv()).To(Equal(s.Argv))
				Expect(run.Dir()).To(Equal(s.Dir))
				stdin, _ := run.Stdin()
				Expect(string(stdin)).To(Equal(string(s.Stdin)))
				Expect(string(run.Stdout())).To(Equal(string(s.Out)))
				Expect(string(run.Stderr())).To(Equal(string(s.Err)))
				Expect(run.Outcome()).To(Equal(s.Outcome))
				out, errs := joined(run)
				Expect(string(out)).To(Equal(string(s.Out)))
				Expect(string(errs)).To(Equal(string(s.Err)))
				chunks := run.Script().Chunks
				for j, c := range s.Chunks {
					Expect(chunks[j].After).To(Equal(c.After))
					Expect(chunks[j].Stream).To(Equal(c.Stream))
					Expect(chunks[j].Data).To(HaveLen(int(c.N)))
				}
			}
			Expect(string(tape.Marshal())).To(Equal(string(file)))
		}
	})

	It("is saved and loaded without a change", func() {
		rnd := random()
		path := filepath.Join(GinkgoT().TempDir(), "x.cassette")
		for range 10 {
			file := cassette.File([]cassette.Sample{randomSample(rnd), randomSample(rnd)})
			tape, err := cassette.Parse(file)
			Expect(err).NotTo(HaveOccurred())
			Expect(tape.Save(path)).To(Succeed())
			loaded, err := cassette.Load(path)
			Expect(err).NotTo(HaveOccurred())
			Expect(string(loaded.Marshal())).To(Equal(string(file)))
			Expect(os.ReadFile(path)).To(Equal(file))
		}
	})

	DescribeTable("holds every outcome",
		func(s cassette.Sample, line string, check func(*cassette.Run)) {
			s.Argv, s.WithoutTape = []string{"tool"}, true
			file := cassette.File([]cassette.Sample{s})
			Expect(string(file)).To(HavePrefix("cassette 1\nrun\n  argv \"tool\"\n  " + line + "\nend 1 "))
			tape, err := cassette.Parse(file)
			Expect(err).NotTo(HaveOccurred())
			run := tape.Runs()[0]
			Expect(run.Outcome()).To(Equal(s.Outcome))
			Expect(run.Deadline()).To(Equal(s.Limit))
			if status, known := run.Status(); s.Status != nil {
				Expect(known).To(BeTrue())
				Expect(status).To(Equal(*s.Status))
			}
			if check != nil {
				check(run)
			}
		},
		Entry("exit 0", cassette.Sample{Outcome: runner.Exited(0)}, "exit 0", nil),
		Entry("an NTSTATUS", cassette.Sample{Outcome: runner.Exited(0xC0000005)}, "exit 3221225477", nil),
		Entry("a signal", cassette.Sample{Outcome: runner.Signalled(syscall.SIGTERM)}, "signal SIGTERM", nil),
		Entry("a signal with a core", cassette.Sample{
			Outcome: runner.Signalled(syscall.SIGABRT), Status: &contain.ExitStatus{Signal: syscall.SIGABRT, Core: true},
		}, "signal SIGABRT core", nil),
		Entry("a signal without a name", cassette.Sample{Outcome: runner.Signalled(syscall.Signal(40))}, "signal 40", nil),
		Entry("a timeout", cassette.Sample{
			Outcome: runner.TimedOut, Limit: time.Second, Status: &contain.ExitStatus{Signal: syscall.SIGKILL},
		}, "timeout 1s then signal SIGKILL", nil),
		Entry("an exit after a timeout", cassette.Sample{
			Outcome: runner.TimedOut, Limit: 1500 * time.Millisecond, Status: &contain.ExitStatus{},
		}, "timeout 1.5s then exit 0", nil),
		Entry("an idle timeout", cassette.Sample{Outcome: runner.IdleTimedOut, Limit: time.Minute}, "idle 1m0s", nil),
		Entry("an overflow", cassette.Sample{
			Outcome: runner.Overflowed, Status: &contain.ExitStatus{Signal: syscall.SIGPIPE},
		}, "overflow then signal SIGPIPE", nil),
		Entry("a cancel", cassette.Sample{Outcome: runner.Cancelled}, "cancelled", nil),
		Entry("held pipes", cassette.Sample{Outcome: runner.Exited(0), Held: true}, "exit 0\n  pipes-held",
			func(r *cassette.Run) { Expect(r.PipesHeld()).To(BeTrue()) }),
		Entry("caps", cassette.Sample{Outcome: runner.Exited(0), Held: true, Evidence: contain.Evidence{Limits: []contain.LimitEvidence{
			{Kind: contain.LimitMemory, Max: 16 << 20, Effective: 8 << 20, Tripped: contain.HasTripped, Events: new(int64(3))},
			{Kind: contain.LimitProcesses, Max: 20},
			{Kind: contain.LimitCPU, Max: 0.5, Tripped: contain.NotTripped, Events: new(int64(0))},
		}}}, "exit 0\n  pipes-held\n  limit memory 16777216 yes 3\n  limit processes 20 unknown\n  limit cpu 0.5 no 0",
			func(r *cassette.Run) {
				Expect(r.Evidence().Limits).To(HaveExactElements(
					And(HaveField("Max", 16777216.0), HaveField("Effective", BeZero()), HaveField("Tripped", contain.HasTripped), HaveField("Events", HaveValue(BeEquivalentTo(3)))),
					And(HaveField("Kind", contain.LimitProcesses), HaveField("Tripped", contain.TripUnknown), HaveField("Events", BeNil())),
					And(HaveField("Max", 0.5), HaveField("Tripped", contain.NotTripped), HaveField("Events", HaveValue(BeZero()))),
				))
			}),
		Entry("output of which a part is kept", cassette.Sample{Outcome: runner.Exited(0), Out: []byte("tail"), Dropped: [2]int64{96, 5}, Tail: [2]bool{true, false}},
			"out \"tail\"\n  exit 0\n  cut out tail 100\n  cut err head 5",
			func(r *cassette.Run) {
				Expect(r.StdoutTotal()).To(BeEquivalentTo(100))
				Expect(r.StderrTotal()).To(BeEquivalentTo(5))
			}),
		Entry("no such program", cassette.Sample{Failure: &runner.StartError{Kind: runner.StartNotFound, Err: syscall.ENOENT}}, "start not-found ENOENT",
			func(r *cassette.Run) {
				Expect(r.StartErr()).To(MatchError(runner.ErrNotFound))
				Expect(r.StartErr()).To(MatchError(fs.ErrNotExist))
				Expect(r.StartErr()).To(MatchError(syscall.ENOENT))
			}),
		Entry("a directory as program", cassette.Sample{Failure: &runner.StartError{Kind: runner.StartNotExecutable, Err: &fs.PathError{Op: "fork/exec", Path: "/secret", Err: syscall.EACCES}}},
			"start not-executable EACCES",
			func(r *cassette.Run) { Expect(r.StartErr()).To(MatchError(runner.ErrNotExecutable)) }),
		Entry("a bad directory", cassette.Sample{Failure: &runner.StartError{Kind: runner.StartBadDir}}, "start bad-dir",
			func(r *cassette.Run) { Expect(r.StartErr()).To(MatchError(runner.ErrBadDir)) }),
		Entry("something else", cassette.Sample{Failure: &runner.StartError{Kind: runner.StartOther, Err: syscall.Errno(999)}}, `start other "errno 999"`,
			func(r *cassette.Run) { Expect(r.StartErr()).To(MatchError(ContainSubstring("errno 999"))) }),
	)

	It("chooses base64 by the bytes alone", func() {
		tag := func(out []byte) string {
			file := string(cassette.File([]cassette.Sample{{Argv: []string{"tool"}, Out: out, Outcome: runner.Exited(0)}}))
			word, _, _ := strings.Cut(strings.Split(file, "\n")[3], " \"")
			return strings.Fields(word)[0]
		}
		binary := make([]byte, 256)
		for i := range binary {
			binary[i] = byte(i)
		}
		Expect(tag(binary)).To(Equal("out64"))
		Expect(tag(bytes.Repeat([]byte{0x1b}, 100))).To(Equal("out"), "controls alone are text")
		Expect(tag(append([]byte("mostly text with one byte that is not: "), 0xff))).To(Equal("out"))
		Expect(tag([]byte("a\x00bc"))).To(Equal("out64"))
		Expect(tag([]byte("a\x00bcd"))).To(Equal("out"), "exactly 1.6 times as long")
	})

	It("ends a line where the output does, and tears no character", func() {
		long := strings.Repeat("é", 20_000)
		file := string(cassette.File([]cassette.Sample{{Argv: []string{"tool"}, Out: []byte("a\n\n" + long + "\nlast"), Outcome: runner.Exited(0)}}))
		lines := strings.Split(file, "\n")
		Expect(lines[3:5]).To(Equal([]string{`  out "a\n"`, `  out "\n"`}))
		Expect(lines[5]).To(Equal(`  out "` + strings.Repeat("é", 8192) + `"`))
		Expect(lines[8]).To(Equal(`  out "last"`))
	})

	It("changes by three lines when one line of output does", func() {
		write := func(changed string) []string {
			var out []byte
			s := cassette.Sample{Argv: []string{"tool"}, Outcome: runner.Exited(0)}
			for i := range 200 {
				line := fmt.Sprintf("line %d\n", i)
				if i == 100 {
					line = changed
				}
				out = append(out, line...)
				s.Chunks = append(s.Chunks, cassette.SampleChunk{After: time.Duration(i%3) * time.Millisecond, N: int64(len(line))})
			}
			s.Out = out
			return strings.Split(string(cassette.File([]cassette.Sample{s})), "\n")
		}
		before, after := write("line 100\n"), write("line one hundred\n")
		Expect(after).To(HaveLen(len(before)))
		differ := 0
		for i := range before {
			if before[i] != after[i] {
				differ++
			}
		}
		Expect(differ).To(Equal(3))
	})
})
