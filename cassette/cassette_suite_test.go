package cassette_test

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/boombox-go/boombox/cassette"
	"github.com/boombox-go/boombox/internal/suite"
	"github.com/boombox-go/boombox/runner"
)

func TestMain(m *testing.M) {
	if value := os.Getenv(saverEnv); value != "" {
		how, path, _ := strings.Cut(value, ":")
		saveForEver(path, savers[how])
	}
	suite.Main(m)
}

func TestCassette(t *testing.T) { suite.Run(t, "cassette") }

// saverEnv makes the test binary save two cassettes in turn to a path, until it is killed. Its value is HOW:PATH.
const saverEnv = "BOOMBOX_TEST_SAVER"

// saver is what the binary saves, and how.
type saver struct {
	tape func(generation int) *cassette.Tape
	save func(*cassette.Tape, string) error
}

// savers are the ways of saving: as everybody does, without and with side files, and as it would lose them.
var savers = map[string]saver{
	"save":           {plainTape, (*cassette.Tape).Save},
	"side":           {bulkyTape, (*cassette.Tape).Save},
	"in-place":       {plainTape, saveInPlace},
	"cassette-first": {bulkyTape, saveCassetteFirst},
}

func saveForEver(path string, s saver) {
	time.AfterFunc(20*time.Second, func() { os.Exit(3) }) // whatever becomes of our parent
	tapes := [2]*cassette.Tape{s.tape(1), s.tape(2)}
	fmt.Println("ready")
	for i := 0; ; i++ {
		if err := s.save(tapes[i%2], path); err != nil && !errors.Is(err, cassette.ErrLocked) {
			fmt.Println(err)
			os.Exit(2)
		}
	}
}

func saveInPlace(tape *cassette.Tape, path string) error {
	return os.WriteFile(path, tape.Marshal(), 0o600)
}

// saveCassetteFirst has a cassette on the disk before its side files are there.
func saveCassetteFirst(tape *cassette.Tape, path string) error {
	dir := sideDir(path)
	if err := errors.Join(saveInPlace(tape, path), os.RemoveAll(dir), os.Mkdir(dir, 0o700)); err != nil {
		return err
	}
	for _, run := range tape.Runs() {
		if err := os.WriteFile(filepath.Join(dir, fmt.Sprintf("%x", sha256.Sum256(run.Stdout()))), run.Stdout(), 0o600); err != nil {
			return err
		}
	}
	return nil
}

func plainTape(n int) *cassette.Tape {
	tape, err := cassette.Parse(generation(n))
	if err != nil {
		panic(err)
	}
	return tape
}

// bulkyTape is a cassette with three side files, one of which both generations have.
func bulkyTape(n int) *cassette.Tape {
	var samples []cassette.Sample
	for i := range 3 {
		samples = append(samples, cassette.Sample{Argv: []string{"dump", fmt.Sprint(i)}, Out: noise(uint64(n*i), 100<<10), Outcome: runner.Exited(0)})
	}
	return cassette.TapeOf(samples...)
}

// generation is a cassette that takes a while to write, and that shows when half of another is in it.
func generation(n int) []byte {
	line := strings.Repeat(fmt.Sprint(n), 1000) + "\n"
	s := cassette.Sample{Argv: []string{"tool"}, Out: []byte(strings.Repeat(line, 20)), Outcome: runner.Exited(0)}
	samples := make([]cassette.Sample, 20)
	for i := range samples {
		samples[i] = s
	}
	return cassette.File(samples)
}
