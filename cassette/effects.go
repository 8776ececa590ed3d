package cassette

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"github.com/boombox-go/boombox/internal/plaintext"
	"github.com/boombox-go/boombox/runner"
)

// ErrEffect: the files that a recorded command wrote cannot be restored. The error is an [*EffectError].
var ErrEffect = errors.New("cassette: files of a command")

// EffectError refuses to play a run whose files are not restored. It shows no path.
type EffectError struct {
	// Run is the number of the run, Program the base name of its program.
	Run     int
	Program string
	// Reason says why, in one line.
	Reason string
	// Err is what the system said, nil where the reason is another.
	Err error
}

// Error implements error.
func (e *EffectError) Error() string {
	return fmt.Sprintf("%v: those of run %d, of %s, are not restored: %s", ErrEffect, e.Run, showName(e.Program), e.Reason)
}

// Is makes the error match [ErrEffect].
func (e *EffectError) Is(target error) bool { return target == ErrEffect }

// Unwrap gives the cause.
func (e *EffectError) Unwrap() error { return e.Err }

// WithEffects declares the files that commands write: those below the working directory of a command whose slash-separated path, seen from there, matches
// a pattern. * and ? stay within a name, ** is any number of directories. A recorder keeps what a command has created, changed or removed of
// them, and a player restores it, before the run begins to play, and only what the patterns allow: nothing outside that directory, and
// through no link that leads there. A cassette whose runs wrote other files is refused there, with an [*EffectError]. By default no file is kept.
//
//	cassette.WithEffects("out/*.json", "build/**")
//
// What a command with a directory of its own writes besides is counted, see [Recorder.Undeclared].
func WithEffects(patterns ...string) Option {
	return func(o *options) error {
		for _, p := range patterns {
			if !fs.ValidPath(p) || p == "." {
				return fmt.Errorf("%w: a pattern must be a path below the working directory, with slashes", ErrEffect)
			}
			for _, name := range strings.Split(p, "/") {
				if _, err := path.Match(name, ""); err != nil {
					return fmt.Errorf("%w: a pattern does not read", ErrEffect)
				}
			}
		}
		o.effects = append(o.effects, patterns...)
		return nil
	}
}

// matchesEffect reports whether a pattern allows a path.
func matchesEffect(patterns []string, name string) bool {
	return slices.ContainsFunc(patterns, func(p string) bool { return matchPath(strings.Split(p, "/"), strings.Split(name, "/")) })
}

func matchPath(pattern, name []string) bool {
	if len(pattern) == 0 {
		return len(name) == 0
	}
	if pattern[0] == "**" {
		for i := range len(name) + 1 {
			if matchPath(pattern[1:], name[i:]) {
				return true
			}
		}
		return false
	}
	if len(name) == 0 {
		return false
	}
	ok, _ := path.Match(pattern[0], name[0])
	return ok && matchPath(pattern[1:], name[1:])
}

// effect is one file that a command wrote or removed.
type effect struct {
	path       string
	executable bool
	gone       bool
	data       []byte
}

// Undeclared is what a recorded command did to files of its directory that no pattern of [WithEffects] has: a replay does not do it.
type Undeclared struct {
	// Run is the number of the run among the recorded ones, Program the base name of its program.
	Run     int
	Program string
	// Files is how many files it created, changed or removed; -1 where the directory holds too many to be looked at.
	Files int
}

// String says it in one line.
func (u Undeclared) String() string {
	if u.Files < 0 {
		return fmt.Sprintf("run %d, of %s: its directory holds too many files to see what it wrote", u.Run, showName(u.Program))
	}
	return fmt.Sprintf("run %d, of %s, changed %s that a replay does not: declare them with WithEffects", u.Run, showName(u.Program), plaintext.Count(u.Files, "file"))
}

// Undeclared lists the recorded runs that changed files which are not in the cassette. The file says so too, by a line x-undeclared, which lint
// tells. Looked at are the directories that commands were given, up to 10,000 files.
func (r *Recorder) Undeclared() (list []Undeclared) {
	s := r.state()
	s.mu.Lock()
	defer s.mu.Unlock()
	for i, t := range s.takes {
		if t.process == nil {
			continue
		}
		if _, over := t.process.Result(); over && t.files.undeclared != 0 {
			list = append(list, Undeclared{i + 1, programOf(t.argv), t.files.undeclared})
		}
	}
	return list
}

