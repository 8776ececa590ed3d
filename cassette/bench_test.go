package cassette_test

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"testing"
	"time"

	"github.com/boombox-go/boombox/cassette"
	"github.com/boombox-go/boombox/runner"
)

// jsonRun is what a recorder that writes JSON keeps of the same runs: the peer that loading is compared with.
type jsonRun struct {
	Argv     []string `json:"argv"`
	Dir      string   `json:"dir"`
	Stdin    string   `json:"stdin"`
	Stdout   string   `json:"stdout"`
	Stderr   string   `json:"stderr"`
	ExitCode int      `json:"exit_code"`
}

// album is a cassette of n runs with about size bytes of output each, and the same runs as JSON.
func album(n, size int) (file, asJSON []byte) {
	rnd := rand.New(rand.NewPCG(1, 2))
	words := []string{"warning:", "modified:", "src/main.go", "3f2c41d9", "tests", "passed", "in", "0.42s", "of", "the", "package", "is", "ready"}
	specials := []string{"\x1b[32mok\x1b[0m", "\t", "naïve", "\"quoted\""} // one word in 32, as tools write
	var samples []cassette.Sample
	var runs []jsonRun
	for i := range n {
		var out []byte
		for len(out) < size {
			for range 8 {
				word := words[rnd.IntN(len(words))]
				if rnd.IntN(32) == 0 {
					word = specials[rnd.IntN(len(specials))]
				}
				out = append(append(out, word...), ' ')
			}
			out = append(out, '\n')
		}
		s := cassette.Sample{
			Argv: []string{"tool", "run", "--number", fmt.Sprint(i), "--colour=always"}, Dir: "/home/user/project",
			Out: out[:size], Err: []byte("note: nothing to do\n"), Outcome: runner.Exited(i % 3),
		}
		samples = append(samples, s)
		runs = append(runs, jsonRun{s.Argv, s.Dir, "", string(s.Out), string(s.Err), i % 3})
	}
	asJSON, err := json.MarshalIndent(runs, "", "  ")
	if err != nil {
		panic(err)
	}
	return cassette.File(samples), asJSON
}

// BenchmarkLoad opens a cassette of 64 MiB and 10,000 runs, and its peer decodes the same runs from JSON.
func BenchmarkLoad(b *testing.B) {
	file, asJSON := album(10_000, 6000)
	dir := b.TempDir()
	path, peer := filepath.Join(dir, "album.cassette"), filepath.Join(dir, "album.json")
	for path, data := range map[string][]byte{path: file, peer: asJSON} {
		if err := os.WriteFile(path, data, 0o600); err != nil {
			b.Fatal(err)
		}
	}
	b.Run("cassette", func(b *testing.B) {
		costs(b)
		b.SetBytes(int64(len(file)))
		b.ReportAllocs()
		for b.Loop() {
			if tape, err := cassette.Load(path); err != nil || tape.Len() != 10_000 {
				b.Fatal(err)
			}
		}
	})
	b.Run("encoding-json", func(b *testing.B) {
		costs(b)
		b.SetBytes(int64(len(asJSON)))
		b.ReportAllocs()
		for b.Loop() {
			data, err := os.ReadFile(peer)
			if err != nil {
				b.Fatal(err)
			}
			var runs []jsonRun
			if err := json.Unmarshal(data, &runs); err != nil || len(runs) != 10_000 {
				b.Fatal(err)
			}
		}
	})
	b.Run("open-and-first-play", func(b *testing.B) {
		costs(b)
		b.Setenv(cassette.EnvMode, "")
		for b.Loop() {
			deck, err := cassette.Open(path)
			if err != nil {
				b.Fatal(err)
			}
			if _, err := runner.Run(context.Background(), deck, albumCmd(9_999)); err != nil {
				b.Fatal(err)
			}
			b.StopTimer() // the rest of the check ends with the deck
			if err := deck.Close(); err != nil {
				b.Fatal(err)
			}
			deck = nil
			runtime.GC() // nor is the garbage of the deck before its business
			b.StartTimer()
		}
	})
}

// BenchmarkOpenMemory reports what an open player of a cassette of 64 MiB and 10,000 runs keeps, as a share of the file:
// after its first play, while the rest of the file is checked, and in the end.
func BenchmarkOpenMemory(b *testing.B) {
	file, _ := album(10_000, 6000)
	path, size := filepath.Join(b.TempDir(), "album.cassette"), len(file)
	if err := os.WriteFile(path, file, 0o600); err != nil {
		b.Fatal(err)
	}
	file = nil
	b.Setenv(cassette.EnvMode, "")
	kept := func() uint64 {
		runtime.GC()
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		return m.HeapAlloc
	}
	for b.Loop() {
		before := kept()
		deck, err := cassette.Open(path)
		if err != nil {
			b.Fatal(err)
		}
		if _, err := runner.Run(context.Background(), deck, albumCmd(0)); err != nil {
			b.Fatal(err)
		}
		now := kept()
		b.ReportMetric(float64(now-before)/float64(size), "first-heap/file")
		for least := now; ; least = now { // until nothing more is let go for a second
			time.Sleep(time.Second)
			if now = min(least, kept()); now == least {
				break
			}
		}
		b.ReportMetric(float64(now-before)/float64(size), "heap/file")
		if err := deck.Close(); err != nil {
			b.Fatal(err)
		}
	}
}

