package cassette

import (
	"bufio"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// target is a file that is being recorded to. It holds the lock of that file.
type target struct {
	// path is what the caller named, absolute from then on: what a program does to its working directory does not
	// move the file.
	path string
	lock *fileLock
	// made are the directories that were made for it, outermost first.
	made []string
}

// lockTarget checks that path can be recorded to, makes its directory, and locks it.
func lockTarget(path string) (_ *target, err error) {
	abs, err := filepath.Abs(path)
	if err != nil {
		return nil, fmt.Errorf("cassette: %w", err)
	}
	t := &target{path: abs}
	if err := t.regular(); err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			t.unmake()
		}
	}()
	if err := t.makeDir(filepath.Dir(abs)); err != nil {
		return nil, fmt.Errorf("cassette: %w", err)
	}
	t.lock, err = lockFile(t.sibling(siblingLock))
	var locked *LockedError
	if errors.As(err, &locked) {
		locked.Path = path
	} else if err != nil {
		err = fmt.Errorf("cassette: locking %q: %w", path, err)
	}
	return t, err
}

// unlock gives the file up, and leaves nothing behind but what was saved.
func (t *target) unlock() error {
	if t.lock == nil {
		return nil // it was only to be read
	}
	err := t.lock.release()
	t.unmake()
	return err
}

// makeDir makes a directory and those above it, and remembers which.
func (t *target) makeDir(dir string) error {
	err := os.Mkdir(dir, 0o700)
	if errors.Is(err, fs.ErrNotExist) {
		if err = t.makeDir(filepath.Dir(dir)); err == nil {
			err = os.Mkdir(dir, 0o700)
		}
	}
	if err == nil {
		t.made = append(t.made, dir)
		return nil
	}
	if info, statErr := os.Stat(dir); statErr == nil && info.IsDir() {
		return nil
	}
	return err
}

// unmake removes the directories that were made and are empty.
func (t *target) unmake() {
	for i := len(t.made) - 1; i >= 0; i-- {
		if os.Remove(t.made[i]) != nil {
			return
		}
	}
}

// What a recording has beside its target while it goes on.
const (
	siblingLock = "lock"
	siblingTemp = "tmp"
)

var siblings = []string{siblingLock, siblingTemp}

// sibling is a hidden file beside the target.
func (t *target) sibling(kind string) string {
	dir, base := filepath.Split(t.path)
	return filepath.Join(dir, "."+base+"."+kind)
}

// regular refuses a path that is there and is no regular file.
func (t *target) regular() error {
	info, err := os.Lstat(t.path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil
	case err != nil:
		return fmt.Errorf("cassette: %w", err)
	case !info.Mode().IsRegular():
		return fmt.Errorf("%w: %q is not written through", ErrNotRegular, t.path)
	}
	return nil
}

// replace makes p the content of the file, unless it is already. The old file stays until the new one is complete
// on disk, and takes its place in one step. Another name of the old file, a hard link, keeps the old content.
func (t *target) replace(p *parsed) error {
	if err := t.regular(); err != nil {
		return err
	}
	if err := t.saveSide(p); err != nil {
		return fmt.Errorf("cassette: saving %q: %w", t.path, err)
	}
	old := t.before()
	body := p.pieces()
	trailer := make(chan []byte, 1)
	go func() { trailer <- p.seal(body) }() // worked out while the file is written
	if info, err := os.Stat(t.path); err == nil && info.Size() == int64(p.sizeOf(body)) {
		last := <-trailer
		if old, err := os.ReadFile(t.path); err == nil && equalPieces(old, append(body[:len(body):len(body)], last)) {
			return nil
		}
		trailer <- last
	}
	// The lock makes the name ours: what is there is left from a crash.
	temp := t.sibling(siblingTemp)
	err := writeNew(temp, body, trailer)
	if err == nil {
		err = rename(temp, t.path)
	}
	if err != nil {
		_ = os.Remove(temp)
		return fmt.Errorf("cassette: saving %q: %w", t.path, err)
	}
	if err := syncDir(filepath.Dir(t.path)); err != nil {
		return fmt.Errorf("cassette: saving %q: %w", t.path, err)
	}
	if old != nil {
		t.dropSide(old, p)
	}
	return nil
}

// before is what is to be replaced, nil when it has no side files to be cleared away.
func (t *target) before() *parsed {
	if !hasSideDir(t.path) {
		return nil
	}
	data, err := readFile(t.path, defaultLimits)
	if err != nil {
		return nil
	}
	old, err := parse(data, defaultLimits, unsealed)
	if err != nil {
		return nil
	}
	return old
}

// writeNew writes a file that was not there, with a last piece that may come later, readable for its owner alone, and sees it onto the disk.
func writeNew(path string, body [][]byte, trailer <-chan []byte) (err error) {
	if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	f, err := createPrivate(path)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	w := bufio.NewWriterSize(f, 1<<20)
	size := 0
	for _, piece := range body {
		if _, err := w.Write(piece); err != nil {
			return err
		}
		size += len(piece)
	}
	if trailer != nil {
		if size >= largeWork && len(trailer) == 0 {
			// Until the checksum is worked out, the disk takes what there is.
			if err := errors.Join(w.Flush(), f.Sync()); err != nil {
				return err
			}
		}
		if _, err := w.Write(<-trailer); err != nil {
			return err
		}
	}
	if err := w.Flush(); err != nil {
		return err
	}
	return f.Sync()
}

// Save writes the tape to path as [Recorder.Save] does: whole and at once, 0600, under the lock, never through a link.
// It replaces whatever regular file is there.
func (t *Tape) Save(path string) (err error) {
	file, err := lockTarget(path)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, file.unlock()) }()
	return file.replace(t.state())
}

// LockedError reports that somebody else is recording to a file.
type LockedError struct {
	Path string
	// Holder is the process id of whoever has the lock, 0 when that is unknown. It can be our own.
	Holder int
}

// Error implements error.
func (e *LockedError) Error() string {
	who := "another process"
	switch e.Holder {
	case 0:
	case os.Getpid():
		who = "another recorder of this process"
	default:
		who = fmt.Sprintf("process %d", e.Holder)
	}
	return fmt.Sprintf("cassette: %q is being recorded to by %s", e.Path, who)
}

// Is makes the error match [ErrLocked].
func (e *LockedError) Is(target error) bool { return target == ErrLocked }