// most is how many files a directory may hold to be looked at.
const most = 10_000

// witness sees what a command does to the files of its directory.
type witness struct {
	dir      string
	patterns []string
	before   map[string]fs.FileInfo
	once     sync.Once
	// effects and undeclared are what was found; -1 means that there is too much to look at.
	effects    []effect
	undeclared int
	err        error
}

// look takes stock before a command starts. A command without a directory of its own is looked at where files are declared.
func (s *recording) look(cmd *runner.Cmd) *witness {
	w := &witness{dir: cmd.Dir, patterns: s.effects}
	if w.dir == "" && len(w.patterns) == 0 {
		return w
	}
	if w.dir == "" {
		w.dir = "."
	}
	w.before, _ = stock(w.dir)
	return w
}

// stock lists the regular files below a directory; nil when there are too many, or none can be listed.
func stock(dir string) (files map[string]fs.FileInfo, ok bool) {
	files = map[string]fs.FileInfo{}
	err := fs.WalkDir(os.DirFS(dir), ".", func(name string, d fs.DirEntry, err error) error {
		switch {
		case err != nil && name == ".":
			return err
		case err != nil || !d.Type().IsRegular():
			return nil
		case len(files) == most:
			return fs.ErrInvalid
		}
		if info, err := d.Info(); err == nil {
			files[name] = info
		}
		return nil
	})
	if err != nil {
		return nil, !errors.Is(err, fs.ErrInvalid)
	}
	return files, true
}

// gather looks again, once, when the command is over.
func (w *witness) gather(limit int) {
	w.once.Do(func() {
		if w.dir == "" {
			return
		}
		after, ok := stock(w.dir)
		if w.before == nil || after == nil {
			if !ok {
				w.undeclared = -1
			}
			return
		}
		note := func(name string, info fs.FileInfo) {
			if !matchesEffect(w.patterns, name) {
				w.undeclared++
				return
			}
			e := effect{path: name, gone: info == nil}
			if info != nil {
				if info.Size() > int64(limit) {
					w.err = fmt.Errorf("%w: a file that it wrote is longer than %d bytes", ErrTooLarge, limit)
					return
				}
				e.executable = info.Mode()&0o100 != 0
				data, err := fs.ReadFile(os.DirFS(w.dir), name)
				if e.data = data; err != nil {
					w.err = fmt.Errorf("%w: one that it wrote cannot be read", ErrEffect)
				}
			}
			w.effects = append(w.effects, e)
		}
		for name, info := range after {
			if old := w.before[name]; old == nil || old.Size() != info.Size() || !old.ModTime().Equal(info.ModTime()) || old.Mode() != info.Mode() {
				note(name, info)
			}
		}
		for name := range w.before {
			if after[name] == nil {
				note(name, nil)
			}
		}
		slices.SortFunc(w.effects, func(a, b effect) int { return strings.Compare(a.path, b.path) })
	})
}

// Observe gathers at the one moment at which the run is over and nobody knows it yet.
func (t *take) Observe(seen runner.Observation) {
	if seen.Kind == runner.ObservedEnd {
		t.files.gather(MaxRun)
	}
}

// launch starts the command of a take.
func (s *recording) launch(ctx context.Context, t *take, cmd *runner.Cmd) (*runner.Process, error) {
	t.files = s.look(cmd)
	return runner.Observed(s.inner, t).Start(ctx, cmd)
}

// appendEffects appends the files of a run.
func appendEffects(dst []byte, effects []effect, t translator, side sideFiles) []byte {
	for _, e := range effects {
		tag := "file"
		if e.gone {
			tag = "gone"
		}
		dst = appendQuotedLine(dst, tag, t.toFile([]byte(e.path), nil))
		if e.executable {
			dst = append(dst[:len(dst)-1], " executable\n"...)
		}
		dst = appendStream(dst, "data", t.toFile(e.data, nil), side)
	}
	return dst
}

