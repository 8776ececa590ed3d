// Command testcount reads what go test -json writes, shows one line for each package and the whole output of those that
// fail, and counts: Ginkgo specs by the line that each suite ends with ("contain: 41 passed, 0 failed, 2 skipped"),
// and every other test one by one. It exits 1 when anything failed, and when nothing was counted.
//
//	go test -json ./... | go run ./script/testcount LABEL RESULTS
//
// It appends to the file RESULTS one line for the whole, "LABEL <tab> passed <tab> failed <tab> skipped <tab> seconds",
// one for each reason of a skip, "skip <tab> count <tab> suite: reason", and for each failure what its report begins with,
// "fail <tab> line": who sees but the end of a long log sees that.
package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
)

func main() {
	if len(os.Args) != 3 {
		fmt.Fprintln(os.Stderr, "usage: go test -json ./... | testcount LABEL RESULTS")
		os.Exit(2)
	}
	began := time.Now()
	r := newReader(os.Stdout)
	if err := r.read(os.Stdin); err != nil {
		fmt.Fprintln(os.Stderr, "testcount:", err)
		os.Exit(1)
	}
	total, reasons := r.total()
	if err := record(os.Args[2], os.Args[1], total, reasons, r.failures(), time.Since(began)); err != nil {
		fmt.Fprintln(os.Stderr, "testcount:", err)
		os.Exit(1)
	}
	if total.failed > 0 || total.passed == 0 {
		os.Exit(1)
	}
}

func record(file, label string, total counts, reasons map[string]int, failures []string, took time.Duration) error {
	f, err := os.OpenFile(file, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o644)
	if err != nil {
		return err
	}
	fmt.Fprintf(f, "%s\t%d\t%d\t%d\t%.0f\n", label, total.passed, total.failed, total.skipped, took.Seconds())
	for _, reason := range slices.Sorted(maps.Keys(reasons)) {
		fmt.Fprintf(f, "skip\t%d\t%s\n", reasons[reason], reason)
	}
	for _, line := range failures {
		fmt.Fprintf(f, "fail\t%s\n", line)
	}
	return f.Close()
}

// event is one line of go test -json.
type event struct {
	Action, Package, Test, Output, ImportPath string
	Elapsed                                   float64
}

type counts struct{ passed, failed, skipped int }

func (c *counts) add(o counts) {
	c.passed += o.passed
	c.failed += o.failed
	c.skipped += o.skipped
}

// reader gathers the events of a run.
type reader struct {
	to       io.Writer
	packages map[string]*pkg
	builds   strings.Builder // what the compiler said
}

// pkg is what is known of one package.
type pkg struct {
	output  strings.Builder
	tests   map[string]*test
	reasons map[string]int
	failed  []string // what the reports of failures begin with
	report  int      // how much more of the report that is being read is kept
	done    counts
	over    bool
}

// reportLines is how much of the report of one failure is kept, in lines.
const reportLines = 30

// test is one test function or subtest.
type test struct {
	suites  []counts // of the suites' closing lines, one for each repetition
	results counts
	parent  bool
	said    string // the last thing that it logged
}

func newReader(to io.Writer) *reader { return &reader{to: to, packages: map[string]*pkg{}} }

func (r *reader) read(from io.Reader) error {
	lines := bufio.NewReader(from)
	for {
		line, err := lines.ReadBytes('\n')
		if len(line) > 0 {
			var e event
			if json.Unmarshal(line, &e) != nil {
				fmt.Fprint(r.to, string(line)) // what go itself says
			} else {
				r.take(e)
			}
		}
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return err
		}
	}
}

var (
	suiteLine = regexp.MustCompile(`^\S+: (\d+) passed, (\d+) failed, (\d+) skipped\n$`)
	skipLine  = regexp.MustCompile(`^(\S+): skipped (\d+): (.*)\n$`)
	failLine  = regexp.MustCompile(`^(• )?(\S )?\[(FAILED|PANICKED|TIMEDOUT|INTERRUPTED|ABORTED)\S*\] \[\S+ seconds\]\n$`)
	endLine   = regexp.MustCompile(`^-{10,}\n$`)
	logLine   = regexp.MustCompile(`^\s+\S+\.go:\d+: (.*)\n$`)
)

