package contain

import (
	"bytes"
	"errors"
	"math"
	"slices"
	"strconv"
	"strings"
)

// The parsers of what the kernel says about controllers and caps.

// parseV1Cgroups finds, in a /proc/PID/cgroup, our own path in the cgroup v1 hierarchy of each controller.
func parseV1Cgroups(text []byte) map[string]string {
	own := map[string]string{}
	for line := range strings.Lines(string(text)) {
		// 4:cpu,cpuacct:/user.slice
		id, rest, ok1 := strings.Cut(strings.TrimSuffix(line, "\n"), ":")
		names, path, ok2 := strings.Cut(rest, ":")
		if !ok1 || !ok2 || id == "0" || !strings.HasPrefix(path, "/") {
			continue
		}
		for name := range strings.SplitSeq(names, ",") {
			if name != "" && !strings.HasPrefix(name, "name=") {
				own[name] = path
			}
		}
	}
	return own
}

// parseV1Mounts finds the mounts of the cgroup v1 hierarchy of one controller in a /proc/PID/mountinfo.
func parseV1Mounts(text []byte, controller string) []cgroupMount {
	return parseMounts(text, func(kind, options string) bool {
		return kind == "cgroup" && slices.Contains(strings.Split(options, ","), controller)
	})
}

var errCapFile = errors.New("malformed cgroup file")

// unlimited is a cap that is none.
const unlimited = math.MaxFloat64

// v1Unlimited is where cgroup v1's numbers for "no limit of memory" begin: the largest multiple of a page.
const v1Unlimited = 1 << 62

// parseMax reads a file that holds one cap: a number, "max", or in cgroup v1 -1 or a very large number.
func parseMax(text []byte) (float64, error) {
	word := strings.TrimSpace(string(text))
	if word == "max" || word == "-1" {
		return unlimited, nil
	}
	n, err := strconv.ParseUint(word, 10, 64)
	if err != nil {
		return 0, errCapFile
	}
	if n >= v1Unlimited {
		return unlimited, nil
	}
	return float64(n), nil
}

// parseCPUMax reads a cpu.max file: quota and period in microseconds. The answer is in cores.
func parseCPUMax(text []byte) (float64, error) {
	words := strings.Fields(string(text))
	if len(words) != 2 {
		return 0, errCapFile
	}
	return cores([]byte(words[0]), []byte(words[1]))
}

// cores is a quota in a period.
func cores(quota, period []byte) (float64, error) {
	q, err := parseMax(quota)
	p, err2 := parseMax(period)
	switch {
	case err != nil || err2 != nil || p == 0 || p == unlimited:
		return 0, errCapFile
	case q == unlimited:
		return unlimited, nil
	}
	return q / p, nil
}

// parseCount reads one number out of a file of lines "key number"; false when it is not there.
func parseCount(text []byte, key string) (int64, bool) {
	for line := range bytes.Lines(text) {
		words := bytes.Fields(line)
		if len(words) == 2 && string(words[0]) == key {
			n, err := strconv.ParseInt(string(words[1]), 10, 64)
			return n, err == nil && n >= 0
		}
	}
	return 0, false
}
