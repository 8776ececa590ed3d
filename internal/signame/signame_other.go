//go:build !unix

package signame

import "syscall"

func system(sig syscall.Signal) string {
	if sig > 0 && int(sig) < len(linux) {
		return linux[sig]
	}
	return ""
}

func bySystem(string) syscall.Signal { return 0 }
