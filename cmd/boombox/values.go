package main

import (
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/alecthomas/kong"

	"github.com/boombox-go/boombox/cassette"
	"github.com/boombox-go/boombox/contain"
)

// The flag values below decode themselves for two reasons: kong's own strings pass through JSON, which replaces every
// byte that is not UTF-8; and kong's own messages repeat the value, which may be a secret that slipped into the wrong
// place. No message of ours does.

// pop takes the value of a flag or of a positional argument, byte for byte.
func pop(ctx *kong.DecodeContext) (string, error) {
	token := ctx.Scan.Pop()
	value, ok := token.Value.(string)
	if !ok || !token.IsValue() {
		return "", errors.New("needs a value")
	}
	return value, nil
}

// text is a string that is not empty.
type text string

// Decode implements [kong.MapperValue].
func (t *text) Decode(ctx *kong.DecodeContext) error {
	value, err := pop(ctx)
	if err == nil && value == "" {
		err = errors.New("needs a value that is not empty")
	}
	*t = text(value)
	return err
}

// command is PROG ARGS..., with the -- before it if there was one.
type command []string

// Decode implements [kong.MapperValue].
func (c *command) Decode(ctx *kong.DecodeContext) error {
	for !ctx.Scan.Peek().IsEOL() {
		*c = append(*c, ctx.Scan.Pop().String())
	}
	return nil
}

// argv is the command without the leading --, or an error when nothing is left.
func (c command) argv() ([]string, error) {
	if len(c) > 0 && c[0] == "--" {
		c = c[1:]
	}
	if len(c) == 0 {
		return nil, usageError("no program given: put it last, after --")
	}
	if c[0] == "" {
		return nil, usageError("the program's name is empty")
	}
	return c, nil
}

// positive is a duration above 0, such as 30s or 1m30s.
type positive time.Duration

// Decode implements [kong.MapperValue].
func (p *positive) Decode(ctx *kong.DecodeContext) error {
	value, err := pop(ctx)
	if err != nil {
		return err
	}
	d, err := time.ParseDuration(value)
	if err != nil || d <= 0 {
		return errors.New("wants a duration above 0 with its unit, such as 500ms, 30s or 1m30s")
	}
	*p = positive(d)
	return nil
}

// size is a number of bytes above 0.
type size int64

// Decode implements [kong.MapperValue].
func (s *size) Decode(ctx *kong.DecodeContext) error {
	value, err := pop(ctx)
	if err != nil {
		return err
	}
	*s, err = parseSize(value)
	return err
}

var sizeUnits = map[string]int64{
	"": 1, "B": 1,
	"K": 1 << 10, "M": 1 << 20, "G": 1 << 30, "T": 1 << 40,
	"KIB": 1 << 10, "MIB": 1 << 20, "GIB": 1 << 30, "TIB": 1 << 40,
	"KB": 1e3, "MB": 1e6, "GB": 1e9, "TB": 1e12,
}

// parseSize reads a whole number above 0 and a unit: B, or KiB MiB GiB TiB (powers of 1024; also K M G T), or
// KB MB GB TB (powers of 1000). Case does not matter.
func parseSize(s string) (size, error) {
	bad := errors.New("wants a whole number of bytes above 0, such as 1048576, 512MiB or 1GB")
	digits := strings.TrimRight(s, "BKMGTIbkmgti")
	n, err := strconv.ParseUint(digits, 10, 63)
	unit, ok := sizeUnits[strings.ToUpper(s[len(digits):])]
	if err != nil || !ok || n == 0 || n > math.MaxInt64/uint64(unit) {
		return 0, bad
	}
	return size(int64(n) * unit), nil
}

// count is a whole number above 0.
type count int

// Decode implements [kong.MapperValue].
func (c *count) Decode(ctx *kong.DecodeContext) error {
	value, err := pop(ctx)
	if err != nil {
		return err
	}
	n, err := strconv.ParseUint(value, 10, 31)
	if err != nil || n == 0 {
		return errors.New("wants a whole number above 0")
	}
	*c = count(n)
	return nil
}

// cores is a number of processor cores above 0, such as 1.5.
type cores float64

// Decode implements [kong.MapperValue].
func (c *cores) Decode(ctx *kong.DecodeContext) error {
	value, err := pop(ctx)
	if err != nil {
		return err
	}
	n, err := strconv.ParseFloat(value, 64)
	if err != nil || math.IsInf(n, 0) || !(n > 0) {
		return errors.New("wants a number of cores above 0, such as 1.5")
	}
	*c = cores(n)
	return nil
}

// guarantees is a list of guarantee names; more lists add to it.
type guarantees contain.Guarantee

// Decode implements [kong.MapperValue].
func (g *guarantees) Decode(ctx *kong.DecodeContext) error {
	value, err := pop(ctx)
	if err != nil {
		return err
	}
	parsed, err := contain.ParseGuarantees(value)
	if err != nil || parsed == 0 {
		return fmt.Errorf("wants guarantees separated by commas, of: %s", strings.Join(every.Names(), ", "))
	}
	*g |= guarantees(parsed)
	return nil
}

// assignments is a list of KEY=VALUE. It has no String method that could show a value.
type assignments [][2]string

// Decode implements [kong.MapperValue].
func (a *assignments) Decode(ctx *kong.DecodeContext) error {
	value, err := pop(ctx)
	if err != nil {
		return err
	}
	key, val, ok := strings.Cut(value, "=")
	if !ok || key == "" {
		return errors.New("wants KEY=VALUE")
	}
	*a = append(*a, [2]string{key, val})
	return nil
}

// names is a list of names of environment variables, one for each flag.
type names []string

// Decode implements [kong.MapperValue].
func (n *names) Decode(ctx *kong.DecodeContext) error {
	value, err := pop(ctx)
	if err != nil {
		return err
	}
	if value == "" || strings.Contains(value, "=") {
		return errors.New("wants the name of one variable")
	}
	*n = append(*n, value)
	return nil
}

// userGroup is UID:GID, both as numbers; nil when it is not given. There are no other groups.
type userGroup struct{ *contain.Credential }

// Decode implements [kong.MapperValue].
func (u *userGroup) Decode(ctx *kong.DecodeContext) error {
	value, err := pop(ctx)
	if err != nil {
		return err
	}
	user, group, _ := strings.Cut(value, ":")
	uid, errUID := strconv.ParseUint(user, 10, 32)
	gid, errGID := strconv.ParseUint(group, 10, 32)
	if errUID != nil || errGID != nil || max(uid, gid) == math.MaxUint32 { // which stands for nobody
		return errors.New("wants UID:GID as numbers, such as 1000:1000")
	}
	u.Credential = &contain.Credential{UID: uint32(uid), GID: uint32(gid)}
	return nil
}

// pace is how fast a replay goes: instant, real, or a multiple such as 2x.
type pace struct{ cassette.Pace }

// Decode implements [kong.MapperValue].
func (p *pace) Decode(ctx *kong.DecodeContext) error {
	value, err := pop(ctx)
	if err != nil {
		return err
	}
	if p.Pace, err = cassette.ParsePace(value); err != nil {
		return errors.New("wants instant, real, or a speed such as 2x or 0.5x")
	}
	return nil
}
