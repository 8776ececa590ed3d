package gitinfo_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/onsi/gomega"

	"github.com/boombox-go/boombox/cassette"
	"github.com/boombox-go/boombox/examples/gitinfo"
	"github.com/boombox-go/boombox/fake"
	. "github.com/boombox-go/boombox/matchers"
	"github.com/boombox-go/boombox/runner"
)

// The test replays testdata/cassettes/TestSubject-....cassette and starts no process. Record it anew with
//
//	BOOMBOX_CASSETTE=record go test -count=1 -run '^TestSubject$'
func TestSubject(t *testing.T) {
	dir := t.TempDir()
	// The directory is another one each time: the cassette has a token in its place.
	deck := cassette.ForTest(t, cassette.WithToken("repo", dir))
	git := gitinfo.Git{Runner: deck, Dir: dir}

	setup(t, deck, dir, "init", "-q")
	if _, err := git.Subject(t.Context()); !errors.Is(err, gitinfo.ErrNoCommit) {
		t.Fatalf("want ErrNoCommit, got %v", err)
	}
	setup(t, deck, dir, "-c", "user.name=Ada", "-c", "user.email=ada@example.com", "commit", "-q", "--allow-empty", "-m", "first")
	subject, err := git.Subject(t.Context())
	if err != nil || subject != "first" {
		t.Fatalf("%q, %v", subject, err)
	}
}

func TestClean(t *testing.T) {
	dir := t.TempDir()
	deck := cassette.ForTest(t, cassette.WithToken("repo", dir))
	git := gitinfo.Git{Runner: deck, Dir: dir}

	setup(t, deck, dir, "init", "-q")
	if clean, err := git.Clean(t.Context()); err != nil || !clean {
		t.Fatalf("%v, %v", clean, err)
	}
	if err := os.WriteFile(filepath.Join(dir, "file"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if clean, err := git.Clean(t.Context()); err != nil || clean {
		t.Fatalf("%v, %v", clean, err)
	}
}

// What git will not do on request is a stub.
func TestSubjectOfABrokenCopy(t *testing.T) {
	r := fake.New(t) // fails the test on a call that it does not expect, and on a stub that nobody asked for
	r.On("git", "log").Reply(fake.Stderr("fatal: bad object HEAD\n"), fake.Exit(1))

	_, err := gitinfo.Git{Runner: r}.Subject(t.Context())
	g := gomega.NewWithT(t)
	g.Expect(err).To(MatchResult(ResultFields{Exit: 1, Stderr: gomega.ContainSubstring("bad object")}))
	g.Expect(r.Calls()).To(gomega.HaveLen(1))
	g.Expect(r.Calls()[0].Argv()).To(gomega.Equal([]string{"git", "log", "-1", "--format=%s"}))
}

// Code that is cancelled must say so.
func TestSubjectIsCancelled(t *testing.T) {
	r := fake.New(t)
	r.On("git").Reply(fake.Pending())
	cause := errors.New("shutting down")
	ctx, cancel := context.WithCancelCause(t.Context())
	time.AfterFunc(10*time.Millisecond, func() { cancel(cause) })

	_, err := gitinfo.Git{Runner: r}.Subject(ctx)
	gomega.NewWithT(t).Expect(err).To(HaveBeenCancelled(cause))
}

// setup runs git as the test itself needs it.
func setup(t *testing.T, r runner.Runner, dir string, args ...string) {
	t.Helper()
	cmd := runner.Command("git", args...)
	cmd.Dir = dir
	res, err := runner.Run(t.Context(), r, cmd)
	g := gomega.NewWithT(t)
	g.Expect(err).NotTo(gomega.HaveOccurred())
	g.Expect(res).To(HaveSucceeded())
}
