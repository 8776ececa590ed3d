//go:build !linux

package contain

import "context"

// startIn starts spec in p. Stages are for Linux.
func startIn(ctx context.Context, p place, spec Spec) (tree, error) { return p.start(ctx, spec) }
