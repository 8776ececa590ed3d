//go:build unix && !linux

package runner_test

// lacking are the fields that this system cannot honour.
var lacking = []string{
	"NoNewPrivileges", "NoCoreDumps", "Umask", "Rlimits", "Nice", "IOPriority", "CPUAffinity", "OOMScoreAdj",
}

// firstCPU is a processor that we may run on.
func firstCPU() int { return 0 }
