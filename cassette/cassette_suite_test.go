package cassette_test

import (
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/boombox-go/boombox/cassette"
	"github.com/boombox-go/boombox/internal/suite"
	"github.com/boombox-go/boombox/runner"
)

func TestMain(m *testing.M) {
	if path := os.Getenv(saverEnv); path != "" {
		how, path, _ := strings.Cut(path, ":")
		saveForEver(path, how == "in-place")
	}
	suite.Main(m)
}

func TestCassette(t *testing.T) { suite.Run(t, "cassette") }

// saverEnv makes the test binary save two cassettes in turn to a path, until it is killed. Its value is HOW:PATH, and
// how is save, or in-place for the way that loses files.
const saverEnv = "BOOMBOX_TEST_SAVER"

func saveForEver(path string, inPlace bool) {
	time.AfterFunc(20*time.Second, func() { os.Exit(3) }) // whatever becomes of our parent
	var tapes [2]*cassette.Tape
	for i := range tapes {
		tape, err := cassette.Parse(generation(i + 1))
		if err != nil {
			panic(err)
		}
		tapes[i] = tape
	}
	fmt.Println("ready")
	for i := 0; ; i++ {
		save := tapes[i%2].Save
		if inPlace {
			save = func(path string) error { return os.WriteFile(path, tapes[i%2].Marshal(), 0o600) }
		}
		if err := save(path); err != nil && !errors.Is(err, cassette.ErrLocked) {
			fmt.Println(err)
			os.Exit(2)
		}
	}
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
