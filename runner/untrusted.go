package runner

import (
	"time"

	"github.com/boombox-go/boombox/contain"
)

// The caps of [Untrusted], made for one tool that does one thing. Each is a field of the [Cmd] that can be changed.
const (
	untrustedTimeout   = 30 * time.Second
	untrustedOutput    = 8 << 20   // bytes of each stream
	untrustedMemory    = 512 << 20 // bytes
	untrustedProcesses = 64        // tasks: a runtime with threads for each processor needs a dozen
	untrustedCPU       = 1         // core
)

// Untrusted describes a program of unknown origin, with all that this package can do about one:
//
//   - an environment that is empty but for PATH, which is ours, and no standard input
//   - at most 8 MiB of each output stream, and 30 s of time; beyond either, the run ends
//   - at most 512 MiB of memory, 64 processes and threads, and one core, for the whole tree
//   - no new privileges, no core dumps, a session of its own
//   - [contain.KillTree] and [contain.KillOnOwnerDeath]
//
// Every start on a host that cannot give one of these is refused, with the reason; nothing is weakened. Who can do
// without one says so by name: cmd.Limits.CPU = 0. It is not a sandbox: the program reads and writes every file, and opens
// every connection, that we may.
func Untrusted(name string, args ...string) *Cmd {
	c := Command(name, args...)
	c.Env = AllowEnv("PATH")
	c.Output = Both(Stream{Policy: Fail, MaxBytes: untrustedOutput})
	c.Timeout = untrustedTimeout
	c.Require = contain.KillTree | contain.KillOnOwnerDeath
	c.Limits = contain.Limits{Memory: untrustedMemory, Processes: untrustedProcesses, CPU: untrustedCPU}
	c.NewSession, c.NoNewPrivileges, c.NoCoreDumps = true, true, true
	return c
}
