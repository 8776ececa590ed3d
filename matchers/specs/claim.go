package specs

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/onsi/ginkgo/v2"
)

// claim takes a cassette's path for a spec at location, among all processes of this ginkgo -p. It returns the location
// of the spec that has it already, if there is one. The processes share nothing but what they were told by the command
// that started them: the claims lie in a folder of the system's for temporary files that is named by it.
func claim(path, location string) (other string, err error) {
	dir, err := claims()
	if err != nil {
		return "", err
	}
	// Linked into place, so that nobody sees a claim without its location.
	draft, err := os.CreateTemp(dir, "draft-")
	if err != nil {
		return "", err
	}
	defer func() { err = errors.Join(err, os.Remove(draft.Name())) }()
	if _, err := draft.WriteString(location); err != nil {
		return "", errors.Join(err, draft.Close())
	}
	if err := draft.Close(); err != nil {
		return "", err
	}
	taken := filepath.Join(dir, filepath.Base(path))
	if err := os.Link(draft.Name(), taken); !errors.Is(err, fs.ErrExist) {
		return "", err
	}
	text, err := os.ReadFile(taken)
	return string(text), err
}

const claimsPrefix = "boombox-specs-"

// claims makes the folder of this run's claims, once, and removes those of runs that are long over: no process can tell
// that it is the last of its run.
var claims = sync.OnceValues(func() (string, error) {
	config, _ := ginkgo.GinkgoConfiguration()
	self, err := os.Executable()
	if err != nil {
		return "", err
	}
	run := sha256.Sum256(fmt.Appendf(nil, "%s\n%d\n%d\n%s", config.ParallelHost, os.Getppid(), config.RandomSeed, self))
	old, _ := filepath.Glob(filepath.Join(os.TempDir(), claimsPrefix+"*"))
	for _, dir := range old {
		if info, err := os.Lstat(dir); err == nil && info.IsDir() && time.Since(info.ModTime()) > 24*time.Hour {
			_ = os.RemoveAll(dir)
		}
	}
	dir := filepath.Join(os.TempDir(), fmt.Sprintf("%s%x", claimsPrefix, run[:8]))
	if err := os.Mkdir(dir, 0o700); err != nil && !errors.Is(err, fs.ErrExist) {
		return "", err
	}
	return dir, nil
})
