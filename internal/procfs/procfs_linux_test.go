package procfs

import (
	"errors"
	"os"
	"testing"

	"github.com/boombox-go/boombox/fixtures"
)

func TestMain(m *testing.M) {
	fixtures.Dispatch()
	os.Exit(m.Run())
}

func TestCarryingFindsAndEnds(t *testing.T) {
	const entry = "BOOMBOX_PROCFS_TEST=a b"
	argv := fixtures.Argv("sleep", "quiet")
	p, err := os.StartProcess(argv[0], argv, &os.ProcAttr{Env: append(os.Environ(), entry)})
	if err != nil {
		t.Fatal(err)
	}
	m, err := Look(p.Pid)
	if err != nil || m.PID != p.Pid || m.Parent != os.Getpid() || m.Start == 0 || !m.Alive() {
		t.Fatalf("%v %v", m, err)
	}
	found, err := Carrying(entry)
	if err != nil || len(found) != 1 || found[0].PID != p.Pid {
		t.Fatalf("%v %v", found, err)
	}
	if other, err := Carrying("BOOMBOX_PROCFS_TEST=a"); err != nil || len(other) != 0 {
		t.Fatalf("%v %v", other, err)
	}
	if err := End(m, "BOOMBOX_PROCFS_TEST=a"); !errors.Is(err, os.ErrProcessDone) {
		t.Fatalf("a stranger was hit: %v", err)
	}
	if err := End(m, entry); err != nil {
		t.Fatal(err)
	}
	if _, err := p.Wait(); err != nil {
		t.Fatal(err)
	}
	if _, err := Look(p.Pid); !errors.Is(err, os.ErrProcessDone) {
		t.Fatal(err)
	}
}

func FuzzParseStat(f *testing.F) {
	f.Add([]byte("1 (a) b)) S 0 1 1 0 -1 4194560 1 1 1 1 1 1 1 1 20 0 1 0 42 1 1"))
	f.Add([]byte("1 ("))
	f.Add([]byte(") 1 ("))
	f.Fuzz(func(t *testing.T, line []byte) {
		m, err := parseStat(line)
		if err == nil && (m.PID < 0 || m.Parent < 0) {
			t.Fatal(m)
		}
	})
}

// Where a start returns, the new program's memory is there, and what is in it may not be.
func TestCarryingFindsWhoHasJustStarted(t *testing.T) {
	const entry = "BOOMBOX_PROCFS_TEST=newborn"
	argv := fixtures.Argv("sleep", "quiet")
	for range 300 {
		p, err := os.StartProcess(argv[0], argv, &os.ProcAttr{Env: append(os.Environ(), entry)})
		if err != nil {
			t.Fatal(err)
		}
		found, err := Carrying(entry)
		if err := p.Kill(); err != nil {
			t.Fatal(err)
		}
		if _, err := p.Wait(); err != nil {
			t.Fatal(err)
		}
		if err != nil || len(found) != 1 || found[0].PID != p.Pid {
			t.Fatalf("%v %v", found, err)
		}
	}
}
