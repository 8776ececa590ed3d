package matchers

import (
	"bytes"
	"errors"
	"fmt"
	"regexp"

	"github.com/boombox-go/boombox/internal/plaintext"
	"github.com/boombox-go/boombox/runner"
)

// HaveOutputInOrder matches a run whose output has these pieces one behind the other, whatever is between them: strings,
// []byte, and [*regexp.Regexp], each looked for behind the end of the one before. Two pipes have no order between them:
// a run that wrote to both streams, captured apart, is an error in both directions. Capture it with Cmd.Output.Merge,
// which makes them one.
//
//	cmd.Output.Merge = true
//	Expect(runner.Run(ctx, r, cmd)).To(HaveOutputInOrder("loading", "warning: ", "ready"))
//
// Its messages show output as those of [HaveStdout] do.
func HaveOutputInOrder(v ...any) *StreamMatcher {
	test, err := newOrderTest("HaveOutputInOrder", v)
	m := haveStream("HaveOutputInOrder", stdout, test, err)
	m.before = func(r *runner.Result) error {
		if r.StdoutTotal() > 0 && r.StderrTotal() > 0 {
			return errors.New("matchers: HaveOutputInOrder cannot judge: the run wrote to two streams, captured apart, between which there is no order; see Cmd.Output.Merge")
		}
		return nil
	}
	return m
}

// piece is what is looked for: it returns where it ends, -1 when it is not there.
type piece struct {
	text string
	end  func(in []byte) int
}

func newPiece(v any) (piece, bool) {
	switch v := v.(type) {
	case string:
		return literalPiece([]byte(v)), true
	case []byte:
		return literalPiece(bytes.Clone(v)), true
	case *regexp.Regexp:
		if v == nil {
			return piece{}, false
		}
		return piece{"a match of " + plaintext.Bounded(v.String(), 120), func(in []byte) int {
			if place := v.FindIndex(in); place != nil {
				return place[1]
			}
			return -1
		}}, true
	}
	return piece{}, false
}

func literalPiece(want []byte) piece {
	return piece{fmt.Sprintf("%q", bounded(string(want), lineBytes)), func(in []byte) int {
		if i := bytes.Index(in, want); i >= 0 {
			return i + len(want)
		}
		return -1
	}}
}

func newOrderTest(name string, v []any) (streamTest, error) {
	pieces := make([]piece, len(v))
	for i, v := range v {
		p, ok := newPiece(v)
		if !ok {
			return streamTest{}, fmt.Errorf("matchers: %s takes strings, []byte and *regexp.Regexp, not %T", name, v)
		}
		pieces[i] = p
	}
	// missing is the index of the first piece that is not there, -1 when there is none, and where it was looked for from.
	missing := func(got []byte) (i, from int) {
		for i, p := range pieces {
			n := p.end(got[from:])
			if n < 0 {
				return i, from
			}
			from += n
		}
		return -1, from
	}
	text := "to have the " + plaintext.Count(len(pieces), "piece") + " given in order"
	return streamTest{
		text: text, bare: text,
		match: func(got []byte) (bool, error) {
			i, _ := missing(got)
			return i < 0, nil
		},
		differs: func(got []byte) (text, bare string) {
			i, from := missing(got)
			bare = fmt.Sprintf("piece %d is not behind byte %d (line %d)", i+1, from, lineNumber(got, from))
			if i > 0 && pieces[i].end(got) >= 0 {
				bare += ", but before it"
			}
			return bare + ": wanted " + pieces[i].text, bare
		},
	}, nil
}
