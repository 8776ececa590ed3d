package runner

import (
	"context"
	"errors"
	"os"
	"reflect"
	"slices"

	"github.com/boombox-go/boombox/contain"
)

// Detach starts cmd and lets go of it. It gives up everything that a [Runner] promises: the process and its descendants
// are held by nothing and outlive this program, its output goes to the null device, how it ends is not told, and no double
// and no cassette can stand for it. It is for a daemon that is meant to stay. What it returns is the process id, and the
// start time where the system tells it, which together name the process for good.
//
// The child leads a session of its own, where there are sessions. A closed input and a file are all that it can read. Of
// the fields of cmd, Dir, Env, Arg0 and NewSession are honoured. Any other that is set is refused with an
// [*UnsupportedError] before anything starts: nobody is there to keep to a Timeout, a limit or a guarantee.
func Detach(ctx context.Context, cmd *Cmd) (contain.Member, error) {
	if ctx.Err() != nil {
		return contain.Member{}, NotStarted(ctx, cmd)
	}
	if err := cmd.Validate(); err != nil {
		return contain.Member{}, err
	}
	if field := cmd.held(); field != "" {
		return contain.Member{}, &UnsupportedError{Program: cmd.program, Field: field, Reason: "a detached start gives it up"}
	}
	spec, err := cmd.spec()
	if err != nil {
		return contain.Member{}, err
	}
	l := launch{cmd: cmd}
	if src := cmd.Stdin.source(); src.kind == StdinFile {
		if spec.Stdin, err = os.Open(src.path); err != nil {
			return contain.Member{}, cmd.failed(StartBadStdin, err)
		}
		defer func() { _ = spec.Stdin.Close() }()
	}
	m, err := contain.Detach(ctx, spec)
	switch {
	case err == nil:
		return m, nil
	case ctx.Err() != nil && errors.Is(err, context.Cause(ctx)):
		return contain.Member{}, NotStarted(ctx, cmd)
	default:
		return contain.Member{}, l.refused(err, spec.Path)
	}
}

// held is the first field that takes somebody who holds the child, "" when none is set. A field that is new here is held
// until somebody says otherwise.
func (c *Cmd) held() string {
	free := []string{"Dir", "Env", "Arg0", "NewSession"}
	v := reflect.ValueOf(*c)
	for i, f := range reflect.VisibleFields(v.Type()) {
		if !f.IsExported() || slices.Contains(free, f.Name) || v.Field(i).IsZero() {
			continue
		}
		if kind := c.Stdin.Kind(); f.Name == "Stdin" && (kind == StdinClosed || kind == StdinFile) {
			continue
		}
		return f.Name
	}
	return ""
}
