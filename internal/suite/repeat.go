package suite

import (
	"bufio"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"regexp"
	"strings"
	"testing"
)

// repeat runs the test t once more, in a fresh process of the same test binary, and shows its output with a bar in
// front, so that nobody reads the verdicts in it as verdicts of this process. The suite's own lines keep their form.
func repeat(t *testing.T, name string) {
	t.Helper()
	cmd := exec.Command(os.Args[0], repeatArgs(os.Args[1:], t.Name())...)
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	fold(os.Stdout, out, name)
	if err := cmd.Wait(); err != nil {
		t.Errorf("repetition of %s: %v", name, err)
	}
}

func fold(to io.Writer, from io.Reader, name string) {
	lines := bufio.NewReader(from)
	for {
		line, err := lines.ReadString('\n')
		if line = strings.TrimRight(line, "\n"); line != "" {
			if strings.HasPrefix(line, name+": ") {
				fmt.Fprintln(to, line)
			} else {
				fmt.Fprintln(to, "|", line)
			}
		}
		if err != nil {
			return
		}
	}
}

// dropped are the test flags that must not be handed to a repetition: it runs one test once, and files that the first
// process writes are not to be written twice.
var dropped = regexp.MustCompile(`^--?test\.(count|cpu|run|skip|v|testlogfile|coverprofile|cpuprofile|memprofile|blockprofile|` +
	`mutexprofile|trace|gocoverdir|bench|fuzz.*|list)(=|$)`)

// repeatArgs makes the flags of a repetition of test from our own. The go command passes every flag as one word; a
// value apart from its flag is only met when a person runs the test binary, and is dropped with it.
func repeatArgs(args []string, test string) []string {
	var kept []string
	for i := 0; i < len(args); i++ {
		m := dropped.FindStringSubmatch(args[i])
		switch {
		case m == nil:
			kept = append(kept, args[i])
		case m[2] == "" && m[1] != "v" && i+1 < len(args):
			i++
		}
	}
	return append(kept, "-test.count=1", "-test.run=^"+regexp.QuoteMeta(test)+"$")
}

// once hides -count from Ginkgo, which refuses to run when it is not 1, until undo is called: the testing package reads
// the flag again after each round.
func once() (undo func()) {
	f := flag.Lookup("test.count")
	if f == nil {
		return func() {}
	}
	was := f.Value.String()
	_ = f.Value.Set("1")
	return func() { _ = f.Value.Set(was) }
}
