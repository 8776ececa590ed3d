package cassette

import (
	"bytes"
	"slices"
	"strconv"
	"strings"

	"github.com/boombox-go/boombox/contain"
)

// limitKinds are the caps that a run may have had, in the order in which a file has them.
var limitKinds = []contain.LimitKind{contain.LimitMemory, contain.LimitProcesses, contain.LimitCPU}

// appendLimits appends what the kernel's counters said of the caps of a run.
func appendLimits(dst []byte, e contain.Evidence) []byte {
	for _, kind := range limitKinds {
		l, ok := e.Of(kind)
		if !ok {
			continue
		}
		dst = append(dst, "  limit "+string(kind)+" "+strconv.FormatFloat(l.Max, 'f', -1, 64)+" "+l.Tripped.String()...)
		if l.Events != nil {
			dst = strconv.AppendInt(append(dst, ' '), *l.Events, 10)
		}
		dst = append(dst, '\n')
	}
	return dst
}

// parseLimit reads one of these lines, without its tag.
func parseLimit(payload string) (l contain.LimitEvidence, problem string) {
	const bad = `want "limit", memory, processes or cpu, the cap, yes, no or unknown, and how often if that is known`
	words := strings.Split(payload, " ")
	if len(words) != 3 && len(words) != 4 || !slices.Contains(limitKinds, contain.LimitKind(words[0])) {
		return l, bad
	}
	most, err := strconv.ParseFloat(words[1], 64)
	if err != nil || !(most > 0 && most < 1e18) || strconv.FormatFloat(most, 'f', -1, 64) != words[1] {
		return l, bad
	}
	l = contain.LimitEvidence{Kind: contain.LimitKind(words[0]), Max: most}
	tripped := slices.IndexFunc([]contain.Tripped{contain.TripUnknown, contain.NotTripped, contain.HasTripped}, func(t contain.Tripped) bool {
		return t.String() == words[2]
	})
	if tripped < 0 {
		return l, bad
	}
	l.Tripped = contain.Tripped(tripped)
	if len(words) == 4 {
		n, ok := parseInt(words[3], 1<<62)
		if !ok || n < 0 {
			return l, bad
		}
		l.Events = &n
	}
	return l, ""
}

func (r *runText) addLimit(payload string) string {
	l, problem := parseLimit(payload)
	if problem != "" {
		return problem
	}
	at := slices.Index(limitKinds, l.Kind) + 1
	if at <= r.limits {
		return "limit lines out of order, or twice"
	}
	r.limits = at
	return ""
}

// evidence is what the file has of the caps of the run.
func (r *runText) evidence() (e contain.Evidence) {
	r.lines(secLimit, func(_, payload []byte) {
		if l, problem := parseLimit(string(payload)); problem == "" {
			e.Limits = append(e.Limits, l)
		}
	})
	return e
}

// sameLimits reports whether two runs had the same caps and hit the same. How often is different each time.
func (r *runText) sameLimits(other *runText) bool {
	times := func(r *runText) []byte {
		e := r.evidence()
		for i := range e.Limits {
			e.Limits[i].Events = nil
		}
		return appendLimits(nil, e)
	}
	return bytes.Equal(times(r), times(other))
}
