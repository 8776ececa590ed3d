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
// and owned by us; without any permission for group and others or, on Windows, with an access control list that allows nothing to anybody but us,
// the system and its administrators, whom nothing keeps out. It takes a path, an [fs.FileInfo] (on Windows not: it has no list), or whatever has a
// Path() string method. A file that is not there is an error in both directions.
//
//	Expect("testdata/session.cassette").To(BePrivateFile())
//
// It is for a file that was just written: a checkout does not keep such permissions.
func BePrivateFile() types.GomegaMatcher {
	return &matcher{judge: func(actual any) (*judgement, error) {
		info, path, err := stat("BePrivateFile", actual)
		if err != nil {
			return nil, err
		}
		return private(info, path)
	}}
}

func private(info fs.FileInfo, path string) (*judgement, error) {
	evidence, open, err := access(info, path)
	if err != nil {
		return nil, err
	}
	j := &judgement{
		subject: "file " + ticked(info.Name()), want: "to be private", found: "it is",
		evidence: evidence,
	}
	switch mode := info.Mode(); {
	case mode&fs.ModeSymlink != 0:
		j.hint = "it is a symbolic link: somebody may point it elsewhere"
	case !mode.IsRegular():
		j.hint = "it is not a regular file"
	default:
		j.hint, j.ok = open, open == ""
	}
	return j, nil
}

// HaveMode matches a file whose permission bits are mode, exactly. It takes what [BePrivateFile] takes. A link is not
// followed.
//
//	Expect("bin/hook").To(HaveMode(0o755))
func HaveMode(mode fs.FileMode) types.GomegaMatcher {
	return &matcher{judge: func(actual any) (*judgement, error) {
		info, _, err := stat("HaveMode", actual)
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

// stat looks at a file, and gives its path where it is known.
func stat(matcher string, actual any) (info fs.FileInfo, path string, err error) {
	switch a := actual.(type) {
	case fs.FileInfo:
		return a, "", nil
	case string:
		path = a
	case interface{ Path() string }:
		path = a.Path()
	default:
		return nil, "", wrongType(matcher, "a path, an fs.FileInfo, or what has a Path() string method", actual)
	}
	info, err = os.Lstat(path)
	if err != nil {
		var pathErr *fs.PathError
		if errors.As(err, &pathErr) {
			err = pathErr.Err
		}
		return nil, "", fmt.Errorf("matchers: cannot look at file %s: %w", ticked(filepath.Base(path)), err)
	}
	return info, path, nil
}