// addEffect checks a line of the files of a run.
func (r *runText) addEffect(tag string, payload []byte) (section, string) {
	switch tag {
	case "file", "gone":
		if name, found := bytes.CutSuffix(payload, []byte(" executable")); found && tag == "file" {
			payload = name
		}
		if _, problem := checkQuoted(payload); problem != "" {
			return secEffect, problem
		}
		name := unquoted(payload)
		if !fs.ValidPath(name) || name == "." {
			return secEffect, "path of a file that does not lead below the directory of its run"
		}
		if r.effectPath != "" && name <= r.effectPath {
			return secEffect, "files that are not sorted, or not different"
		}
		r.effectPath, r.effectEnc = name, 0
		if tag == "gone" {
			r.effectEnc = encPadded // no data can follow
		}
		return secEffect, ""
	}
	enc, after := encText, encText
	var problem string
	var n int
	switch tag {
	case "data":
		if n, problem = checkQuoted(payload); problem == "" && n == 0 {
			problem = "empty line of a file"
		}
	case "data64":
		var padded bool
		if _, padded, problem = checkBase64(payload); padded {
			after = encPadded
		} else {
			after = encBase64
		}
		enc = encBase64
	default:
		if _, _, ok := parseSide(payload); !ok {
			problem = "not a side file: want sha256: with 64 digits, and a length"
		}
		enc, after = encFile, encPadded
	}
	switch {
	case problem != "":
	case r.effectPath == "":
		problem = "data of no file"
	case r.effectEnc != 0 && r.effectEnc != enc:
		problem = "one file in two encodings, or data behind its end"
	}
	r.effectEnc = after
	return secEffect, problem
}

// effects are the files of a run, in the words of the file.
func (r *runText) effects() (list []effect) {
	r.lines(secEffect, func(tag, payload []byte) {
		if string(tag) == "file" || string(tag) == "gone" {
			name, executable := bytes.CutSuffix(payload, []byte(" executable"))
			list = append(list, effect{path: unquoted(name), executable: executable, gone: string(tag) == "gone"})
			return
		}
		e := &list[len(list)-1]
		switch string(tag) {
		case "data":
			e.data = appendUnquoted(e.data, payload)
		case "data64":
			e.data = appendBase64(e.data, payload)
		default:
			name, _, _ := parseSide(payload)
			e.data = bytes.Clone(r.side[name])
		}
	})
	return list
}

func sameEffects(a, b []effect, masked bool) bool {
	return slices.EqualFunc(a, b, func(a, b effect) bool {
		if masked {
			a.data, b.data = canonical(a.data), canonical(b.data)
		}
		return a.path == b.path && a.executable == b.executable && a.gone == b.gone && bytes.Equal(a.data, b.data)
	})
}

// restore does to the files what the command did.
func (s *playing) restore(cmd *runner.Cmd, r *runText) error {
	if r.start[secEffect] == 0 {
		return nil
	}
	refused := &EffectError{Run: s.numberOf(r), Program: cmd.Program()}
	effects := r.effects()
	for i := range effects {
		e := &effects[i]
		e.path, e.data = string(s.words.toLive([]byte(e.path), nil)), s.words.toLive(e.data, nil)
		if !matchesEffect(s.effects, e.path) {
			refused.Reason = "no pattern of WithEffects allows them"
			return refused
		}
	}
	dir := cmd.Dir
	if dir == "" {
		dir = "."
	}
	root, err := os.OpenRoot(dir)
	if err == nil {
		defer root.Close()
		for _, e := range effects {
			if err = e.restore(root); err != nil {
				break
			}
		}
	}
	if err != nil {
		refused.Reason, refused.Err = "the system refuses it", bareError(err)
		return refused
	}
	return nil
}

func (e *effect) restore(root *os.Root) error {
	name := filepath.FromSlash(e.path)
	if e.gone {
		if err := root.Remove(name); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		return nil
	}
	if dir := filepath.Dir(name); dir != "." {
		if err := root.MkdirAll(dir, 0o777); err != nil {
			return err
		}
	}
	mode := fs.FileMode(0o666)
	if e.executable {
		mode = 0o777
	}
	// A file of the same name may have another mode, or be a link: it is another file then.
	if err := root.Remove(name); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	f, err := root.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, mode)
	if err != nil {
		return err
	}
	_, err = f.Write(e.data)
	return errors.Join(err, f.Close())
}

// bareError is the system's error without the path that package os puts around it.
func bareError(err error) error {
	var of *fs.PathError
	if errors.As(err, &of) {
		return of.Err
	}
	return err
}

// numberOf is the number of a run.
func (s *playing) numberOf(r *runText) int {
	for i := range s.index.runs {
		if &s.index.runs[i] == r {
			return i + 1
		}
	}
	return 0
}
