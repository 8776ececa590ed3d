// Command mutation shows that the specs would notice: it switches a promise off in the code, runs the specs that are
// about it, and demands that every one of them fails. A spec that passes all the same proves nothing, and is named.
//
//	go run ./script/mutation [-quick] [-run NAME]
//
// With -quick, of a promise that takes minutes to be missed a few specs are run for all.
//
// The code is changed in an overlay of the build (go test -overlay): no file of the tree is touched, and no switch is in
// the product. A change that finds its place no more fails too. Exits 1 when a spec passed that should not have, and when a
// promise has no spec at all.
package main

import (
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
)

// mutant is a promise that is switched off, and who must notice.
type mutant struct {
	name, about string
	edits       []edit
	suites      []suiteRun
}

// edit puts a line first into a function, or replaces a text. The place must be there exactly once.
type edit struct{ file, place, first, instead string }

// suiteRun are the specs of a package, chosen by Ginkgo's focus, of which each must fail; quick is the focus of those that
// stand for all of them, "" if there is no need, and none if others stand for them.
type suiteRun struct{ pkg, focus, quick string }

const none = "none"

// verdict is what became of a suiteRun: the specs that passed, and how many failed.
type verdict struct {
	passed []string
	failed int
	err    error
}

func main() {
	only := flag.String("run", "", "the one mutant to try")
	quick := flag.Bool("quick", false, "run a few specs for all, where they take minutes")
	flag.Parse()
	failed := false
	for _, m := range mutants {
		if *only != "" && *only != m.name {
			continue
		}
		fmt.Printf("== %s: %s\n", m.name, m.about)
		if err := m.try(*quick); err != nil {
			failed = true
			fmt.Printf("FAILED: %s: %v\n", m.name, err)
		}
	}
	if failed {
		os.Exit(1)
	}
}

func (m mutant) try(quick bool) error {
	scratch, err := os.MkdirTemp("", "boombox-mutation-")
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(scratch) }()
	overlay, err := m.overlay(scratch)
	if err != nil {
		return err
	}
	// Side by side: most of their time they wait for what does not come.
	verdicts := make([]verdict, len(m.suites))
	var running sync.WaitGroup
	for i, s := range m.suites {
		if quick && s.quick != "" {
			s.focus = s.quick
		}
		if s.focus != none {
			running.Go(func() { verdicts[i] = s.run(filepath.Join(scratch, strconv.Itoa(i)+".json"), overlay) })
		}
	}
	running.Wait()
	var unnoticed []string
	for i, s := range m.suites {
		v := verdicts[i]
		switch {
		case quick && s.quick == none:
			continue
		case v.err != nil:
			return fmt.Errorf("%s: %w", s.pkg, v.err)
		case v.failed == 0 && len(v.passed) == 0:
			unnoticed = append(unnoticed, s.pkg+": no spec ran")
		}
		fmt.Printf("%-28s %3d noticed, %d did not\n", s.pkg, v.failed, len(v.passed))
		for _, text := range v.passed {
			unnoticed = append(unnoticed, s.pkg+": "+text)
		}
	}
	if len(unnoticed) > 0 {
		return fmt.Errorf("nothing noticed it in\n  %s", strings.Join(unnoticed, "\n  "))
	}
	return nil
}

// overlay writes the changed files and the list that go test reads.
func (m mutant) overlay(scratch string) (path string, err error) {
	texts := map[string]string{}
	for _, e := range m.edits {
		file, err := filepath.Abs(e.file)
		if err != nil {
			return "", err
		}
		if texts[file] == "" {
			b, err := os.ReadFile(file)
			if err != nil {
				return "", err
			}
			texts[file] = string(b)
		}
		if n := strings.Count(texts[file], e.place); n != 1 {
			return "", fmt.Errorf("%s: the place to change is there %d times: %s", e.file, n, e.place)
		}
		change := e.place + "\n\t" + e.first + "\n"
		if e.instead != "" {
			change = e.instead
		}
		texts[file] = strings.Replace(texts[file], e.place, change, 1)
	}
	var list struct{ Replace map[string]string }
	list.Replace = map[string]string{}
	for file, text := range texts {
		changed := filepath.Join(scratch, fmt.Sprintf("%d.go", len(list.Replace)))
		if err := os.WriteFile(changed, []byte(text), 0o600); err != nil {
			return "", err
		}
		list.Replace[file] = changed
	}
	b, err := json.Marshal(list)
	if err != nil {
		return "", err
	}
	path = filepath.Join(scratch, "overlay.json")
	return path, os.WriteFile(path, b, 0o600)
}

// report is what of Ginkgo's JSON report matters here.
type report []struct {
	SpecReports []struct {
		ContainerHierarchyTexts []string
		LeafNodeType            string
		LeafNodeText            string
		State                   string
	}
}

// run counts the chosen specs that failed and lists those that passed. What was skipped has noticed nothing, and is not
// asked to.
func (s suiteRun) run(out, overlay string) (v verdict) {
	// Of the tests of a package, the suite alone: an example would wait for what does not end any more.
	cmd := exec.Command("go", "test", "-count=1", "-run=^Test[A-Z][a-z]*$", s.pkg, "-ginkgo.focus="+s.focus,
		"-ginkgo.json-report="+out, "-ginkgo.no-color", "-ginkgo.succinct")
	// In the environment, so that what a suite builds by itself is changed too.
	cmd.Env = append(os.Environ(), "BOOMBOX_REQUIRE=", strings.TrimSpace("GOFLAGS="+os.Getenv("GOFLAGS")+" -overlay="+overlay))
	log, runErr := cmd.CombinedOutput()
	b, err := os.ReadFile(out)
	if err != nil {
		return verdict{err: fmt.Errorf("the suite did not run (%v):\n%s", runErr, log)}
	}
	var r report
	if err := json.Unmarshal(b, &r); err != nil {
		return verdict{err: err}
	}
	for _, suite := range r {
		for _, spec := range suite.SpecReports {
			switch {
			case spec.LeafNodeType != "It" || spec.State == "skipped" || spec.State == "pending":
			case spec.State == "passed":
				v.passed = append(v.passed, strings.Join(append(spec.ContainerHierarchyTexts, spec.LeafNodeText), " "))
			default:
				v.failed++
			}
		}
	}
	return v
}
