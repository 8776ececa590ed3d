package runner

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
)

func hasSeparator(name string) bool { return strings.ContainsAny(name, `/\:`) }

// executable finds the file that path names, with one of the extensions of PATHEXT if it has none of its own.
func executable(path string, env envList) (string, error) {
	list := env.lookup("PATHEXT")
	if list == "" {
		list = ".com;.exe;.bat;.cmd"
	}
	candidates := []string{}
	for _, ext := range filepath.SplitList(strings.ToLower(list)) {
		if strings.HasSuffix(strings.ToLower(path), ext) {
			candidates = []string{path}
			break
		}
		candidates = append(candidates, path+ext)
	}
	err := error(syscall.ERROR_FILE_NOT_FOUND)
	for _, file := range candidates {
		info, statErr := os.Stat(file)
		if statErr == nil && !info.IsDir() {
			return file, nil
		}
		if statErr == nil {
			err = syscall.EISDIR
		}
	}
	if info, statErr := os.Stat(path); statErr == nil && info.IsDir() {
		err = syscall.EISDIR
	}
	return "", err
}

func searchable(string) error { return nil }
