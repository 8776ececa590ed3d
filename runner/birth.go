package runner

import (
	"io/fs"
	"slices"
	"strings"

	"github.com/boombox-go/boombox/contain"
	"github.com/boombox-go/boombox/internal/sealed"
)

// The ranges that the kernel has for what a child is born with.
const (
	firstNice, lastNice = -20, 19
	lastIOLevel         = 7
	mostOOMScore        = 1000
	// mostCPUs is how many processors the system call for the affinity is given room for.
	mostCPUs = 1024
	// noID is the user or group that the kernel takes for "as it was".
	noID = ^uint32(0)
)

// invalidBirth says which field of what the child is born with makes no sense, and why.
func (c *Cmd) invalidBirth() (field, reason string) {
	switch arg0 := sealed.View(c.Arg0); {
	case len(arg0) > 1:
		return "Arg0", "it is more than one name"
	case anyHas(arg0, "\x00"):
		return "Arg0", "it holds a NUL byte"
	}
	if p := c.Credential; p != nil && (p.UID == noID || p.GID == noID || slices.Contains(p.Groups, noID)) {
		return "Credential", "it holds a number that stands for nobody"
	}
	if c.Umask != nil && *c.Umask&^fs.ModePerm != 0 {
		return "Umask", "it has bits beyond the permissions"
	}
	if name := badRlimit(c.Rlimits); name != "" {
		return "Rlimits", "the soft limit of " + name + " is above the hard one"
	}
	if core := c.Rlimits.Core; c.NoCoreDumps && core != nil && core.Hard != 0 {
		return "Rlimits", "NoCoreDumps contradicts the limit of Core"
	}
	if c.Nice != nil && (*c.Nice < firstNice || *c.Nice > lastNice) {
		return "Nice", "it is not between -20 and 19"
	}
	if p := c.IOPriority; p != nil {
		if p.Class < contain.IORealtime || p.Class > contain.IOIdle {
			return "IOPriority", "it has an unknown class"
		}
		if p.Level < 0 || p.Level > lastIOLevel {
			return "IOPriority", "its level is not between 0 and 7"
		}
	}
	if c.CPUAffinity != nil && len(c.CPUAffinity) == 0 {
		return "CPUAffinity", "it holds no processor"
	}
	if slices.ContainsFunc(c.CPUAffinity, func(cpu int) bool { return cpu < 0 || cpu >= mostCPUs }) {
		return "CPUAffinity", "it holds a number that is no processor"
	}
	if c.OOMScoreAdj != nil && (*c.OOMScoreAdj < -mostOOMScore || *c.OOMScoreAdj > mostOOMScore) {
		return "OOMScoreAdj", "it is not between -1000 and 1000"
	}
	return "", ""
}

// badRlimit names the limits whose soft value is above the hard one.
func badRlimit(l contain.Rlimits) string {
	var bad []string
	for _, r := range []struct {
		name  string
		limit *contain.Rlimit
	}{
		{"Core", l.Core}, {"NoFile", l.NoFile}, {"FSize", l.FSize}, {"Stack", l.Stack}, {"CPU", l.CPU}, {"Data", l.Data},
	} {
		if r.limit != nil && r.limit.Soft > r.limit.Hard {
			bad = append(bad, r.name)
		}
	}
	return strings.Join(bad, " and ")
}

// cloneBirth copies what a plain copy shares.
func (c *Cmd) cloneBirth() {
	c.Files, c.CPUAffinity = slices.Clone(c.Files), slices.Clone(c.CPUAffinity)
	if c.Credential = copied(c.Credential); c.Credential != nil {
		c.Credential.Groups = slices.Clone(c.Credential.Groups)
	}
	c.PTY = copied(c.PTY)
	c.Umask, c.Nice, c.IOPriority, c.OOMScoreAdj = copied(c.Umask), copied(c.Nice), copied(c.IOPriority), copied(c.OOMScoreAdj)
	l := &c.Rlimits
	for _, limit := range []**contain.Rlimit{&l.Core, &l.NoFile, &l.FSize, &l.Stack, &l.CPU, &l.Data} {
		*limit = copied(*limit)
	}
}

func copied[T any](p *T) *T {
	if p == nil {
		return nil
	}
	return new(*p)
}
