package fake

// NewStream lets the specs look at a stream by itself.
func NewStream() (s *stream, write func([]byte), end func()) {
	s = newStream()
	return s, s.write, s.end
}
