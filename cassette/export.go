package cassette

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/boombox-go/boombox/runner"
)

// Format is a format of other tools that a cassette can be written in.
type Format string

// The formats.
const (
	// Asciicast is asciicast v3: output with its times, interactive input and sizes too, both streams as one, for players of terminal sessions.
	// Bytes that are not UTF-8 become U+FFFD there; line ends of a run without a terminal become CR LF, as one has them.
	Asciicast Format = "asciicast"
	// Txtar is a text archive: argv, stdin, stdout, stderr and outcome of each run as files. What a text archive cannot hold
	// is quoted, in a file that ends in .quoted.
	Txtar Format = "txtar"
	// JSONLines is one event a line: start, in, out, err, eof, resize, end. Bytes that are not UTF-8 are in base64.
	JSONLines Format = "jsonl"
)

// Export writes the cassette in another format. Tokens and placeholders stay as the file has them.
func (t *Tape) Export(w io.Writer, format Format) error {
	var b bytes.Buffer
	switch format {
	case Asciicast:
		t.asciicast(&b)
	case Txtar:
		t.txtar(&b)
	case JSONLines:
		t.jsonLines(&b)
	default:
		return fmt.Errorf("cassette: there is no format %s (known: asciicast, txtar, jsonl)", showName(string(format)))
	}
	_, err := w.Write(b.Bytes())
	return err
}

// chunk is a piece of output and how long after the one before it came.
type chunk struct {
	after  time.Duration
	stream runner.StreamID
	data   []byte
}

// chunks are the output of a run as it arrived, with the input of a conversation among it, and the time from the last one to its end.
func (r *runText) chunks() (list []chunk, exit time.Duration) {
	s := r.script(translator{}, RealTime)
	var pauses []time.Duration // before each turn: the script leaves them to whoever writes
	for _, a := range r.tape().chunks {
		if a.stream >= inStream {
			pauses = append(pauses, a.after)
		}
	}
	for _, c := range s.Chunks {
		switch {
		case c.ReadsEOF:
			list = append(list, chunk{after: pauses[0], stream: inClosed})
			pauses = pauses[1:]
			continue
		case c.Resize != noPTY:
			list = append(list, chunk{pauses[0], resized, []byte(showSize(c.Resize))})
			pauses = pauses[1:]
			continue
		case len(c.Reads) > 0:
			list = append(list, chunk{pauses[0], inStream, c.Reads})
			pauses = pauses[1:]
			continue
		}
		if len(c.Data) == 0 {
			exit += c.After
			continue
		}
		list = append(list, chunk{c.After, c.Stream, c.Data})
	}
	return list, exit
}

func (t *Tape) asciicast(b *bytes.Buffer) {
	line := func(v any) {
		encoder := json.NewEncoder(b)
		encoder.SetEscapeHTML(false)
		_ = encoder.Encode(v)
	}
	p := t.state()
	size := sized(&runner.PTY{})
	for i := range p.runs {
		if p.runs[i].pty != noPTY {
			size = p.runs[i].pty
			break
		}
	}
	line(map[string]any{"version": 3, "term": map[string]any{"cols": size.Cols, "rows": size.Rows}})
	var wait time.Duration
	event := func(after time.Duration, code, data string) {
		line([]any{float64((wait + after).Milliseconds()) / 1000, code, data})
		wait = 0
	}
	for i := range p.runs {
		r := &p.runs[i]
		event(0, "m", fmt.Sprintf("run %d: %s", i+1, shellLine(r.argv())))
		if r.pty != noPTY && r.pty != size {
			size = r.pty
			event(0, "r", showSize(size))
		}
		var torn [3][]byte
		list, exit := r.chunks()
		for _, c := range list {
			if c.stream == inClosed {
				wait += c.after
				continue
			}
			if c.stream == resized {
				event(c.after, "r", string(c.data))
				size, _, _ = cutSize(c.data)
				continue
			}
			data := append(torn[c.stream], c.data...)
			whole := len(data) - tornRune(data)
			torn[c.stream] = bytes.Clone(data[whole:])
			code, text := "o", strings.ToValidUTF8(string(data[:whole]), "\ufffd")
			if r.pty == noPTY {
				text = strings.ReplaceAll(strings.ReplaceAll(text, "\n", "\r\n"), "\r\r\n", "\r\n")
			}
			if c.stream == inStream {
				code, text = "i", strings.ReplaceAll(strings.ReplaceAll(text, "\r\n", "\n"), "\n", "\r") // as a keyboard has it
			}
			event(c.after, code, text)
		}
		wait += exit
		if i == len(p.runs)-1 {
			status := "1"
			if code, ok := r.end.outcome.ExitCode(); ok {
				status = fmt.Sprint(code)
			}
			event(0, "x", status)
		}
	}
}

