package runner

import "io"

// StreamID tells the two output streams apart.
type StreamID int

// The output streams.
const (
	Stdout StreamID = iota
	Stderr
	// stdinStream is what interactive input is to the taps, and screenStream what the sizes of a terminal are.
	stdinStream
	screenStream
)

// String is "stdout" or "stderr".
func (id StreamID) String() string {
	switch id {
	case Stderr:
		return "stderr"
	case screenStream:
		return "terminal"
	case stdinStream:
		return "stdin"
	}
	return "stdout"
}

// Policy says what becomes of output beyond a stream's cap. The stream is always read to its end, so that the child
// never blocks on a full pipe. What we hold of it is bounded by the cap, whether there are lines in it or not; but [Fail]
// alone ends a run: one that writes without end runs on, as long as no Timeout ends it.
type Policy int

// The policies.
const (
	// Fail ends the run as [Overflowed] when the stream passes its cap. What was captured up to the cap is kept.
	Fail Policy = iota
	// Head keeps the first MaxBytes and counts the rest.
	Head
	// Tail keeps the last MaxBytes and counts what it dropped.
	Tail
	// Discard keeps nothing and counts everything.
	Discard
)

// DefaultMaxBytes is the cap of a stream whose MaxBytes is 0: 64 MiB.
const DefaultMaxBytes = 64 << 20

// Stream says how one output stream is captured. The zero value keeps up to [DefaultMaxBytes] and fails beyond.
type Stream struct {
	// Policy says what happens beyond MaxBytes. By default the run fails.
	Policy Policy
	// MaxBytes is the most that is kept, in bytes; 0 means [DefaultMaxBytes]. A negative value is refused. [Fail] counts
	// what was read, before StripVT and Redact, and the others what is kept.
	MaxBytes int64
	// MaxLines is the most that is kept, in lines as Framing cuts them; whichever of the two caps is passed first
	// counts. 0 means that lines are not counted. A negative value is refused.
	MaxLines int64
	// Tee, if not nil, gets every byte as it is read, before the policy and beyond the cap, from one goroutine. Its
	// error or panic stops the tee alone and is told by [Result.TeeErr]; the capture goes on. A tee that is slow slows
	// the child down, as a slow reader of a pipe does. When a timeout, an overflow or a cancel has ended the run, a tee
	// that takes more than 500 ms for one chunk once the tree is gone, or more than 900 ms in all, is abandoned: the run
	// is over without it, [Result.TeeErr] says so, and a Write that is under way may still be at work.
	Tee io.Writer
	// OnLine, if not nil, gets every line as it comes, before StripVT and Redact and beyond the caps, from the goroutine
	// of the Tee, after it. All that is said of a Tee holds for it: a panic ends it alone and is told by [Result.TeeErr].
	OnLine func(Line)
	// StripVT takes terminal control sequences, such as colours, out of what is kept and handed to [Process.Lines]. By
	// default everything is kept as it came. Tee and OnLine see the original.
	StripVT bool
	// Redact, if not nil, rewrites the text of every line before it is kept, handed to [Process.Lines] or written to File;
	// the end of the line stays as it is. Tee and OnLine see the original. It fails closed: a line over which it panics is
	// blanked, which [Result.TeeErr] tells, and so is a line longer than MaxLine, of which it would see a part. A line is
	// kept when it has ended. It runs in the goroutine of the Tee, and one that is stuck is abandoned like a Tee; what
	// it has not seen then is dropped.
	Redact func(Line) string
	// File is written as the stream comes, beyond the caps, after StripVT and Redact. One that cannot be opened refuses
	// the start ([StartBadOutput]; a Runner without a process tells it when it plays the run). One that cannot be
	// written, because the disk is full, ends the run as [Cancelled] with a [*FileError] as the cause. By default there
	// is none.
	File OutputFile
	// Framing says what ends a line, wherever lines are handed out. By default "\n" does, and "\r\n".
	Framing Framing
	// MaxLine is the most of one line that is handed out, in bytes; the rest is counted in [Line.Dropped]. 0 means
	// [DefaultMaxLine]. A negative value is refused.
	MaxLine int
}

// max is the cap that applies.
func (s Stream) max() int64 {
	if s.MaxBytes == 0 {
		return DefaultMaxBytes
	}
	return s.MaxBytes
}

// maxLine is the line length that applies.
func (s *Stream) maxLine() int {
	if s.MaxLine == 0 {
		return DefaultMaxLine
	}
	return s.MaxLine
}

// invalid says what makes no sense about the stream, "" when nothing does.
func (s *Stream) invalid() string {
	switch {
	case s.MaxBytes < 0:
		return "a negative MaxBytes"
	case s.Policy < Fail || s.Policy > Discard:
		return "an unknown policy"
	case s.MaxLine < 0:
		return "a negative MaxLine"
	case s.MaxLines < 0:
		return "negative MaxLines"
	case s.Framing < Newline || s.Framing > CarriageReturn:
		return "an unknown framing"
	default:
		return ""
	}
}

// Streams says how both output streams are captured.
type Streams struct {
	Stdout, Stderr Stream
	// Merge makes standard error the same descriptor as standard output, as 2>&1 does: both come as Stdout, in the order
	// in which they were written, and nothing as Stderr, which must have no settings then. By default they are apart.
	Merge bool
}

// Both captures either stream as s says. A Tee in s gets both streams, from two goroutines.
func Both(s Stream) Streams { return Streams{Stdout: s, Stderr: s} }
