package cassette

import (
	"fmt"
	"strings"

	"github.com/boombox-go/boombox/internal/plaintext"
)

// programOf is the base name of the program as it is matched: a cassette that was recorded as C:\bin\git.exe serves
// /usr/bin/git.
func programOf(argv []string) string {
	if len(argv) == 0 {
		return ""
	}
	end := len(argv[0])
	for end > 0 && isSlash(argv[0][end-1]) {
		end--
	}
	begin := end
	for begin > 0 && !isSlash(argv[0][begin-1]) {
		begin--
	}
	name := argv[0][begin:end]
	if name == "" {
		return argv[0]
	}
	if n := len(name) - len(".exe"); n > 0 && strings.EqualFold(name[n:], ".exe") {
		name = name[:n]
	}
	return name
}

func isSlash(c byte) bool { return c == '/' || c == '\\' }

// describeCall is a call as messages show it: the program and how many arguments it got.
func describeCall(argv []string) string {
	return fmt.Sprintf("%s with %s", showName(programOf(argv)), plaintext.Count(max(len(argv)-1, 0), "argument"))
}

// showName quotes a name, bounded, so that it can do nothing to a terminal.
func showName(name string) string {
	const most = 64
	if len(name) > most {
		name = name[:most] + "..."
	}
	return `"` + string(appendEscaped(nil, []byte(name))) + `"`
}
