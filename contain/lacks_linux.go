package contain

import (
	"sync"

	"golang.org/x/sys/unix"
)

// lacks says why the field cannot be honoured, "" when it can.
func lacks(name string) string {
	switch name {
	case fieldFiles, fieldNewSession, fieldTerminal, fieldNoNewPrivileges, fieldNoCoreDumps:
		return ""
	}
	if reason := stageRefused(); reason != "" {
		return reason
	}
	if name == fieldCredential && !mayBecomeOthers() {
		return "running a program as somebody else takes CAP_SETUID and CAP_SETGID, which root has"
	}
	return ""
}

// stageRefused says what keeps this host from having stages. See stage_linux.go.
var stageRefused = sync.OnceValue(func() string {
	if err := unix.Access("/proc/self/exe", unix.X_OK); err != nil {
		return "this program cannot execute itself through /proc: " + bare(err).Error()
	}
	return ""
})

// mayBecomeOthers asks for the capabilities that the changing of credentials takes, in whatever user namespace we are.
func mayBecomeOthers() bool {
	header := unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}
	var data [2]unix.CapUserData
	if err := unix.Capget(&header, &data[0]); err != nil {
		return unix.Geteuid() == 0
	}
	const both = 1<<unix.CAP_SETUID | 1<<unix.CAP_SETGID
	return data[0].Effective&both == both
}
