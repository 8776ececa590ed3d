package matchers_test

import (
	"testing"

	"github.com/boombox-go/boombox/internal/suite"
)

func TestMain(m *testing.M) { suite.Main(m) }

func TestMatchers(t *testing.T) { suite.Run(t, "matchers") }
