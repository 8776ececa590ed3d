package contain

func mechanisms() []mechanism {
	return mechanismsAt("/proc/self/mountinfo", "/proc/self/cgroup")
}

// mechanismsAt are the mechanisms of a host that these files describe.
func mechanismsAt(mountinfo, membership string) []mechanism {
	cgroups, namespaces := newCgroup2(mountinfo, membership), newPIDNamespace()
	return []mechanism{
		cgroups, &leafNamespace{cgroups: cgroups, namespaces: namespaces}, namespaces, newSubreaper(), newThrowawayUser(), processGroup{},
	}
}
