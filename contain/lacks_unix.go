//go:build darwin || dragonfly || freebsd || netbsd || openbsd

package contain

import "os"

// lacks says why the field cannot be honoured, "" when it can. What a child gets here is what [syscall.SysProcAttr] has.
func lacks(name string) string {
	switch name {
	case fieldFiles, fieldNewSession, fieldTerminal:
		return ""
	case fieldCredential:
		if os.Geteuid() != 0 {
			return "only root may run a program as somebody else"
		}
		return ""
	default:
		return "only Linux has it"
	}
}
