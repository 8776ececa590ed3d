package contain

import (
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

// noteExit asks for the exit status too, which only a parent gets.
const noteExit = unix.NOTE_EXIT | unix.NOTE_EXITSTATUS

// siginfo is Darwin's siginfo_t as far as waitid fills it in; the rest is room.
type siginfo struct {
	signo, errno, code, pid, uid, status int32
	_                                    [80]byte
}

// The idtype and the codes of waitid.
const (
	pPID      = 1
	cldKilled = 2
	cldDumped = 3
)

// peekExit tells how a zombie has ended, without reaping it.
func peekExit(pid int) (syscall.WaitStatus, error) {
	var info siginfo
	_, _, errno := unix.Syscall6(unix.SYS_WAITID, pPID, uintptr(pid), uintptr(unsafe.Pointer(&info)),
		unix.WEXITED|unix.WNOHANG|unix.WNOWAIT, 0, 0)
	switch {
	case errno != 0:
		return 0, errno
	case info.pid != int32(pid):
		return 0, unix.ECHILD
	case info.code == cldKilled:
		return syscall.WaitStatus(info.status & 0x7f), nil
	case info.code == cldDumped:
		return syscall.WaitStatus(info.status&0x7f | 0x80), nil
	}
	return syscall.WaitStatus(info.status & 0xff << 8), nil
}

// groupMembers lists the members of a process group, zombies included.
func groupMembers(pgid int) ([]Member, error) {
	list, err := unix.SysctlKinfoProcSlice("kern.proc.pgrp", pgid)
	if err != nil {
		return nil, err
	}
	members := make([]Member, 0, len(list))
	for _, p := range list {
		members = append(members, Member{
			PID: int(p.Proc.P_pid), Parent: int(p.Eproc.Ppid), State: bsdState(p.Proc.P_stat),
			Name: escapeName(unix.ByteSliceToString(p.Proc.P_comm[:])),
		})
	}
	return members, nil
}

// bsdState is the letter for a BSD process state: idle, running, sleeping, stopped, zombie.
func bsdState(stat int8) byte {
	const letters = "?IRSTZ"
	if stat < 1 || int(stat) >= len(letters) {
		return 0
	}
	return letters[stat]
}