func (r *reader) take(e event) {
	if e.Action == "build-output" {
		r.builds.WriteString(e.Output)
		return
	}
	if e.Package == "" {
		return
	}
	p := r.packages[e.Package]
	if p == nil {
		p = &pkg{tests: map[string]*test{}, reasons: map[string]int{}}
		r.packages[e.Package] = p
	}
	if e.Test == "" {
		if e.Action == "output" {
			p.output.WriteString(e.Output)
		}
		r.finish(e, p)
		return
	}
	p.take(e)
}

func (p *pkg) take(e event) {
	t := p.tests[e.Test]
	if t == nil {
		t = &test{}
		p.tests[e.Test] = t
	}
	if cut := strings.LastIndexByte(e.Test, '/'); cut >= 0 {
		if parent := p.tests[e.Test[:cut]]; parent != nil {
			parent.parent = true
		}
	}
	switch e.Action {
	case "output":
		p.output.WriteString(e.Output)
		if m := suiteLine.FindStringSubmatch(e.Output); m != nil {
			t.suites = append(t.suites, counts{number(m[1]), number(m[2]), number(m[3])})
		}
		if m := skipLine.FindStringSubmatch(e.Output); m != nil {
			p.reasons[m[1]+": "+m[3]] += number(m[2])
		}
		p.follow(e.Output)
		if m := logLine.FindStringSubmatch(e.Output); m != nil {
			t.said = m[1]
		}
	case "pass":
		t.results.passed++
	case "fail":
		t.results.failed++
		p.failed = append(p.failed, "--- FAIL: "+e.Test)
	case "skip":
		t.results.skipped++
		if len(t.suites) == 0 && !t.parent {
			p.reasons[e.Test+": "+t.said]++
		}
	}
}

// follow keeps what Ginkgo's reports of failures begin with.
func (p *pkg) follow(line string) {
	switch {
	case failLine.MatchString(line):
		p.report = reportLines
	case endLine.MatchString(line):
		p.report = 0
	}
	if p.report > 0 {
		p.report--
		p.failed = append(p.failed, strings.TrimRight(line, "\n"))
	}
}

func number(s string) int {
	n, _ := strconv.Atoi(s)
	return n
}

// finish sums a package up when it is over.
func (r *reader) finish(e event, p *pkg) {
	if e.Action != "pass" && e.Action != "fail" && e.Action != "skip" {
		return
	}
	if p.over {
		if e.Action != "fail" || p.done.failed > 0 {
			return
		}
		p.done = counts{} // it failed after all
	}
	p.over = true
	for _, t := range p.tests {
		switch {
		case len(t.suites) > 0:
			var specs counts
			for _, s := range t.suites {
				specs.add(s)
			}
			specs.failed = max(specs.failed, t.results.failed)
			p.done.add(specs)
		case !t.parent:
			p.done.add(t.results)
			if t.results == (counts{}) { // it never ended: a crash, or the timeout of the whole run
				p.done.failed++
			}
		}
	}
	if e.Action == "fail" && p.done.failed == 0 {
		p.done.failed = 1 // it did not build, or it failed outside a test
	}
	name := e.Package
	if e.Action == "skip" && len(p.tests) == 0 {
		return // no test files
	}
	if p.done.failed > 0 {
		fmt.Fprint(r.to, r.builds.String())
		r.builds.Reset()
		fmt.Fprint(r.to, p.output.String())
	}
	fmt.Fprintf(r.to, "%-50s %5d passed %3d failed %3d skipped %7.1fs\n", name, p.done.passed, p.done.failed, p.done.skipped, e.Elapsed)
}

// failures are the failures of all packages, in their order.
func (r *reader) failures() (lines []string) {
	for _, name := range slices.Sorted(maps.Keys(r.packages)) {
		lines = append(lines, r.packages[name].failed...)
	}
	return lines
}

func (r *reader) total() (counts, map[string]int) {
	var all counts
	reasons := map[string]int{}
	for _, p := range r.packages {
		all.add(p.done)
		for reason, n := range p.reasons {
			reasons[reason] += n
		}
	}
	if r.builds.Len() > 0 { // nobody's package
		fmt.Fprint(r.to, r.builds.String())
	}
	return all, reasons
}
