package runner

import (
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
)

// Every printer of a type that holds something secret shows the type's describe, whatever the verb. The methods are on
// values, so that a dereferenced pointer is as safe as the pointer. Where no method can be called, in an unexported
// field of somebody else's struct, what is secret is behind a closure.

func write(f fmt.State, s string) { _, _ = io.WriteString(f, s) }

// String shows the program's base name and the number of arguments.
func (c Cmd) String() string { return c.describe() }

// GoString is String, for %#v.
func (c Cmd) GoString() string { return c.describe() }

// GomegaString is String, for gomega's formatter.
func (c Cmd) GomegaString() string { return c.describe() }

// Format writes String for every verb.
func (c Cmd) Format(f fmt.State, _ rune) { write(f, c.describe()) }

// LogValue is String, for log/slog.
func (c Cmd) LogValue() slog.Value { return slog.StringValue(c.describe()) }

// MarshalJSON writes String as a JSON string.
func (c Cmd) MarshalJSON() ([]byte, error) { return json.Marshal(c.describe()) }

// String shows the kind of environment and the names that Set and Remove override.
func (e Env) String() string { return e.describe() }

// GoString is String, for %#v.
func (e Env) GoString() string { return e.describe() }

// GomegaString is String, for gomega's formatter.
func (e Env) GomegaString() string { return e.describe() }

// Format writes String for every verb.
func (e Env) Format(f fmt.State, _ rune) { write(f, e.describe()) }

// LogValue is String, for log/slog.
func (e Env) LogValue() slog.Value { return slog.StringValue(e.describe()) }

// MarshalJSON writes String as a JSON string.
func (e Env) MarshalJSON() ([]byte, error) { return json.Marshal(e.describe()) }

// String shows the kind of source.
func (s Stdin) String() string { return s.describe() }

// GoString is String, for %#v.
func (s Stdin) GoString() string { return s.describe() }

// GomegaString is String, for gomega's formatter.
func (s Stdin) GomegaString() string { return s.describe() }

// Format writes String for every verb.
func (s Stdin) Format(f fmt.State, _ rune) { write(f, s.describe()) }

// LogValue is String, for log/slog.
func (s Stdin) LogValue() slog.Value { return slog.StringValue(s.describe()) }

// MarshalJSON writes String as a JSON string.
func (s Stdin) MarshalJSON() ([]byte, error) { return json.Marshal(s.describe()) }

// String shows the program, and the Result once there is one.
func (p Process) String() string { return p.describe() }

// GoString is String, for %#v.
func (p Process) GoString() string { return p.describe() }

// GomegaString is String, for gomega's formatter.
func (p Process) GomegaString() string { return p.describe() }

// Format writes String for every verb.
func (p Process) Format(f fmt.State, _ rune) { write(f, p.describe()) }

// LogValue is String, for log/slog.
func (p Process) LogValue() slog.Value { return slog.StringValue(p.describe()) }

// MarshalJSON writes String as a JSON string.
func (p Process) MarshalJSON() ([]byte, error) { return json.Marshal(p.describe()) }

// String is the program, the outcome and counts.
func (r Result) String() string { return r.describe() }

// GoString is String, for %#v.
func (r Result) GoString() string { return r.describe() }

// GomegaString is String, for gomega's formatter.
func (r Result) GomegaString() string { return r.describe() }

// Format writes String for every verb.
func (r Result) Format(f fmt.State, _ rune) { write(f, r.describe()) }

// LogValue is String, for log/slog.
func (r Result) LogValue() slog.Value { return slog.StringValue(r.describe()) }

// MarshalJSON writes String as a JSON string.
func (r Result) MarshalJSON() ([]byte, error) { return json.Marshal(r.describe()) }

// String shows the outcome and counts.
func (f Finished) String() string { return f.describe() }

// GoString is String, for %#v.
func (f Finished) GoString() string { return f.describe() }

// GomegaString is String, for gomega's formatter.
func (f Finished) GomegaString() string { return f.describe() }

// Format writes String for every verb.
func (f Finished) Format(s fmt.State, _ rune) { write(s, f.describe()) }

// LogValue is String, for log/slog.
func (f Finished) LogValue() slog.Value { return slog.StringValue(f.describe()) }

// MarshalJSON writes String as a JSON string.
func (f Finished) MarshalJSON() ([]byte, error) { return json.Marshal(f.describe()) }

// String shows the stream and the size.
func (l Line) String() string { return l.describe() }

// GoString is String, for %#v.
func (l Line) GoString() string { return l.describe() }

// GomegaString is String, for gomega's formatter.
func (l Line) GomegaString() string { return l.describe() }

// Format writes String for every verb.
func (l Line) Format(f fmt.State, _ rune) { write(f, l.describe()) }

// LogValue is String, for log/slog.
func (l Line) LogValue() slog.Value { return slog.StringValue(l.describe()) }

// MarshalJSON writes String as a JSON string.
func (l Line) MarshalJSON() ([]byte, error) { return json.Marshal(l.describe()) }

// String shows the kind, and sizes and outcomes.
func (e Event) String() string { return e.describe() }

// GoString is String, for %#v.
func (e Event) GoString() string { return e.describe() }

// GomegaString is String, for gomega's formatter.
func (e Event) GomegaString() string { return e.describe() }

// Format writes String for every verb.
func (e Event) Format(f fmt.State, _ rune) { write(f, e.describe()) }

// LogValue is String, for log/slog.
func (e Event) LogValue() slog.Value { return slog.StringValue(e.describe()) }

// MarshalJSON writes String as a JSON string.
func (e Event) MarshalJSON() ([]byte, error) { return json.Marshal(e.describe()) }
