package contain_test

import (
	"testing"

	"github.com/boombox-go/boombox/internal/suite"
)

func TestMain(m *testing.M) {
	runHelper()
	suite.Main(m)
}

func TestContain(t *testing.T) { suite.Run(t, "contain") }
