//go:build !(darwin || dragonfly || freebsd || linux || netbsd || openbsd || windows)

package cassette

// fileLock is nothing where the system has no lock that ends with its holder. A file is replaced in one step there as
// well; of two recorders the last one wins.
type fileLock struct{}

func lockFile(string) (*fileLock, error) { return &fileLock{}, nil }

func (*fileLock) release() error { return nil }
