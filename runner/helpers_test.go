package runner_test

import (
	"testing"

	"github.com/boombox-go/boombox/fixtures"
	"github.com/boombox-go/boombox/runner"
)

// fixture is a command that starts a fixture child.
func fixture(child string, args ...string) *runner.Cmd {
	argv := fixtures.Argv(child, args...)
	return runner.Command(argv[0], argv[1:]...)
}

func testingAllocs(f func()) float64 { return testing.AllocsPerRun(100, f) }
