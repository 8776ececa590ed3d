package contain

func mechanisms() []mechanism {
	return []mechanism{newCgroup2("/proc/self/mountinfo", "/proc/self/cgroup"), processGroup{}}
}
