package suite

import (
	"crypto/rand"
	"errors"
	"os"
	"syscall"
	"time"

	"github.com/onsi/ginkgo/v2"
	"github.com/onsi/gomega"

	"github.com/boombox-go/boombox/contain"
	"github.com/boombox-go/boombox/internal/procfs"
)

// nonce is an environment entry that every descendant inherits unless its environment is cleared.
type nonce struct{ key, value string }

func newNonce() nonce { return nonce{key: "BOOMBOX_SUITE_NONCE", value: rand.Text()} }

// WithNonce makes an environment entry KEY=VALUE that no other process has, and a search for the live processes that
// have it, found by reading /proc from outside whatever holds them. Give the entry to a command; its descendants
// inherit it. On a system without /proc the search finds nothing.
func WithNonce() (env string, find func() []contain.Member) {
	n := nonce{key: "BOOMBOX_NONCE_" + rand.Text()[:8], value: rand.Text()}
	return n.key + "=" + n.value, n.find
}

// find lists the live processes, other than our own, that carry the nonce.
func (n nonce) find() []contain.Member {
	members, _ := procfs.Carrying(n.key + "=" + n.value) // the only error is a system without /proc
	return members
}

// Alive reports whether a process with that id runs. A zombie does not: it is dead and waits to be reaped. Where there
// is no /proc to tell them apart, it counts as alive.
func Alive(pid int) bool {
	switch m, err := procfs.Look(pid); {
	case err == nil:
		return m.Alive()
	case !errors.Is(err, errors.ErrUnsupported):
		return false
	}
	p, err := os.FindProcess(pid)
	return err == nil && p.Signal(syscall.Signal(0)) == nil
}

// EndAll kills what find finds, by process id, until it finds nothing. It is for what a spec has let escape on purpose,
// with a find of [WithNonce], which says that it is ours.
func EndAll(find func() []contain.Member) {
	ginkgo.GinkgoHelper()
	gomega.Eventually(func() []contain.Member {
		members := find()
		for _, m := range members {
			if p, err := os.FindProcess(m.PID); err == nil {
				_ = p.Kill()
				_ = p.Release()
			}
		}
		return members
	}).WithTimeout(time.Minute).Should(gomega.BeEmpty()) // no promise, only waited for
}