// costs reports the processor time of an operation beside the time of the clock: on a busy machine the two differ.
func costs(b *testing.B) {
	began := cpuTime()
	b.Cleanup(func() { b.ReportMetric(float64(cpuTime()-began)/float64(b.N), "cpu-ns/op") })
}

func albumCmd(i int) *runner.Cmd {
	cmd := runner.Command("tool", "run", "--number", fmt.Sprint(i), "--colour=always")
	cmd.Dir = "/home/user/project"
	return cmd
}

// BenchmarkReplay plays runs with 1 KiB of output among 10,000: in the order in which they were recorded, as a test plays
// them, and shuffled, where next to nothing is in the processor's cache.
func BenchmarkReplay(b *testing.B) { benchmarkReplay(b, runner.Run) }

// BenchmarkReplayOutput reads what they wrote as well, which is decoded when somebody asks for it.
func BenchmarkReplayOutput(b *testing.B) {
	benchmarkReplay(b, func(ctx context.Context, r runner.Runner, cmd *runner.Cmd) (*runner.Result, error) {
		res, err := runner.Run(ctx, r, cmd)
		if err == nil && (len(res.Stdout()) != 1024 || len(res.Stderr()) == 0) {
			err = fmt.Errorf("not all of it: %v", res)
		}
		return res, err
	})
}

// BenchmarkReplayLines reads the lines of the same runs as well.
func BenchmarkReplayLines(b *testing.B) {
	benchmarkReplay(b, func(ctx context.Context, r runner.Runner, cmd *runner.Cmd) (*runner.Result, error) {
		p, err := r.Start(ctx, cmd)
		if err != nil {
			return nil, err
		}
		for _, err := range p.Lines(ctx) {
			if err != nil {
				return nil, err
			}
		}
		return p.Wait(ctx)
	})
}

func benchmarkReplay(b *testing.B, play func(context.Context, runner.Runner, *runner.Cmd) (*runner.Result, error)) {
	const n, batch = 10_000, 500
	file, _ := album(n, 1024)
	tape, err := cassette.Parse(file)
	if err != nil {
		b.Fatal(err)
	}
	numbers := make([]int, n)
	for i := range numbers {
		numbers[i] = i
	}
	order := func(b *testing.B) {
		b.ReportAllocs()
		var player *cassette.Player
		cmds := make([]*runner.Cmd, batch) // made when they are wanted, as by the code under test, but not in its time
		i, began := 0, cpuTime()
		for b.Loop() {
			if i%batch == 0 {
				b.StopTimer()
				paused := cpuTime()
				if i %= n; i == 0 {
					if player, err = cassette.NewPlayer(tape); err != nil {
						b.Fatal(err)
					}
				}
				for k := range cmds {
					cmds[k] = albumCmd(numbers[i+k])
				}
				began += cpuTime() - paused
				b.StartTimer()
			}
			res, err := play(context.Background(), player, cmds[i%batch])
			if err != nil || res.StdoutTotal() != 1024 {
				b.Fatal(res, err)
			}
			i++
		}
		b.ReportMetric(float64(cpuTime()-began)/float64(b.N), "cpu-ns/op")
	}
	b.Run("in-order", order)
	rand.New(rand.NewPCG(3, 4)).Shuffle(n, func(i, j int) { numbers[i], numbers[j] = numbers[j], numbers[i] })
	b.Run("shuffled", order)
}

// BenchmarkSave writes 10,000 runs, and its peer the same bytes in one sequential write with fsync.
func BenchmarkSave(b *testing.B) {
	file, _ := album(10_000, 6000)
	tape, err := cassette.Parse(file)
	if err != nil {
		b.Fatal(err)
	}
	path := filepath.Join(b.TempDir(), "album.cassette")
	// A tape that was not read from a file has no checksum yet.
	tape = cassette.Unsealed(tape)
	b.Run("cassette", func(b *testing.B) {
		costs(b)
		b.SetBytes(int64(len(file)))
		for b.Loop() {
			_ = os.Remove(path)
			if err := tape.Save(path); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("write-and-fsync", func(b *testing.B) {
		costs(b)
		b.SetBytes(int64(len(file)))
		for b.Loop() {
			_ = os.Remove(path)
			f, err := os.Create(path)
			if err != nil {
				b.Fatal(err)
			}
			if _, err := f.Write(file); err != nil {
				b.Fatal(err)
			}
			if err := f.Sync(); err != nil {
				b.Fatal(err)
			}
			if err := f.Close(); err != nil {
				b.Fatal(err)
			}
		}
	})
}

// BenchmarkScan looks for secrets in a cassette of 64 MiB and 10,000 runs: what the final scan adds to a save.
func BenchmarkScan(b *testing.B) {
	file, _ := album(10_000, 6000)
	tape, err := cassette.Parse(file)
	if err != nil {
		b.Fatal(err)
	}
	costs(b)
	b.SetBytes(int64(len(file)))
	for b.Loop() {
		if found, err := tape.Scan(); err != nil || len(found) > 0 {
			b.Fatal(found, err)
		}
	}
}
