package fake

import (
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
)

// describe is what the printers of a Script show: never its output.
func (s Script) describe() string {
	if s.StartErr != nil {
		return "script that does not start"
	}
	over := s.finished()
	end := s.outcome().String()
	if s.Pending {
		end = "pending"
	}
	return fmt.Sprintf("script: %s, %d bytes on stdout, %d on stderr", end, len(over.Stdout), len(over.Stderr))
}

// String shows how the run ends and counts bytes.
func (s Script) String() string { return s.describe() }

// GoString is String, for %#v.
func (s Script) GoString() string { return s.describe() }

// GomegaString is String, for gomega's formatter.
func (s Script) GomegaString() string { return s.describe() }

// Format writes String for every verb.
func (s Script) Format(f fmt.State, _ rune) { _, _ = io.WriteString(f, s.describe()) }

// LogValue is String, for log/slog.
func (s Script) LogValue() slog.Value { return slog.StringValue(s.describe()) }

// MarshalJSON writes String as a JSON string.
func (s Script) MarshalJSON() ([]byte, error) { return json.Marshal(s.describe()) }

func (c Chunk) describe() string {
	s := fmt.Sprintf("chunk: %d bytes on %s after %s", len(c.Data), c.Stream, c.After)
	if c.reads() {
		s += fmt.Sprintf(" and %d bytes of input", len(c.Reads))
	}
	if c.resizes() {
		cols, rows := c.Resize.Size()
		s += fmt.Sprintf(" and the size %dx%d", cols, rows)
	}
	return s
}

// String shows the stream, the size and the wait.
func (c Chunk) String() string { return c.describe() }

// GoString is String, for %#v.
func (c Chunk) GoString() string { return c.describe() }

// GomegaString is String, for gomega's formatter.
func (c Chunk) GomegaString() string { return c.describe() }

// Format writes String for every verb.
func (c Chunk) Format(f fmt.State, _ rune) { _, _ = io.WriteString(f, c.describe()) }

// LogValue is String, for log/slog.
func (c Chunk) LogValue() slog.Value { return slog.StringValue(c.describe()) }

// MarshalJSON writes String as a JSON string.
func (c Chunk) MarshalJSON() ([]byte, error) { return json.Marshal(c.describe()) }
