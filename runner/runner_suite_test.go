package runner_test

import (
	"testing"

	"github.com/boombox-go/boombox/internal/suite"
)

func TestMain(m *testing.M) { suite.Main(m) }

func TestRunner(t *testing.T) { suite.Run(t, "runner") }
