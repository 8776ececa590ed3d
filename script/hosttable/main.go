// Command hosttable says what became of the suites on the hosts of script/test-on, and fails where a host did not obtain what
// it must: a host that silently falls to a weaker mechanism is a failure, however many specs passed there.
//
//	go run ./script/hosttable [-markdown|-results] FOLDER HOST...
//	go run ./script/hosttable -require HOST
//
// FOLDER has a folder for each host: "doctor.json" is what boombox doctor --json said there, "results" what testcount wrote,
// and "skipped" the reason why there is neither. The second form prints the guarantees that the host must have, as
// BOOMBOX_REQUIRE takes them.
//
// It ends with a line "N passed, N failed, N skipped", to which each host's own check adds one. Exits 1 when anything failed,
// and when nothing was counted.
package main

import (
	"bufio"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// host is a kind of host, and what must be obtained there.
type host struct {
	name, stands string
	// mechanism is what New takes, and resisting what it takes when resist-same-uid is required; "" for whatever it is.
	mechanism, resisting string
	require              []string
}

const (
	leaf   = "cgroup2"
	both   = "cgroup2+pid-namespace"
	reaper = "subreaper"
)

var (
	tree     = []string{"kill-tree", "kill-on-owner-death"}
	forkBomb = append([]string{"kill-fork-bomb"}, tree...)
	resist   = append([]string{"resist-same-uid"}, forkBomb...)
	all      = append([]string{"cap-memory", "cap-processes", "cap-cpu"}, resist...)
)

var hosts = []host{
	{name: "here", stands: "the machine that runs the script"}, // whatever it is
	{name: "cgroup-root", stands: "a minimal system, a virtual machine's init", mechanism: leaf, resisting: both, require: all},
	{name: "service", stands: "a CI agent: a root unit of systemd, nothing delegated", mechanism: leaf, resisting: both, require: resist},
	{name: "user", stands: "a developer's laptop: a scope of the user's own systemd", mechanism: leaf, resisting: both, require: all},
	{name: "login", stands: "a plain login session of an unprivileged user", require: resist},
	{name: "container", stands: "docker run with its defaults", mechanism: reaper, require: tree},
	{name: "bare-user", stands: "a hosted CI runner: an unprivileged user, nothing else", mechanism: reaper, require: tree},
}

// doctor is what of boombox doctor --json matters here.
type doctor struct {
	Mechanism  string
	Guarantees []string
	Mechanisms []struct {
		Mechanism  string
		Available  bool
		OnRequest  bool `json:"on_request"` // and so not what New takes
		Guarantees []string
	}
}

// resisting is the mechanism that is taken when resist-same-uid is required, "" for none.
func (d doctor) resisting() string {
	for _, m := range d.Mechanisms {
		if m.Available && !m.OnRequest && slices.Contains(m.Guarantees, "resist-same-uid") {
			return m.Mechanism
		}
	}
	return ""
}

// has reports whether some mechanism of the host gives a guarantee.
func (d doctor) has(guarantee string) bool {
	for _, m := range d.Mechanisms {
		if m.Available && !m.OnRequest && slices.Contains(m.Guarantees, guarantee) {
			return true
		}
	}
	return false
}

// judge lists what the host did not obtain.
func (h host) judge(d doctor) (wrong []string) {
	if h.mechanism != "" && d.Mechanism != h.mechanism {
		wrong = append(wrong, fmt.Sprintf("holds by %s and not by %s", d.Mechanism, h.mechanism))
	}
	if h.resisting != "" && d.resisting() != h.resisting {
		wrong = append(wrong, fmt.Sprintf("resists by %q and not by %s", d.resisting(), h.resisting))
	}
	for _, g := range h.require {
		if !d.has(g) {
			wrong = append(wrong, "has no "+g)
		}
	}
	return wrong
}

// line is what became of one host.
type line struct {
	host
	doctor
	passed, failed, skipped, seconds int
	reasons, wrong, failures         []string
}

func main() {
	markdown := flag.Bool("markdown", false, "write the table as Markdown")
	quick := flag.Bool("quick", false, "say that it was the quick form")
	results := flag.Bool("results", false, "write what testcount writes")
	require := flag.String("require", "", "print what the `HOST` must have")
	flag.Parse()
	if *require != "" {
		h, ok := find(*require)
		if !ok {
			fail(fmt.Errorf("no host %q", *require))
		}
		fmt.Println(strings.Join(h.require, ","))
		return
	}
	if flag.NArg() < 2 {
		fail(fmt.Errorf("usage: hosttable [-markdown] FOLDER HOST..."))
	}
	var lines []line
	for _, name := range flag.Args()[1:] {
		h, ok := find(name)
		if !ok {
			fail(fmt.Errorf("no host %q", name))
		}
		l, err := read(filepath.Join(flag.Arg(0), name), h)
		if err != nil {
			fail(err)
		}
		lines = append(lines, l)
	}
	switch {
	case *markdown:
		writeMarkdown(os.Stdout, lines, *quick)
	case *results:
		writeResults(os.Stdout, lines)
	default:
		writeText(os.Stdout, lines)
	}
	total := sum(lines)
	if total.failed > 0 || total.passed == 0 && total.skipped == 0 {
		os.Exit(1)
	}
}

func fail(err error) {
	fmt.Fprintln(os.Stderr, "hosttable:", err)
	os.Exit(2)
}

func find(name string) (host, bool) {
	i := slices.IndexFunc(hosts, func(h host) bool { return h.name == name })
	if i < 0 {
		return host{}, false
	}
	return hosts[i], true
}

// read reads what a host left in its folder.
func read(dir string, h host) (line, error) {
	l := line{host: h}
	if why, err := os.ReadFile(filepath.Join(dir, "skipped")); err == nil {
		l.skipped = 1
		l.reasons = []string{"1x the host itself: " + strings.TrimSpace(string(why))}
		return l, nil
	}
	text, err := os.ReadFile(filepath.Join(dir, "doctor.json"))
	if err != nil {
		return l, err
	}
	if err := json.Unmarshal(text, &l.doctor); err != nil {
		return l, fmt.Errorf("%s: %w", h.name, err)
	}
	if l.wrong = h.judge(l.doctor); len(l.wrong) > 0 {
		l.failed++
	} else {
		l.passed++
	}
	f, err := os.Open(filepath.Join(dir, "results"))
	if err != nil {
		return l, err
	}
	defer f.Close()
	for s := bufio.NewScanner(f); s.Scan(); {
		fields := strings.Split(s.Text(), "\t")
		switch {
		case fields[0] == "skip" && len(fields) == 3:
			l.reasons = append(l.reasons, fields[1]+"x "+fields[2])
		case fields[0] == "fail":
			l.failures = append(l.failures, strings.Join(fields[1:], "\t"))
		case len(fields) == 5:
			l.passed += number(fields[1])
			l.failed += number(fields[2])
			l.skipped += number(fields[3])
			l.seconds += number(fields[4])
		}
	}
	return l, nil
}

func number(s string) int {
	n, _ := strconv.Atoi(s)
	return n
}

func sum(lines []line) (total line) {
	for _, l := range lines {
		total.passed += l.passed
		total.failed += l.failed
		total.skipped += l.skipped
	}
	return total
}

func or(s, other string) string {
	if s == "" {
		return other
	}
	return s
}

// writeResults writes what script/test sums up.
func writeResults(w io.Writer, lines []line) {
	for _, l := range lines {
		fmt.Fprintf(w, "host %s: %s\t%d\t%d\t%d\t%d\n", l.name, or(l.Mechanism, "not run"), l.passed, l.failed, l.skipped, l.seconds)
		for _, reason := range l.reasons {
			count, what, _ := strings.Cut(reason, "x ")
			fmt.Fprintf(w, "skip\t%s\t%s: %s\n", count, l.name, what)
		}
		for _, wrong := range l.wrong {
			fmt.Fprintf(w, "fail\t%s: it %s\n", l.name, wrong)
		}
		for _, failure := range l.failures {
			fmt.Fprintf(w, "fail\t%s: %s\n", l.name, failure)
		}
	}
}

// writeText writes the table for a terminal.
func writeText(w io.Writer, lines []line) {
	for _, l := range lines {
		fmt.Fprintf(w, "%-12s %-14s %-22s %5d passed %4d failed %4d skipped %5ds  %s\n", l.name, or(l.Mechanism, "-"),
			or(l.doctor.resisting(), "-"), l.passed, l.failed, l.skipped, l.seconds, or(strings.Join(l.Guarantees, ","), "none"))
	}
	for _, l := range lines {
		for _, wrong := range l.wrong {
			fmt.Fprintf(w, "%-12s FAILED: it %s\n", l.name, wrong)
		}
		for _, reason := range l.reasons {
			fmt.Fprintf(w, "%-12s skipped %s\n", l.name, reason)
		}
	}
	total := sum(lines)
	fmt.Fprintf(w, "%d passed, %d failed, %d skipped\n", total.passed, total.failed, total.skipped)
}

// writeMarkdown writes docs/hosts.md.
func writeMarkdown(w io.Writer, lines []line, quick bool) {
	command := "script/test-on --write"
	if quick {
		command = "script/test-on --quick --write"
	}
	fmt.Fprint(w, `# What is obtained where

Written by `+"`"+command+" all`"+`, which runs the suites on each kind of host and fails where one holds by less than it
must. "Holds by" is what a run gets that asks for nothing, with its guarantees; "resists by" what it gets that asks for
`+"`resist-same-uid`"+`. See `+"`script/test-on`"+` for how each host is made, and `+"`corpus_linux_test.go`"+` for what is tried there.

| host | stands for | holds by | resists by | passed | failed | skipped |
|---|---|---|---|---|---|---|
`)
	for _, l := range lines {
		fmt.Fprintf(w, "| `%s` | %s | %s | %s | %d | %d | %d |\n", l.name, l.stands, or(l.Mechanism, "-"), or(l.doctor.resisting(), "-"),
			l.passed, l.failed, l.skipped)
	}
	fmt.Fprint(w, "\n## Guarantees\n\nThe most that some mechanism of the host gives.\n\n| host |")
	for _, g := range all {
		fmt.Fprintf(w, " %s |", g)
	}
	fmt.Fprint(w, "\n|---|"+strings.Repeat("---|", len(all))+"\n")
	for _, l := range lines {
		fmt.Fprintf(w, "| `%s` |", l.name)
		for _, g := range all {
			answer := "no"
			switch {
			case l.Mechanism == "":
				answer = "not run"
			case l.has(g):
				answer = "yes"
			}
			fmt.Fprintf(w, " %s |", answer)
		}
		fmt.Fprintln(w)
	}
	fmt.Fprint(w, "\n## What was skipped, and why\n")
	for _, l := range lines {
		if len(l.reasons)+len(l.wrong) == 0 {
			continue
		}
		fmt.Fprintf(w, "\n`%s`:\n\n", l.name)
		for _, wrong := range l.wrong {
			fmt.Fprintf(w, "- FAILED: it %s\n", wrong)
		}
		for _, reason := range l.reasons {
			fmt.Fprintf(w, "- %s\n", reason)
		}
	}
}
