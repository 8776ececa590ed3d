package suite

import (
	"crypto/rand"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// nonce is an environment entry that every descendant inherits unless its environment is cleared.
type nonce struct{ key, value string }

func newNonce() nonce { return nonce{key: "BOOMBOX_SUITE_NONCE", value: rand.Text()} }

// WithNonce makes an environment entry KEY=VALUE that no other process has, and a search for the live processes that
// have it, found by reading /proc from outside whatever holds them. Give the entry to a command; its descendants
// inherit it. On a system without /proc the search finds nothing.
func WithNonce() (env string, find func() []int) {
	n := nonce{key: "BOOMBOX_NONCE_" + rand.Text()[:8], value: rand.Text()}
	return n.key + "=" + n.value, n.find
}

// find lists the live processes, other than our own, that carry the nonce.
func (n nonce) find() []int {
	files, _ := filepath.Glob("/proc/[0-9]*/environ")
	var pids []int
	for _, file := range files {
		pid, err := strconv.Atoi(filepath.Base(filepath.Dir(file)))
		if err != nil || pid == os.Getpid() {
			continue
		}
		// A process that is gone or that belongs to somebody else cannot be read, and is not ours.
		b, err := os.ReadFile(file)
		if err == nil && strings.Contains("\x00"+string(b), "\x00"+n.key+"="+n.value+"\x00") && Alive(pid) {
			pids = append(pids, pid)
		}
	}
	return pids
}
