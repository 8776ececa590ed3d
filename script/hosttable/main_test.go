package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

const subreaper = `{"mechanism":"subreaper","guarantees":["kill-tree","kill-on-owner-death"],"mechanisms":[
{"mechanism":"cgroup2","available":false,"guarantees":["kill-tree","kill-fork-bomb","kill-on-owner-death"]},
{"mechanism":"subreaper","available":true,"guarantees":["kill-tree","kill-on-owner-death"]}]}`

// left makes a folder with what a host left.
func left(t *testing.T, files map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	for name, text := range files {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func TestHosts(t *testing.T) {
	results := "container\t10\t0\t2\t7\nskip\t2\tcontain: no cgroups\n"
	for _, test := range []struct {
		about, host             string
		files                   map[string]string
		passed, failed, skipped int
		wrong                   string
	}{
		{"what must be obtained", "container", map[string]string{"doctor.json": subreaper, "results": results}, 11, 0, 2, ""},
		{"a weaker mechanism", "user", map[string]string{"doctor.json": subreaper, "results": results}, 10, 1, 2, "holds by subreaper and not by cgroup2"},
		{"no machine", "user", map[string]string{"skipped": "it did not boot\n"}, 0, 0, 1, ""},
	} {
		h, _ := find(test.host)
		l, err := read(left(t, test.files), h)
		if err != nil {
			t.Fatal(test.about, err)
		}
		if l.passed != test.passed || l.failed != test.failed || l.skipped != test.skipped {
			t.Errorf("%s: %d passed, %d failed, %d skipped", test.about, l.passed, l.failed, l.skipped)
		}
		if !strings.Contains(strings.Join(l.wrong, "\n"), test.wrong) || test.wrong == "" && len(l.wrong) > 0 {
			t.Errorf("%s: wrong: %q", test.about, l.wrong)
		}
		var out bytes.Buffer
		writeText(&out, []line{l})
		writeMarkdown(&out, []line{l}, true)
		writeResults(&out, []line{l})
		for _, reason := range l.reasons {
			if _, what, _ := strings.Cut(reason, "x "); strings.Count(out.String(), what) != 3 {
				t.Errorf("%s: a reason is not in every table:\n%s", test.about, out.String())
			}
		}
	}
}
