package matchers

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/onsi/gomega/types"

	"github.com/boombox-go/boombox/contain"
	"github.com/boombox-go/boombox/internal/plaintext"
	"github.com/boombox-go/boombox/runner"
)

// Gauge is what can say which caps it has and what was used: a [*contain.Group].
type Gauge interface {
	Evidence() contain.Evidence
	Stats() contain.Stats
}

const acceptsGauge = acceptsRun + ", or *contain.Group or another Gauge"

// gauged is one look at a run or a group.
type gauged struct {
	judgement
	evidence contain.Evidence
	stats    contain.Stats
}

// gauge is the matcher called name, about caps.
func gauge(name string, fill func(g *gauged) error) types.GomegaMatcher {
	return &matcher{final: settled, judge: func(actual any) (*judgement, error) {
		g := &gauged{judgement: judgement{subject: "the group"}}
		if held, ok := actual.(Gauge); ok && !isRun(actual) {
			if err := rejectNil(actual); err != nil {
				return nil, err
			}
			g.evidence, g.stats = held.Evidence(), held.Stats()
		} else {
			o, err := observeTree(name, actual, acceptsGauge)
			if err != nil {
				return nil, err
			}
			if o.result == nil {
				return nil, wrongType(name, acceptsGauge, actual)
			}
			if unheld(o.result.Teardown()) && len(o.result.Evidence().Limits) == 0 {
				return nil, errNothingHeld
			}
			g.judgement = aboutRun(o.result)
			g.evidence, g.stats = o.result.Evidence(), o.result.Stats()
		}
		if err := fill(g); err != nil {
			return nil, err
		}
		return &g.judgement, nil
	}}
}

// isRun reports whether actual is about a run: a Result has evidence of its own, and is judged as a run.
func isRun(actual any) bool {
	_, ok := actual.(*runner.Result)
	return ok
}

// HaveHitLimit matches a run or a group of whose cap the kernel says that it was hit: a member was killed for memory, a
// fork was refused, processors were withheld. With times it must have been hit that often: an int, or a matcher of an
// int64. Where no such cap was in force, or nobody counted, there is no answer in either direction. On a group it is the
// answer of now.
//
//	Expect(result).To(HaveHitLimit(contain.LimitMemory))
//	Expect(result).To(HaveHitLimit(contain.LimitProcesses, BeNumerically(">", 10)))
func HaveHitLimit(kind contain.LimitKind, times ...any) types.GomegaMatcher {
	w := wantTimes("HaveHitLimit", times)
	return gauge("HaveHitLimit", func(g *gauged) error {
		if w.err != nil {
			return w.err
		}
		l, ok := g.evidence.Of(kind)
		switch {
		case !ok:
			return fmt.Errorf("matchers: HaveHitLimit cannot tell: no cap on %s was in force (see EnforceLimit)", plaintext.Bounded(string(kind), 32))
		case l.Tripped == contain.TripUnknown:
			return fmt.Errorf("matchers: HaveHitLimit cannot tell: nobody counted whether the cap on %s was hit", kind)
		case len(times) > 0 && l.Events == nil:
			return fmt.Errorf("matchers: HaveHitLimit cannot tell: nobody counted how often the cap on %s was hit", kind)
		}
		hit := l.Tripped == contain.HasTripped
		g.ok, g.want, g.found = hit, "to have hit its limit of "+capText(l), "it has"+timesHit(l)
		if len(times) > 0 {
			ok, err := w.match(*l.Events)
			if err != nil {
				return err
			}
			g.ok, g.want = hit && ok, g.want+" "+w.text
		}
		switch {
		case hit:
			g.got = g.found
		case g.got == "":
			g.got = "it has not"
		}
		if n := g.evidence.OutsideKills; n != nil && *n > 0 && kind == contain.LimitMemory {
			g.hint = fmt.Sprintf("%s for want of memory outside of the group: a cgroup above it, or the host, had no more",
				plaintext.Count(*n, "member")+" died")
		}
		return nil
	})
}

// wantNumber reads an argument that is a number or a matcher of an int64.
func wantNumber(name string, v []any, literal func(int64) string, such string) wanted[int64] {
	if len(v) == 1 {
		if n, ok := v[0].(int); ok {
			v = []any{int64(n)}
		}
	}
	return want(name, v, "", literal, such)
}

// EnforceLimit matches a run or a group that has a cap of that kind in force.
//
//	Expect(result).To(EnforceLimit(contain.LimitProcesses))
func EnforceLimit(kind contain.LimitKind) types.GomegaMatcher {
	return gauge("EnforceLimit", func(g *gauged) error {
		l, ok := g.evidence.Of(kind)
		g.ok = ok
		g.want, g.found = "to enforce a limit of "+plaintext.Bounded(string(kind), 32), "it does: "+capText(l)
		if g.got == "" {
			g.got = "it has none"
		}
		return nil
	})
}

// HavePeak matches a run or a group that used at most so much at once: of memory in bytes, of processes in tasks. v is a
// number or a matcher for an int64. What was not measured has no answer in either direction.
//
//	Expect(result).To(HavePeak(contain.LimitMemory, BeNumerically("<", 64<<20)))
func HavePeak(kind contain.LimitKind, v any) types.GomegaMatcher {
	w := wantNumber("HavePeak", []any{v}, func(n int64) string { return strconv.FormatInt(n, 10) }, "one")
	return gauge("HavePeak", func(g *gauged) error {
		if w.err != nil {
			return w.err
		}
		var peak *int64
		switch kind {
		case contain.LimitMemory:
			peak = g.stats.PeakMemory
		case contain.LimitProcesses:
			peak = g.stats.PeakProcesses
		}
		if peak == nil {
			return fmt.Errorf("matchers: HavePeak cannot tell: the peak of %s was not measured", plaintext.Bounded(string(kind), 32))
		}
		ok, err := w.match(*peak)
		if err != nil {
			return err
		}
		g.ok = ok
		g.want, g.got, g.found = "to have had a peak of "+string(kind)+" of "+w.text, fmt.Sprint(*peak), "it was "+fmt.Sprint(*peak)
		return nil
	})
}

// wantTimes is wantNumber of times.
func wantTimes(name string, v []any) wanted[int64] {
	return wantNumber(name, v, func(n int64) string { return plaintext.Count(n, "time") }, "a number of times")
}

// capText is a cap in words: "20 processes".
func capText(l contain.LimitEvidence) string {
	text := strconv.FormatFloat(l.Max, 'f', -1, 64)
	switch l.Kind {
	case contain.LimitMemory:
		return text + " bytes of memory"
	case contain.LimitCPU:
		return text + " cores"
	default:
		return text + " " + string(l.Kind)
	}
}

func timesHit(l contain.LimitEvidence) string {
	if l.Events == nil {
		return ""
	}
	return ", " + plaintext.Count(*l.Events, "time")
}

// hits names the caps that a run has hit, "" when it has hit none.
func hits(e contain.Evidence) string {
	var list []string
	for _, l := range e.Limits {
		if l.Tripped == contain.HasTripped {
			list = append(list, "hit that of "+capText(l)+timesHit(l))
		}
	}
	return strings.Join(list, "; ")
}
