package cassette

import (
	"fmt"
	"io"
	"log/slog"
)

// printer makes every printer show what describe says, and nothing else of the value that embeds it.
type printer struct{ describe func() string }

// String is what every printer shows: numbers, program names and counts.
func (p printer) String() string { return p.describe() }

// GoString is String, for %#v.
func (p printer) GoString() string { return p.describe() }

// GomegaString is String, for gomega's formatter.
func (p printer) GomegaString() string { return p.describe() }

// Format writes String for every verb.
func (p printer) Format(f fmt.State, _ rune) { _, _ = io.WriteString(f, p.describe()) }

// LogValue is String, for log/slog.
func (p printer) LogValue() slog.Value { return slog.StringValue(p.describe()) }
