package runner

import "fmt"

// shaper makes of what is read what is kept and handed on: terminal sequences are stripped first, then each line is
// redacted. It is used where a stream asks for one of them.
type shaper struct {
	id     StreamID
	vt     *vtFilter
	redact func(Line) string
	split  splitter
	out    []byte
	err    error
}

// newShaper is nil when the stream is kept as it is.
func newShaper(id StreamID, s *Stream) *shaper {
	if !s.StripVT && s.Redact == nil {
		return nil
	}
	sh := &shaper{id: id, redact: s.Redact}
	if s.StripVT {
		sh.vt = &vtFilter{}
	}
	sh.split.init(id, s)
	return sh
}

// feed is what chunk makes fit to be kept; it is valid until the next call. A line that has not ended is kept back
// where lines are redacted.
func (s *shaper) feed(chunk []byte) []byte {
	s.out = s.out[:0]
	if s.redact == nil {
		s.out = s.vt.strip(s.out, chunk)
		return s.out
	}
	if s.vt != nil {
		chunk = s.vt.strip(nil, chunk)
	}
	for rest := string(chunk); rest != ""; {
		joined := s.split.afterCR && rest[0] == '\n'
		line, ok := s.split.next(&rest)
		if joined {
			s.out = append(s.out, '\n')
		}
		if ok {
			s.line(line)
		}
	}
	return s.out
}

// flush is what the end of the stream leaves.
func (s *shaper) flush() []byte {
	s.out = s.out[:0]
	if s.redact != nil {
		if line, ok := s.split.last(); ok {
			s.line(line)
		}
	}
	return s.out
}

// line redacts one line. What cannot be redacted is blanked: a line that the redactor fails on, and one that is too long
// for it to see the whole.
func (s *shaper) line(line Line) {
	text := ""
	if line.Dropped == 0 {
		err := guard(func() error { text = s.redact(line); return nil })
		if err != nil {
			text = ""
			if s.err == nil {
				s.err = fmt.Errorf("runner: redactor of %s: %w", s.id, err)
			}
		}
	}
	s.out = append(s.out, text...)
	s.out = append(s.out, line.End...)
}
