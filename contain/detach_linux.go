package contain

func detachedMember(pid int) Member { return lookMember(pid) }
