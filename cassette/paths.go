package cassette

import (
	"encoding/json"
	"net/url"
	"os"
	"path/filepath"
	"strings"
)

// WithPaths makes the usual paths tokens, so that a cassette plays on another machine: tmp is the temporary directory of the test
// (with [ForTest] and [OpenForTest]), module the directory of the go.mod file around the working directory, cwd the working
// directory where it is another, and home the user's. They are found as whole paths and at the beginning of longer ones alone:
// /root is not found in /mnt/root or /rootfs. A path that is registered already, or has fewer than 4 bytes, is left out. By
// default no path is a token. Give it to recorder and player.
func WithPaths() Option {
	return func(o *options) error { o.paths = true; return nil }
}

func withTempDir(dir func() string) Option {
	return func(o *options) error { o.tempDir = dir; return nil }
}

// usualPaths are the values that WithPaths registers.
func usualPaths(o options) (values []registered) {
	add := func(name, path string) {
		if len(path) < minTokenValue || filepath.Dir(path) == path {
			return
		}
		number := 1
		for _, r := range append(o.values[:len(o.values):len(o.values)], values...) {
			if r.value == path {
				return
			}
			if r.name == name {
				number++
			}
		}
		values = append(values, registered{token{name, number}, path, true})
	}
	if o.tempDir != nil {
		// The directories of one test lie in one of its own, which package testing makes.
		dir := o.tempDir()
		if parent := filepath.Dir(dir); filepath.Clean(parent) != filepath.Clean(os.TempDir()) {
			dir = parent
		}
		add("tmp", dir)
		if real, err := filepath.EvalSymlinks(dir); err == nil {
			add("tmp", real)
		}
	}
	if cwd, err := os.Getwd(); err == nil {
		for dir := cwd; ; dir = filepath.Dir(dir) {
			if _, err := os.Stat(filepath.Join(dir, "go.mod")); err == nil {
				add("module", dir)
				break
			}
			if filepath.Dir(dir) == dir {
				break
			}
		}
		add("cwd", cwd)
	}
	if home, err := os.UserHomeDir(); err == nil {
		add("home", home)
	}
	return values
}

// spelling is one way of writing a registered value.
type spelling struct{ form, value string }

// spellingsOf are the ways in which a value is looked for, the plain one first. At replay all of them are known, so that
// each is given back as it was.
func spellingsOf(value string) []spelling {
	quoted, _ := json.Marshal(value)
	forms := []spelling{
		{"", value},
		{":json", string(quoted[1 : len(quoted)-1])},
		{":url", url.QueryEscape(value)},
	}
	return append(forms, spelling{":slash", strings.ReplaceAll(value, `\`, "/")})
}

// next is where the value stands in data next, at from or later.
func (b *boundToken) next(data []byte, from int) int {
	for at := indexFrom(data, b.value, from); ; at = indexFrom(data, b.value, at+1) {
		if at == len(data) || !b.path {
			return at
		}
		end := at + len(b.value)
		if (at == 0 || !pathChar(data[at-1])) && (end == len(data) || !pathChar(data[end])) {
			return at
		}
	}
}

// pathChar tells what goes on with the name of a file.
func pathChar(c byte) bool { return dashed[c] || c == '.' || c >= 0x80 }

// used reports whether the file that was written has the token.
func (t translator) used(want token) bool {
	for _, b := range t.bound {
		if b.token == want && *b.used {
			return true
		}
	}
	return false
}
