package cassette

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/boombox-go/boombox/contain"
	"github.com/boombox-go/boombox/runner"
)

// ErrImport: a foreign recording cannot be taken over.
var ErrImport = errors.New("cassette: cannot import")

// foreignFile is a recording of processkit, versions 1 to 4.
type foreignFile struct {
	Version int            `json:"version"`
	Entries []foreignEntry `json:"entries"`
}

type foreignEntry struct {
	Program    string          `json:"program"`
	Args       []string        `json:"args"`
	HasStdin   bool            `json:"has_stdin"`
	Digest     *json.Number    `json:"stdin_digest"`
	Cwd        string          `json:"cwd"`
	Dir        string          `json:"dir"`
	EnvNames   []string        `json:"env_names"`
	Stdout     string          `json:"stdout"`
	Stderr     string          `json:"stderr"`
	Code       *int            `json:"code"`
	ExitCode   *int            `json:"exit_code"`
	TimedOut   bool            `json:"timed_out"`
	Inactive   bool            `json:"inactive"`
	Signal     *int            `json:"signal"`
	Truncated  bool            `json:"truncated"`
	TotalBytes int64           `json:"total_bytes"`
	Millis     int64           `json:"duration_ms"`
	Error      json.RawMessage `json:"error"`
}

// Import takes a JSON recording of processkit, format versions 1 to 4, over: what it has, redacted as the options say. Entries that a
// cassette cannot hold truly are left out, and told in skipped, by number and reason: those with input, of which such a file
// keeps a digest alone, and those whose output was truncated. Text that the other recorder changed (it keeps text,
// and no last line end) stays changed.
func Import(data []byte, opts ...Option) (tape *Tape, skipped []string, err error) {
	o, err := gather(opts)
	if err != nil {
		return nil, nil, err
	}
	var file foreignFile
	if err := json.Unmarshal(data, &file); err != nil {
		return nil, nil, fmt.Errorf("%w: not a JSON recording", ErrImport) // the decoder's own words can show content
	}
	if file.Version < 1 || file.Version > 4 {
		return nil, nil, fmt.Errorf("%w: it is of version %d, and versions 1 to 4 are known", ErrImport, file.Version)
	}
	g := newGuard(o.redaction)
	redactor := g.redactor()
	p := &parsed{side: sideFiles{}}
	for i := range file.Entries {
		d, problem := file.Entries[i].draft(file.Version)
		if problem != "" {
			skipped = append(skipped, fmt.Sprintf("entry %d, of %s: %s", i+1, showName(programOf([]string{file.Entries[i].Program})), problem))
			continue
		}
		if d, err = redactor.draft(d, [2][]string{}); err != nil {
			return nil, nil, err
		}
		run, err := readRun(d.append(nil, translator{}, p.side), defaultLimits, p.side)
		if err != nil {
			return nil, nil, fmt.Errorf("%w: entry %d: %w", ErrImport, i+1, err)
		}
		p.runs = append(p.runs, run)
		p.masked = p.masked || redactor != nil && redactor.used
	}
	p.writeHeader(nil)
	p.settle()
	if found := g.scan(p, p.marshal()); len(found) > 0 {
		return nil, nil, &SecretError{Findings: found}
	}
	return newTape(p), skipped, nil
}

func (e *foreignEntry) draft(version int) (*draft, string) {
	switch {
	case e.Program == "":
		return nil, "it has no program"
	case e.HasStdin || e.Digest != nil:
		return nil, "it has input, of which only a digest is kept"
	case e.Truncated:
		return nil, "its output is truncated"
	}
	names := slices.DeleteFunc(slices.Clone(e.EnvNames), func(s string) bool { return s == "" })
	d := &draft{argv: append([]string{e.Program}, e.Args...), env: names, taped: true}
	if version < 3 { // later ones show the directory, and do not match it
		if d.dir = e.Dir; d.dir == "" {
			d.dir = e.Cwd
		}
	}
	if len(e.Error) > 0 && string(e.Error) != "null" {
		d.taped = false
		return d, d.fail(e.Error)
	}
	code := e.Code
	if code == nil {
		code = e.ExitCode
	}
	took := time.Duration(max(e.Millis, 1)) * time.Millisecond
	switch {
	case e.TimedOut:
		d.end = ending{outcome: runner.TimedOut, limit: took}
	case e.Inactive:
		d.end = ending{outcome: runner.IdleTimedOut, limit: took}
	case e.Signal != nil && *e.Signal > 0 && *e.Signal < 128:
		sig := syscall.Signal(*e.Signal)
		d.end = ending{outcome: runner.Signalled(sig), status: contain.ExitStatus{Signal: sig}, known: true}
	case code != nil:
		d.end = ending{outcome: runner.Exited(*code), status: contain.ExitStatus{Code: *code}, known: true}
	default:
		return nil, "it does not say how it ended"
	}
	for id, text := range [2]string{e.Stdout, e.Stderr} {
		if d.stream[id].data = []byte(text); text != "" {
			d.tape.chunks = append(d.tape.chunks, arrival{stream: runner.StreamID(id), n: int64(len(text))})
		}
	}
	d.tape.exit = min(time.Duration(e.Millis)*time.Millisecond, maxWait)
	return d, ""
}

// fail reads a recorded failure: a tagged object, with its tag inside or around it.
func (d *draft) fail(raw json.RawMessage) string {
	var fields map[string]json.RawMessage
	tag := ""
	if json.Unmarshal(raw, &tag) != nil {
		if json.Unmarshal(raw, &fields) != nil {
			return "its failure does not read"
		}
		for _, name := range []string{"kind", "type"} {
			if v, ok := fields[name]; ok {
				_ = json.Unmarshal(v, &tag)
			}
		}
		if tag == "" && len(fields) == 1 {
			for name, inner := range fields {
				tag, fields = name, nil
				_ = json.Unmarshal(inner, &fields)
			}
		}
	}
	f := &startFailure{}
	switch strings.ToLower(strings.ReplaceAll(tag, "_", "")) {
	case "notfound":
		f.kind, f.errno = runner.StartNotFound, "ENOENT"
	case "spawn":
		f.kind = runner.StartOther
		_ = json.Unmarshal(fields["message"], &f.text)
		var kind string
		_ = json.Unmarshal(fields["os_kind"], &kind)
		if strings.Contains(strings.ToLower(strings.ReplaceAll(kind, "_", "")), "permissiondenied") {
			f.kind, f.errno, f.text = runner.StartNotExecutable, "EACCES", ""
		}
	default:
		return "its failure is of a kind that no start has here"
	}
	d.end = ending{failure: f}
	return ""
}