// tornRune is how many bytes at the end of data begin a character that goes on in the next chunk.
func tornRune(data []byte) int {
	for n := 1; n < utf8.UTFMax && n <= len(data); n++ {
		if c := data[len(data)-n]; utf8.RuneStart(c) {
			if c >= 0xc0 && !utf8.FullRune(data[len(data)-n:]) {
				return n
			}
			break
		}
	}
	return 0
}

func (t *Tape) txtar(b *bytes.Buffer) {
	p := t.state()
	fmt.Fprintf(b, "%s\n", p.describe())
	for i := range p.runs {
		r := &p.runs[i]
		file := func(name string, data []byte) {
			if len(data) == 0 {
				return
			}
			if !utf8.Valid(data) || data[len(data)-1] != '\n' || bytes.IndexByte(data, '\r') >= 0 || bytes.HasPrefix(data, []byte("-- ")) || bytes.Contains(data, []byte("\n-- ")) {
				name += ".quoted"
				data = append(appendEscaped([]byte{'"'}, data), "\"\n"...)
			}
			fmt.Fprintf(b, "-- %d/%s --\n%s", i+1, name, data)
		}
		var argv []byte
		for _, arg := range r.argv() {
			argv = append(appendEscaped(append(argv, '"'), []byte(arg)), "\"\n"...)
		}
		file("argv", argv)
		if r.pty != noPTY {
			file("terminal", []byte(showSize(r.pty)+"\n"))
		}
		file("stdin", r.stream(secIn))
		file("stdout", r.output(runner.Stdout))
		file("stderr", r.output(runner.Stderr))
		file("outcome", bytes.TrimLeft(appendEnding(nil, r.end), " "))
	}
}

// event is one line of JSONLines.
type event struct {
	Run     int      `json:"run"`
	Event   string   `json:"event"`
	Argv    []string `json:"argv,omitempty"`
	Argv64  [][]byte `json:"argv_base64,omitempty"`
	Dir     string   `json:"dir,omitempty"`
	Env     []string `json:"env,omitempty"`
	PTY     string   `json:"pty,omitempty"`
	Ms      *int64   `json:"ms,omitempty"`
	Text    *string  `json:"text,omitempty"`
	Base64  []byte   `json:"base64,omitempty"`
	Outcome string   `json:"outcome,omitempty"`
}

func (e *event) setData(data []byte) {
	if text := string(data); utf8.Valid(data) {
		e.Text = &text
	} else {
		e.Base64 = data
	}
}

func (t *Tape) jsonLines(b *bytes.Buffer) {
	encoder := json.NewEncoder(b)
	encoder.SetEscapeHTML(false)
	p := t.state()
	for i := range p.runs {
		r := &p.runs[i]
		start := event{Run: i + 1, Event: "start", Argv: r.argv(), Dir: r.dir(), Env: r.env()}
		if r.pty != noPTY {
			start.PTY = showSize(r.pty)
		}
		for _, arg := range start.Argv {
			if !utf8.ValidString(arg) {
				for _, arg := range start.Argv {
					start.Argv64 = append(start.Argv64, []byte(arg))
				}
				start.Argv = nil
				break
			}
		}
		_ = encoder.Encode(start)
		if in := r.input(); len(in) > 0 {
			e := event{Run: i + 1, Event: "in"}
			e.setData(in)
			_ = encoder.Encode(e)
		}
		list, exit := r.chunks()
		for _, c := range list {
			ms := c.after.Milliseconds()
			e := event{Run: i + 1, Event: [...]string{"out", "err", "in", "eof", "resize"}[c.stream], Ms: &ms}
			switch c.stream {
			case inClosed:
			case resized:
				e.PTY = string(c.data)
			default:
				e.setData(c.data)
			}
			_ = encoder.Encode(e)
		}
		ms := exit.Milliseconds()
		_ = encoder.Encode(event{Run: i + 1, Event: "end", Ms: &ms, Outcome: strings.TrimSpace(string(appendEnding(nil, r.end)))})
	}
}
