package contain

import (
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
)

// The printers of a group and of a child show what is safe to show and to read at any time. Without them fmt would walk
// the live memory below the pointer: a data race with whoever uses the group, as gomega's Eventually(ctx, group) showed.
// They are methods of pointers: a value receiver would copy that memory, and go vet refuses to copy a group anyway.

// describe is what the printers of a group show. It holds the group's lock for a moment.
func (g *Group) describe() string {
	if g == nil {
		return "no group"
	}
	g.mu.Lock()
	n, closing := len(g.children), g.closing
	g.mu.Unlock()
	s := fmt.Sprintf("group held by %s (guarantees: %s)", g.Mechanism(), g.Guarantees())
	switch n {
	case 1:
		s += ", 1 child"
	default:
		s += fmt.Sprintf(", %d children", n)
	}
	if closing {
		s += ", closed"
	}
	return s
}

// String shows mechanism, guarantees and the number of children: "group held by cgroup2 (guarantees: kill-tree), 1 child".
func (g *Group) String() string { return g.describe() }

// GoString is String, for %#v.
func (g *Group) GoString() string { return g.describe() }

// GomegaString is String, for gomega's formatter.
func (g *Group) GomegaString() string { return g.describe() }

// Format writes String for every verb.
func (g *Group) Format(f fmt.State, _ rune) { _, _ = io.WriteString(f, g.describe()) }

// LogValue is String, for log/slog.
func (g *Group) LogValue() slog.Value { return slog.StringValue(g.describe()) }

// MarshalJSON writes String as a JSON string.
func (g *Group) MarshalJSON() ([]byte, error) { return json.Marshal(g.describe()) }

// describe is what the printers of a child show. It asks the kernel nothing.
func (c *Child) describe() string {
	if c == nil {
		return "no child"
	}
	state := "running"
	select {
	case <-c.Exited():
		state = "ended"
	default:
	}
	return fmt.Sprintf("child pid %d, %s, held by %s (guarantees: %s)", c.PID(), state, c.group.Mechanism(), c.Guarantees())
}

// String shows process id, state, mechanism and guarantees: "child pid 4711, running, held by cgroup2 (guarantees: kill-tree)".
func (c *Child) String() string { return c.describe() }

// GoString is String, for %#v.
func (c *Child) GoString() string { return c.describe() }

// GomegaString is String, for gomega's formatter.
func (c *Child) GomegaString() string { return c.describe() }

// Format writes String for every verb.
func (c *Child) Format(f fmt.State, _ rune) { _, _ = io.WriteString(f, c.describe()) }

// LogValue is String, for log/slog.
func (c *Child) LogValue() slog.Value { return slog.StringValue(c.describe()) }

// MarshalJSON writes String as a JSON string.
func (c *Child) MarshalJSON() ([]byte, error) { return json.Marshal(c.describe()) }
