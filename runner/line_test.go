package runner_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"reflect"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/boombox-go/boombox/contain"
	"github.com/boombox-go/boombox/runner"
)

// linesOf are the lines of data when it is written in pieces, and read as far as a Read goes.
func linesOf(data []byte, s runner.Stream, most int, cuts ...int) []runner.Line {
	cmd := runner.Command("x")
	cmd.Output.Stdout = s
	b := newStub()
	b.out.most = most
	p := runner.Attach(cmd, b, time.Now())
	go func() {
		for _, n := range cuts {
			n = min(n, len(data))
			b.out.write(data[:n])
			data = data[n:]
		}
		b.out.write(data)
		b.finish(contain.ExitStatus{})
	}()
	return allLines(p)
}

func allLines(p *runner.Process) (lines []runner.Line) {
	for line, err := range p.Lines(context.Background()) {
		if err != nil {
			panic(err)
		}
		lines = append(lines, line)
	}
	<-p.Settled()
	return lines
}

func settledLines(data []byte, s runner.Stream) []runner.Line {
	cmd := runner.Command("x")
	cmd.Output.Stdout = s
	return allLines(runner.Settle(cmd, runner.Finished{Outcome: runner.Exited(0), Stdout: data}))
}

// modelLines is what lines are, said as plainly as possible.
func modelLines(data string, s runner.Stream) (lines []runner.Line) {
	for data != "" {
		line := runner.Line{Text: data}
		if i := strings.IndexByte(data, '\n'); i >= 0 {
			line.Text, line.End = data[:i], "\n"
			if strings.HasSuffix(line.Text, "\r") {
				line.Text, line.End = data[:i-1], "\r\n"
			}
		}
		skip := len(line.Text) + len(line.End)
		if i := strings.IndexByte(data, '\r'); s.Framing == runner.CarriageReturn && i >= 0 && i < skip {
			line.Text, line.End, skip = data[:i], "\r", i+1
			if strings.HasPrefix(data[skip:], "\n") {
				skip++
			}
		}
		data = data[skip:]
		if whole := line.Text; len(whole) > s.MaxLine {
			line.Text = whole[:s.MaxLine]
			for i := 1; i < utf8.UTFMax && i <= len(line.Text); i++ {
				tail := line.Text[len(line.Text)-i:]
				if utf8.RuneStart(tail[0]) {
					if !utf8.FullRuneInString(tail) {
						line.Text = line.Text[:len(line.Text)-i]
					}
					break
				}
			}
			line.Dropped = int64(len(whole) - len(line.Text))
		}
		lines = append(lines, line)
	}
	return lines
}

// sameLines says what is wrong with the lines of data, however it comes.
func sameLines(data []byte, s runner.Stream, most int, cuts ...int) error {
	want := modelLines(string(data), s)
	if got := settledLines(data, s); !reflect.DeepEqual(got, want) {
		return fmt.Errorf("settled: %d lines, and the model has %d", len(got), len(want))
	}
	if got := linesOf(data, s, most, cuts...); !reflect.DeepEqual(got, want) {
		return fmt.Errorf("live: %d lines, and the model has %d", len(got), len(want))
	}
	return nil
}

var _ = Describe("a line", func() {
	It("is the same however the reads were cut", func() {
		seed := uint64(GinkgoRandomSeed())
		r := rand.New(rand.NewPCG(seed, 0))
		parts := []string{"a", "\n", "\r", "\r\n", "é", "\xff", "日", "0123456789", "\r\r\n"}
		for round := range 400 {
			var data strings.Builder
			for range r.IntN(40) {
				data.WriteString(parts[r.IntN(len(parts))])
			}
			s := runner.Stream{MaxLine: 1 + r.IntN(12), Framing: runner.Framing(r.IntN(2))}
			err := sameLines([]byte(data.String()), s, r.IntN(4), r.IntN(9), r.IntN(9), r.IntN(9))
			Expect(err).NotTo(HaveOccurred(), "seed %d, round %d: %q with %d, framing %d", seed, round, data.String(), s.MaxLine, s.Framing)
		}
	})

	It("of exactly the most that is handed out is whole, with its CRLF cut between two reads", func() {
		s := runner.Stream{MaxLine: 4}
		Expect(linesOf([]byte("1234\r\nx"), s, 0, 5)).To(Equal([]runner.Line{{Text: "1234", End: "\r\n"}, {Text: "x"}}))
	})

	It("that never ends holds no more than its most", func() {
		lines := linesOf(make([]byte, 4<<20), runner.Stream{MaxLine: 16}, 0)
		Expect(lines).To(HaveLen(1))
		Expect(lines[0].Text).To(HaveLen(16))
		Expect(lines[0].Dropped).To(BeEquivalentTo(4<<20 - 16))
	})
})

func FuzzLines(f *testing.F) {
	f.Add([]byte("one\r\ntwo\rthree"), uint8(5), false, uint8(4))
	f.Add([]byte("\xe6\x97\xa5\xe6\x97\r\r\n"), uint8(2), true, uint8(1))
	f.Fuzz(func(t *testing.T, data []byte, most uint8, cr bool, cut uint8) {
		s := runner.Stream{MaxLine: 1 + int(most)}
		if cr {
			s.Framing = runner.CarriageReturn
		}
		if err := sameLines(data, s, int(cut%3), int(cut)); err != nil {
			t.Fatal(err)
		}
	})
}
