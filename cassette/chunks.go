package cassette

import (
	"bytes"
	"math/rand/v2"

	"github.com/boombox-go/boombox/fake"
)

// Chunking says how replayed output is cut into pieces. The zero value keeps the recorded ones at a pace that has any, and at [Instant] gives
// each stream in one piece.
type Chunking struct {
	// cutter makes what cuts the streams of one run: the length of the next piece, of data that is not empty.
	cutter func() func(data []byte) int
}

// ChunksOf cuts output into pieces of so many bytes: of 1, to find a parser that relies on lines coming whole, or on characters. It panics if n
// is not positive.
func ChunksOf(n int) Chunking {
	if n < 1 {
		panic("cassette: a chunk must have a byte")
	}
	return Chunking{func() func([]byte) int { return func(data []byte) int { return min(n, len(data)) } }}
}

// ChunksByLine cuts output behind each line end, as it comes through a terminal.
func ChunksByLine() Chunking {
	return Chunking{func() func([]byte) int {
		return func(data []byte) int {
			if i := bytes.IndexByte(data, '\n'); i >= 0 {
				return i + 1
			}
			return len(data)
		}
	}}
}

// RandomChunks cuts output at places that are the same for the same seed, in pieces of up to 64 bytes, and now and then one of up to 4096.
func RandomChunks(seed uint64) Chunking {
	return Chunking{func() func([]byte) int {
		rnd := rand.New(rand.NewPCG(seed, seed))
		return func(data []byte) int {
			most := 64
			if rnd.IntN(8) == 0 {
				most = 4096
			}
			return min(1+rnd.IntN(most), len(data))
		}
	}}
}

// WithChunking cuts replayed output in another way than it was recorded, to shake code that takes the luck of chunks for a promise. What is
// captured is the same. By default output is as it was recorded.
func WithChunking(c Chunking) Option {
	return func(o *options) error { o.chunking = c; return nil }
}

// none reports whether nothing is to be cut.
func (c Chunking) none() bool { return c.cutter == nil }

// cut cuts the output of a script. It then takes time, if only none that shows, since a script that is over at once is given in one piece.
func (c Chunking) cut(chunks []fake.Chunk) []fake.Chunk {
	next := c.cutter()
	// Chunks that follow one another are joined first: what is cut is the stream, not each recorded piece.
	var joined []fake.Chunk
	for _, chunk := range chunks {
		if n := len(joined); n > 0 && chunk.After == 0 && len(chunk.Reads) == 0 && !chunk.ReadsEOF && chunk.Resize == noPTY && len(chunk.Data) > 0 &&
			joined[n-1].Stream == chunk.Stream && len(joined[n-1].Data) > 0 {
			joined[n-1].Data = append(joined[n-1].Data[:len(joined[n-1].Data):len(joined[n-1].Data)], chunk.Data...)
			continue
		}
		joined = append(joined, chunk)
	}
	out := []fake.Chunk{{After: 1}}
	for _, chunk := range joined {
		data := chunk.Data
		if len(data) == 0 {
			out = append(out, chunk)
		}
		for len(data) > 0 {
			n := next(data)
			chunk.Data = data[:n:n]
			out = append(out, chunk)
			chunk.After, chunk.Reads, chunk.ReadsEOF, chunk.Resize = 0, nil, false, noPTY
			data = data[n:]
		}
	}
	return out
}
