package contain

import "context"

// Detach starts a program that nobody holds: no group owns it, nothing of it is guaranteed, and it outlives this program.
// It leads a session of its own. What it returns names the process, with its Start where the system tells it, so that it
// can be told from a later one with the same id. Until it ends it costs this program a goroutine and a thread, which wait
// for it so that it leaves no zombie.
//
// Spec's streams, Files and Dir are as for [Group.Start]. A field that a child can be given only while it is held, such
// as Credential, is refused with a [*StartError] of [StepConfine] and a [*FieldError].
func Detach(ctx context.Context, spec Spec) (Member, error) {
	if ctx.Err() != nil {
		return Member{}, context.Cause(ctx)
	}
	for _, f := range spec.fields() {
		if f.set && f.name != fieldFiles && f.name != fieldNewSession {
			return Member{}, &StartError{Step: StepConfine, Err: &FieldError{Field: f.name, Reason: "a detached start cannot give it"}}
		}
	}
	return detach(ctx, spec)
}
