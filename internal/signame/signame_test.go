package signame_test

import (
	"strconv"
	"syscall"
	"testing"

	"github.com/boombox-go/boombox/internal/signame"
)

func TestEverySignalComesBackByItsName(t *testing.T) {
	for n := 1; n <= 64; n++ {
		sig := syscall.Signal(n)
		if back, ok := signame.Parse(signame.Of(sig)); !ok || back != sig {
			t.Errorf("signal %d is named %q, which reads as %d, %v", n, signame.Of(sig), back, ok)
		}
	}
}

func TestSignalsAreShownByNameAndNumber(t *testing.T) {
	if got := signame.Shown(syscall.SIGKILL); got != "SIGKILL (9)" {
		t.Errorf("SIGKILL is shown as %q", got)
	}
	if got := signame.Shown(64); got != "signal 64" {
		t.Errorf("signal 64 is shown as %q", got)
	}
}

func TestNoNameIsGuessed(t *testing.T) {
	for _, name := range []string{"", "0", "-9", "09", "129", "999", "KILL", "SIG", "SIGNONE", "sigkill", "9 ", strconv.Itoa(1 << 40)} {
		if sig, ok := signame.Parse(name); ok {
			t.Errorf("%q reads as signal %d", name, sig)
		}
	}
}
