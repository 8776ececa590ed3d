package runner

import "github.com/boombox-go/boombox/contain"

// UpdateLimits changes the caps of a run that is under way, in the way and with the errors of [contain.Group.UpdateLimits]:
// the whole set of the command's Limits or nothing. A run in a shared group has none of its own to change, nor has one
// without a process; both are refused with a [*contain.LimitError]. A run that is over is [contain.ErrClosed].
func (p *Process) UpdateLimits(l contain.Limits) error {
	if _, settled := p.Result(); settled {
		return contain.ErrClosed
	}
	if b, ok := p.live().backend.(interface{ UpdateLimits(contain.Limits) error }); ok {
		return b.UpdateLimits(l)
	}
	return limitsElsewhere(l, "no process runs here, whose caps could be changed", "")
}

// limitsElsewhere refuses caps that are not a run's own to have.
func limitsElsewhere(l contain.Limits, detail, hint string) error {
	kind := contain.LimitCPU
	switch {
	case l.Memory != 0:
		kind = contain.LimitMemory
	case l.Processes != 0:
		kind = contain.LimitProcesses
	}
	return &contain.LimitError{Kind: kind, Reason: contain.LimitUnenforceable, Detail: detail, Hint: hint}
}

const (
	sharedLimits = "the command runs in a shared group, which has limits of its own"
	sharedHint   = "give the limits to the group, or run the command in a private one"
)

// UpdateLimits is asked for by [Process.UpdateLimits].
func (b *realBackend) UpdateLimits(l contain.Limits) error {
	if b.private == nil {
		return limitsElsewhere(l, sharedLimits, sharedHint)
	}
	return b.private.UpdateLimits(l)
}
