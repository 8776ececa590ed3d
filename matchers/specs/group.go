package specs

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/onsi/ginkgo/v2"

	"github.com/boombox-go/boombox/contain"
	"github.com/boombox-go/boombox/matchers"
)

// Group makes a group for this spec. It is closed when the spec and its later clean-ups are over, and the spec fails if
// its trees could not be seen empty: the message names the survivors. A group that cannot be had fails the spec at once;
// see [Require].
func Group(opts contain.Options) *contain.Group {
	ginkgo.GinkgoHelper()
	return contain.ForTest(ginkgo.GinkgoT(), opts)
}

// reportPatience is how long a progress report waits for the list of members: Ginkgo gives all reporters 5 s together.
const reportPatience = 200 * time.Millisecond

// ShowTreeOnTimeout adds the processes of group to each progress report of this spec: when a node times out, when it is
// slow (--poll-progress-after), and when the run is interrupted or asked for a report. Processes are shown with id, state
// and name, below their parents; arguments are not known to it.
func ShowTreeOnTimeout(group matchers.Tree) {
	ginkgo.GinkgoHelper()
	ginkgo.DeferCleanup(ginkgo.AttachProgressReporter(func() string { return reportTree(group) }))
}

// reportTree is total, and takes no longer than reportPatience: a panic in a reporter fails the spec.
func reportTree(group matchers.Tree) string {
	told := make(chan string, 1)
	go func() {
		defer func() {
			if p := recover(); p != nil {
				told <- "process tree: not to be had: its listing panicked"
			}
		}()
		members, err := group.Members()
		told <- drawTree(group.Mechanism(), members, err)
	}()
	select {
	case text := <-told:
		return text
	case <-time.After(reportPatience):
		return fmt.Sprintf("process tree: not to be had within %s", reportPatience)
	}
}

// maxDrawn is how many processes a report shows.
const maxDrawn = 50

// drawTree indents each process below its parent.
func drawTree(mechanism contain.Mechanism, members []contain.Member, err error) string {
	var b strings.Builder
	fmt.Fprintf(&b, "process tree, held by %s: %d members", mechanism, len(members))
	if err != nil {
		fmt.Fprintf(&b, " (the list may be short: %v)", err)
	}
	known := map[int]bool{}
	children := map[int][]contain.Member{}
	for _, m := range members {
		known[m.PID] = true
	}
	for _, m := range members {
		parent := m.Parent
		if !known[parent] || parent == m.PID {
			parent = 0
		}
		children[parent] = append(children[parent], m)
	}
	drawn := 0
	var draw func(parent, depth int)
	draw = func(parent, depth int) {
		list := children[parent]
		delete(children, parent) // no process is drawn twice, whatever the snapshot says
		slices.SortFunc(list, func(a, b contain.Member) int { return a.PID - b.PID })
		for _, m := range list {
			if drawn++; drawn <= maxDrawn {
				b.WriteString("\n" + strings.Repeat("  ", depth) + m.String())
			}
			draw(m.PID, depth+1)
		}
	}
	draw(0, 1)
	if more := len(members) - min(drawn, maxDrawn); more > 0 {
		fmt.Fprintf(&b, "\n  ... and %d more", more)
	}
	return b.String()
}

// SweepStale ends and removes what dead test processes have left here: those that were killed, or interrupted twice. It
// is for the first function of a SynchronizedBeforeSuite. It makes a group and closes it, which is what sweeps: every
// program does so at its first group, so that this only does it before the first spec. What belongs to a program that is
// alive is never touched: owners are told by process id and start time.
func SweepStale() {
	ginkgo.GinkgoHelper()
	g, err := contain.New(contain.Options{})
	if err != nil {
		ginkgo.Fail("no group to sweep with: " + err.Error())
	}
	if err := g.Close(); err != nil {
		ginkgo.Fail("the group that sweeps could not be closed: " + err.Error())
	}
}
