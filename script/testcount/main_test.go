package main

import (
	"io"
	"maps"
	"slices"
	"strings"
	"testing"
)

// What the tests of a package said, with a suite of two specs in one of them.
const said = `{"Action":"output","Package":"p","Test":"TestSuite","Output":"p: skipped 1: no such host\n"}
{"Action":"output","Package":"p","Test":"TestSuite","Output":"p: 1 passed, 0 failed, 1 skipped\n"}
{"Action":"pass","Package":"p","Test":"TestSuite"}
{"Action":"run","Package":"p","Test":"TestPlain"}
{"Action":"run","Package":"p","Test":"TestPlain/sub"}
{"Action":"output","Package":"p","Test":"TestPlain/sub","Output":"    p_test.go:7: no shell\n"}
{"Action":"skip","Package":"p","Test":"TestPlain/sub"}
{"Action":"skip","Package":"p","Test":"TestPlain"}
{"Action":"run","Package":"p","Test":"TestCrash"}
{"Action":"fail","Package":"p"}
`

func TestCounts(t *testing.T) {
	r := newReader(io.Discard)
	if err := r.read(strings.NewReader(said)); err != nil {
		t.Fatal(err)
	}
	total, reasons := r.total()
	if want := (counts{passed: 1, failed: 1, skipped: 2}); total != want {
		t.Errorf("counted %+v, want %+v", total, want)
	}
	if want := map[string]int{"p: no such host": 1, "TestPlain/sub: no shell": 1}; !maps.Equal(reasons, want) {
		t.Errorf("reasons %v, want %v", reasons, want)
	}
}

// What a suite says of a spec that failed, event by event.
const failing = `{"Action":"output","Package":"p","Test":"TestSuite","Output":"•••\n"}
{"Action":"output","Package":"p","Test":"TestSuite","Output":"------------------------------\n"}
{"Action":"output","Package":"p","Test":"TestSuite","Output":"• [FAILED] [0.012 seconds]\n"}
{"Action":"output","Package":"p","Test":"TestSuite","Output":"a box [It] holds\n"}
{"Action":"output","Package":"p","Test":"TestSuite","Output":"p_test.go:7\n"}
{"Action":"output","Package":"p","Test":"TestSuite","Output":"------------------------------\n"}
{"Action":"output","Package":"p","Test":"TestSuite","Output":"•• \n"}
{"Action":"output","Package":"p","Test":"TestSuite","Output":"p: 5 passed, 1 failed, 0 skipped\n"}
{"Action":"fail","Package":"p","Test":"TestSuite"}
{"Action":"fail","Package":"p"}
`

func TestFailures(t *testing.T) {
	r := newReader(io.Discard)
	if err := r.read(strings.NewReader(failing)); err != nil {
		t.Fatal(err)
	}
	if total, _ := r.total(); total != (counts{passed: 5, failed: 1}) {
		t.Errorf("counted %+v", total)
	}
	want := []string{"• [FAILED] [0.012 seconds]", "a box [It] holds", "p_test.go:7", "--- FAIL: TestSuite"}
	if got := r.failures(); !slices.Equal(got, want) {
		t.Errorf("failures %q, want %q", got, want)
	}
	r = newReader(io.Discard)
	if err := r.read(strings.NewReader(said)); err != nil {
		t.Fatal(err)
	}
	if got := r.failures(); len(got) != 0 {
		t.Errorf("failures %q of a package that has none reported", got)
	}
}
