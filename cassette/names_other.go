//go:build !unix

package cassette

import "syscall"

func systemSignalName(sig syscall.Signal) string {
	if sig > 0 && int(sig) < len(linuxSignals) {
		return linuxSignals[sig]
	}
	return ""
}

func systemSignal(string) syscall.Signal { return 0 }
