package matchers

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/onsi/gomega/types"
)

// BePrivateFile matches a file that nobody else can read: a regular file, not reached through a symbolic link,
// without any permission for group and others, and owned by us. It takes a path, an [fs.FileInfo], or whatever has a
// Path() string method. A file that is not there is an error in both directions; so is every file on Windows, where
// the access control list that decides is not checked.
//
//	Expect("testdata/session.cassette").To(BePrivateFile())
//
// It is for a file that was just written: a checkout does not keep such permissions.
func BePrivateFile() types.GomegaMatcher {
	return &matcher{judge: func(actual any) (*judgement, error) {
		info, err := stat("BePrivateFile", actual)
		if err != nil {
			return nil, err
		}
		return private(info)
	}}
}

func private(info fs.FileInfo) (*judgement, error) {
	mode := info.Mode()
	owner, ours, err := ownership(info)
	if err != nil {
		return nil, err
	}
	j := &judgement{
		subject: "file " + ticked(info.Name()), want: "to be private", found: "it is",
		evidence: []fact{
			{"mode", fmt.Sprintf("%04o (%s)", mode.Perm(), mode)},
			{"owner", owner},
		},
	}
	switch {
	case mode&fs.ModeSymlink != 0:
		j.hint = "it is a symbolic link: somebody may point it elsewhere"
	case !mode.IsRegular():
		j.hint = "it is not a regular file"
	case mode.Perm()&0o077 != 0:
		j.hint = fmt.Sprintf("group or others may use it; want %04o", mode.Perm()&^0o077)
	case !ours:
		j.hint = "it belongs to somebody else"
	default:
		j.ok = true
	}
	return j, nil
}

// HaveMode matches a file whose permission bits are mode, exactly. It takes what [BePrivateFile] takes. A link is not
// followed.
//
//	Expect("bin/hook").To(HaveMode(0o755))
func HaveMode(mode fs.FileMode) types.GomegaMatcher {
	return &matcher{judge: func(actual any) (*judgement, error) {
		info, err := stat("HaveMode", actual)
		if err != nil {
			return nil, err
		}
		got := info.Mode()
		return &judgement{
			ok:      got.Perm() == mode.Perm(),
			subject: "file " + ticked(info.Name()), want: fmt.Sprintf("to have mode %04o", mode.Perm()),
			got: fmt.Sprintf("%04o (%s)", got.Perm(), got), found: fmt.Sprintf("it does (%s)", got),
		}, nil
	}}
}

func stat(matcher string, actual any) (fs.FileInfo, error) {
	var path string
	switch a := actual.(type) {
	case fs.FileInfo:
		return a, nil
	case string:
		path = a
	case interface{ Path() string }:
		path = a.Path()
	default:
		return nil, wrongType(matcher, "a path, an fs.FileInfo, or what has a Path() string method", actual)
	}
	info, err := os.Lstat(path)
	if err != nil {
		var pathErr *fs.PathError
		if errors.As(err, &pathErr) {
			err = pathErr.Err
		}
		return nil, fmt.Errorf("matchers: cannot look at file %s: %w", ticked(filepath.Base(path)), err)
	}
	return info, nil
}
