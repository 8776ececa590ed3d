package runner

import (
	"fmt"
	"strings"
	"unicode/utf8"
)

// DefaultMaxLine is the most of a line that is handed out where [Stream.MaxLine] is 0: 1 MiB.
const DefaultMaxLine = 1 << 20

// Framing says what ends a line.
type Framing int

// The framings.
const (
	// Newline: "\n", with a "\r" before it if there is one. Any other "\r" is part of the line.
	Newline Framing = iota
	// CarriageReturn: "\r" too, as progress bars use it. "\r\n" ends one line, and its End is "\r": the line is handed
	// out as soon as its "\r" comes.
	CarriageReturn
)

// Line is one line of output. Lines are cut by bytes, the same however the output arrived: nothing is decoded, so
// that a character is never torn between two lines and bytes that are not UTF-8 stay as they are. Its printers show
// no text; the field Text is output, to be kept out of logs.
type Line struct {
	// Stream is where it was written.
	Stream StreamID
	// Text is the line without its end.
	Text string
	// End is what ended it: "\n", "\r\n" or "\r", and "" for the last line of a stream that did not end in one.
	End string
	// Dropped is how many bytes Text lacks at its end, because the line is longer than [Stream.MaxLine]. What is left is
	// not cut within a UTF-8 character.
	Dropped int64
}

// describe is what the printers show.
func (l Line) describe() string {
	s := fmt.Sprintf("line of %d bytes on %s", int64(len(l.Text))+l.Dropped, l.Stream)
	if l.End == "" {
		s += ", not ended"
	}
	return s
}

// lineRule is where the lines of one stream end, and how much of one is kept.
type lineRule struct {
	id      StreamID
	framing Framing
	max     int
}

// splitter cuts one stream into lines. What it gives depends on the bytes alone.
type splitter struct {
	lineRule
	// begun is the beginning of a line whose end has not come, up to max bytes; length is how long it is so far, and
	// tail its last byte.
	begun  []byte
	length int64
	tail   byte
	// afterCR: the line before ended in "\r", and a "\n" that comes next belongs to it.
	afterCR bool
}

func (s *lineRule) init(id StreamID, stream *Stream) {
	s.id, s.framing, s.max = id, stream.Framing, stream.maxLine()
}

// next takes one line off the front of *rest. When no line ends in it, it keeps all of it for later.
func (s *splitter) next(rest *string) (Line, bool) {
	in := *rest
	if s.afterCR && in != "" {
		s.afterCR = false
		if in[0] == '\n' {
			in = in[1:]
		}
	}
	var i int
	if s.framing == CarriageReturn {
		i = strings.IndexAny(in, "\r\n")
	} else {
		i = strings.IndexByte(in, '\n')
	}
	if i < 0 {
		*rest = ""
		s.keep(in)
		return Line{}, false
	}
	*rest = in[i+1:]
	end := in[i : i+1]
	s.afterCR = end == "\r"
	if s.length > 0 {
		s.keep(in[:i])
		return s.take(end), true
	}
	text := in[:i]
	if end == "\n" && i > 0 && text[i-1] == '\r' {
		text, end = text[:i-1], in[i-1:i+1]
	}
	if len(text) <= s.max {
		return Line{Stream: s.id, Text: text, End: end}, true
	}
	return s.cut(text, int64(len(text)), end), true
}

// keep adds to the line that has begun.
func (s *splitter) keep(part string) {
	if part == "" {
		return
	}
	s.begun = append(s.begun, part[:min(len(part), s.max-len(s.begun))]...)
	s.length += int64(len(part))
	s.tail = part[len(part)-1]
}

// take hands out the line that was kept.
func (s *splitter) take(end string) Line {
	length := s.length
	if end == "\n" && s.tail == '\r' {
		length--
		end = "\r\n"
	}
	text := string(s.begun[:min(int64(len(s.begun)), length)])
	s.begun, s.length = s.begun[:0], 0
	return s.cut(text, length, end)
}

// cut is the line of that length that begins with text, which holds all that may be handed out.
func (s *splitter) cut(text string, length int64, end string) Line {
	text = text[:min(len(text), s.max)]
	if int64(len(text)) < length {
		text = wholeRunes(text)
	}
	return Line{Stream: s.id, Text: text, End: end, Dropped: length - int64(len(text))}
}

// wholeRunes is s without a UTF-8 sequence that its end cuts off.
func wholeRunes(s string) string {
	for i := 1; i <= min(len(s), utf8.UTFMax-1); i++ {
		if tail := s[len(s)-i:]; utf8.RuneStart(tail[0]) {
			if !utf8.FullRuneInString(tail) {
				return s[:len(s)-i]
			}
			break
		}
	}
	return s
}

// last is the line that the end of the stream leaves unended, false when there is none.
func (s *splitter) last() (Line, bool) {
	if s.length == 0 {
		return Line{}, false
	}
	return s.take(""), true
}
