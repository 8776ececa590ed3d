package contain

import (
	"context"
	"encoding/binary"
	"errors"
	"os"
	"slices"
	"strconv"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// startIn starts spec in p, by way of a stage if it takes one.
func startIn(ctx context.Context, p place, spec Spec) (tree, error) {
	if !spec.needsStage(p) {
		return p.start(ctx, spec)
	}
	s, err := newStage(spec)
	if err != nil {
		return nil, &StartError{Step: StepConfine, Err: bare(err)}
	}
	defer s.close()
	if kept, ok := p.(*keptPlace); ok {
		s.shielded = kept.mechanism.shields
	}
	t, err := p.start(ctx, s.spec())
	s.letGo() // so that the end of the stage is heard
	if err == nil {
		err = s.conduct(ctx)
	}
	return t, err
}

// needsStage reports whether somebody must act between the birth of the child and its program. A plain start costs
// nothing of it, and where the forking thread is ours what [spawn] does on it is enough for some.
func (s Spec) needsStage(p place) bool {
	_, kept := p.(*keptPlace)
	return kept && (s.NoNewPrivileges || s.NoCoreDumps) || slices.ContainsFunc(s.knobs(), func(f field) bool { return f.set })
}

// stage is a stage as its owner sees it.
type stage struct {
	wanted Spec
	// shielded: see shield. A pid namespace keeps its keeper out of reach by itself.
	shielded bool
	link     link
	theirs   *os.File // the stage's end, nil when it has it
	null     *os.File
	files    []*os.File
}

// The steps in the order in which a stage takes them; it names one by its index. The first is no step: it says that only
// the exec is left.
var stageSteps = []StartStep{
	"", StepStage, StepOOMScore, StepNice, StepIOPriority, StepAffinity, StepRlimits, StepConfine, StepGroups, StepGroup, StepUser,
	StepDir, StepExec,
}

const (
	// messageOrder: what to become. messageStep: the index of a step and an error number.
	messageOrder = 'o'
	messageStep  = 'S'
	stepBody     = 5
)

func newStage(spec Spec) (*stage, error) {
	files, null, err := spec.descriptors()
	if err != nil {
		return nil, err
	}
	ours, theirs, err := helperSockets(true)
	if err != nil {
		if null != nil {
			_ = null.Close()
		}
		return nil, err
	}
	return &stage{wanted: spec, files: files, null: null, link: ours, theirs: theirs}, nil
}

// spec is what is started in the place of what is wanted. What it prints when it cannot begin is nobody's output; it
// learns what it is to become when it is there, so that none of it shows in its arguments.
func (s *stage) spec() Spec {
	return Spec{
		Path: "/proc/self/exe", Argv: Seal(helperName, roleStage, strconv.Itoa(len(s.files))),
		Env:        Seal("GOMAXPROCS=1", "GOTRACEBACK=none"),
		Files:      append([]*os.File{s.theirs}, s.files...),
		NewSession: s.wanted.NewSession || s.wanted.Terminal,
	}
}

func (s *stage) letGo() {
	if s.theirs != nil {
		_ = s.theirs.Close()
		s.theirs = nil
	}
}

func (s *stage) close() {
	s.letGo()
	if s.null != nil {
		_ = s.null.Close()
	}
	_ = s.link.file.Close()
}

var errStageDied = errors.New("the helper program that prepares the start has died; caps on processes or memory may leave it no room")

// conduct tells the stage what to become, and returns when it has become that. The kernel closes the socket then.
func (s *stage) conduct(ctx context.Context) error {
	stop := context.AfterFunc(ctx, func() { _ = s.link.file.SetDeadline(time.Unix(1, 0)) })
	defer stop()
	err := s.link.send(message{kind: messageOrder, body: packStage(s.wanted, s.shielded)})
	for ready := false; err == nil; {
		var m message
		switch m, err = s.link.receive(); {
		case errors.Is(err, errHangUp) && ready:
			return nil
		case err != nil:
		case m.kind != messageStep || len(m.body) != stepBody || int(m.body[0]) >= len(stageSteps):
			closeAll(m.files)
			err = errMalformed
		case m.body[0] == 0:
			ready = true
		default:
			return &StartError{Step: stageSteps[m.body[0]], Err: syscall.Errno(binary.LittleEndian.Uint32(m.body[1:]))}
		}
	}
	switch {
	case ctx.Err() != nil:
		return ctx.Err()
	case errors.Is(err, unix.E2BIG):
		return &StartError{Step: StepExec, Err: unix.E2BIG}
	default:
		return &StartError{Step: StepStage, Err: errStageDied}
	}
}
