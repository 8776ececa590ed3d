package runner

import (
	"context"
	"iter"
	"runtime"
	"sync"
)

// Batch runs many commands, a few at a time. The zero value is ready to use.
type Batch struct {
	// AtOnce is how many commands run at a time at most. 0 or less means as many as there are processors that Go uses.
	AtOnce int
}

// BatchItem is what became of one command of a [Batch].
type BatchItem struct {
	// Index is the command's place in the list, from 0.
	Index int
	// Result and Err are what [Run] returned. A command that was never started, because of a cancel, has a [*CancelError]
	// without a Result; one that is nil an [*InvalidError].
	Result *Result
	Err    error
}

// Run runs cmds and returns an item for each, in the order of cmds. When ctx ends, the live ones are killed, and the
// others never start.
func (b Batch) Run(ctx context.Context, r Runner, cmds []*Cmd) []BatchItem {
	items := make([]BatchItem, len(cmds))
	for item := range b.Each(ctx, r, cmds) {
		items[item.Index] = item
	}
	return items
}

// Each runs cmds and yields an item for each as soon as it is there. It runs them when it is ranged over, anew each time.
// While the loop's body works, further commands run, and wait with their items. A loop that is left early is a cancel:
// the live ones are killed, the others never start, and the loop ends when nothing of them is left.
func (b Batch) Each(ctx context.Context, r Runner, cmds []*Cmd) iter.Seq[BatchItem] {
	return func(yield func(BatchItem) bool) {
		ctx, cancel := context.WithCancel(ctx)
		queue := make(chan int, len(cmds))
		for i := range cmds {
			queue <- i
		}
		close(queue)
		done := make(chan BatchItem, len(cmds))
		var workers sync.WaitGroup
		defer workers.Wait()
		defer cancel()
		for range min(b.atOnce(), len(cmds)) {
			workers.Go(func() {
				for i := range queue {
					done <- b.item(ctx, r, i, cmds[i])
				}
			})
		}
		for range cmds {
			if !yield(<-done) {
				return
			}
		}
	}
}

func (Batch) item(ctx context.Context, r Runner, i int, cmd *Cmd) BatchItem {
	if cmd == nil { // on a goroutine of ours nobody could recover from it
		return BatchItem{Index: i, Err: &InvalidError{Field: "Batch", Reason: "one has no command"}}
	}
	res, err := Run(ctx, r, cmd)
	return BatchItem{Index: i, Result: res, Err: err}
}

func (b Batch) atOnce() int {
	if b.AtOnce > 0 {
		return b.AtOnce
	}
	return runtime.GOMAXPROCS(0)
}
