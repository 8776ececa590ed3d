package runner_test

import (
	. "github.com/onsi/ginkgo/v2"

	"github.com/boombox-go/boombox/runner"
)

// lacking are the fields that this system cannot honour.
var lacking = []string{
	"Files", "NewSession", "NoNewPrivileges", "NoCoreDumps", "Credential", "Umask", "Rlimits", "Nice", "IOPriority", "CPUAffinity",
	"OOMScoreAdj", "StopSignal", "PTY",
}

// shownHere shows what this system has of what a child is born with.
var shownHere = map[string]func(SpecContext, way, func(*runner.Cmd)){
	// Nobody is asked to end here: a Grace passes, and the tree is killed.
	"Grace": noRequest, "CancelGrace": noRequest,
}

func noRequest(SpecContext, way, func(*runner.Cmd)) {
	Skip("there is no signal to ask a tree to end with")
}

// firstCPU is a processor that we may run on.
func firstCPU() int { return 0 }
