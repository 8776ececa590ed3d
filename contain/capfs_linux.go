package contain

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"
)

// cgroupFS is what the search for a place of caps does with a cgroup file system. In specs it is a made-up one, so that
// every refusal of a kernel can be had.
type cgroupFS interface {
	// Read reads a small file, and Write writes one.
	Read(path string) ([]byte, error)
	Write(path, text string) error
	// Writable says why a file or directory cannot be written, nil if it can.
	Writable(path string) error
	Mkdir(path string) error
	Rmdir(path string) error
	// IsCgroup2 reports whether dir is a cgroup of version 2.
	IsCgroup2(dir string) bool
	// Delegated reports whether dir was handed to us, for us to make cgroups in.
	Delegated(dir string) bool
	// Ours reports whether a process is this one or a descendant of it.
	Ours(pid int) bool
}

// kernelFS is the kernel's own.
type kernelFS struct{}

func (kernelFS) Read(path string) ([]byte, error) {
	text, err := readSmall(path)
	return text, bare(err)
}

// Write opens without O_CREATE and O_TRUNC: a file that a controller would have is there or is not.
func (kernelFS) Write(path, text string) error { return writeAt(unix.AT_FDCWD, path, text) }

func (kernelFS) Writable(path string) error {
	return ignoringEINTR(func() error { return unix.Faccessat(unix.AT_FDCWD, path, unix.W_OK, unix.AT_EACCESS) })
}

func (kernelFS) Mkdir(path string) error { return bare(os.Mkdir(path, 0o755)) }

func (kernelFS) Rmdir(path string) error { return bare(syscall.Rmdir(path)) }

func (kernelFS) IsCgroup2(dir string) bool {
	var fs unix.Statfs_t
	err := ignoringEINTR(func() error { return unix.Statfs(dir, &fs) })
	return err == nil && fs.Type == unix.CGROUP2_SUPER_MAGIC
}

// Delegated goes by what systemd leaves on the cgroup of a unit with Delegate=yes, or by the owner. Root owns everything,
// so of root's cgroups the mark alone tells.
func (kernelFS) Delegated(dir string) bool {
	for _, name := range []string{"trusted.delegate", "user.delegate"} {
		mark := make([]byte, 8)
		if n, err := unix.Getxattr(dir, name, mark); err == nil && string(mark[:n]) == "1" {
			return true
		}
	}
	var st unix.Stat_t
	uid := os.Geteuid()
	return uid != 0 && unix.Stat(dir, &st) == nil && int(st.Uid) == uid
}

func (kernelFS) Ours(pid int) bool {
	for range 1000 { // the chain changes while it is walked
		if pid == os.Getpid() {
			return true
		}
		p, err := readProcess(pid)
		if err != nil {
			return errors.Is(err, os.ErrProcessDone) // nobody's any more
		}
		if pid = p.parent; pid <= 1 {
			return pid == os.Getpid()
		}
	}
	return false
}

// writeFd writes text whole: of a number that is cut short, the kernel would take another number.
func writeFd(fd int, text string) error {
	return ignoringEINTR(func() error {
		n, err := unix.Write(fd, []byte(text))
		if err == nil && n < len(text) {
			return io.ErrShortWrite
		}
		return err
	})
}

// words are the words of a file, nil if it cannot be read.
func words(fs cgroupFS, path string) []string {
	text, err := fs.Read(path)
	if err != nil {
		return nil
	}
	return strings.Fields(string(text))
}

// inhabitants lists the processes directly in dir; a process that is not to be seen from our pid namespace is 0.
func inhabitants(fs cgroupFS, dir string) []int {
	text, _ := fs.Read(filepath.Join(dir, "cgroup.procs"))
	return appendPIDs(nil, text)
}
