package runner_test

import (
	"runtime"
	"strconv"
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"golang.org/x/sys/unix"

	"github.com/boombox-go/boombox/runner"
)

// lacking are the fields that this system cannot honour.
var lacking []string

// bornWith shows that the child says "KEY VALUE" of what it was born with, and something else without the field.
func bornWith(want map[string]string) func(SpecContext, way, func(*runner.Cmd)) {
	return func(ctx SpecContext, w way, set func(*runner.Cmd)) {
		plain := born(outputOf(ctx, w, fixture("knobs"), func(*runner.Cmd) {}))
		got := born(outputOf(ctx, w, fixture("knobs"), set))
		for key, value := range want {
			Expect(got).To(HaveKeyWithValue(key, value))
			Expect(plain).NotTo(HaveKeyWithValue(key, value), "the control")
		}
	}
}

func born(text string) map[string]string {
	b := map[string]string{}
	for line := range strings.Lines(text) {
		key, value, _ := strings.Cut(strings.TrimSpace(line), " ")
		b[key] = value
	}
	return b
}

func init() {
	for name, want := range map[string]map[string]string{
		"NewSession":      {"session": "true"},
		"NoNewPrivileges": {"NoNewPrivs": "1"},
		"Umask":           {"Umask": "0137"},
		"Nice":            {"nice": "7"},
		"IOPriority":      {"ioprio": "2 6"},
		"OOMScoreAdj":     {"oom": "321"},
	} {
		shownHere[name] = bornWith(want)
	}
	shownHere["CPUAffinity"] = func(ctx SpecContext, w way, set func(*runner.Cmd)) {
		if runtime.NumCPU() > 1 {
			plain := born(outputOf(ctx, w, fixture("knobs"), func(*runner.Cmd) {}))
			Expect(plain).NotTo(HaveKeyWithValue("Cpus_allowed_list", strconv.Itoa(firstCPU())), "the control")
		}
		Expect(born(outputOf(ctx, w, fixture("knobs"), set))).To(HaveKeyWithValue("Cpus_allowed_list", strconv.Itoa(firstCPU())))
	}
	shownHere["NoCoreDumps"] = func(ctx SpecContext, w way, set func(*runner.Cmd)) {
		// The control is package contain's, which has a limit to lose.
		Expect(born(outputOf(ctx, w, fixture("knobs"), set))).To(HaveKeyWithValue("core", HavePrefix("0 ")))
	}
	shownHere["Rlimits"] = func(ctx SpecContext, w way, set func(*runner.Cmd)) {
		// A shell needs less memory than a test binary that looks for races.
		ask := func(set func(*runner.Cmd)) []string {
			return strings.Fields(outputOf(ctx, w, shell("for l in c f n s d t; do ulimit -S$l; ulimit -H$l; done"), set))
		}
		const blocks, kibs, seconds = 64 << 20 / 512, 64 << 10, 64 << 20
		var want []string
		for _, soft := range []int{blocks, blocks, 0, kibs, kibs, seconds} {
			if soft == 0 {
				want = append(want, "100", "100")
				continue
			}
			want = append(want, strconv.Itoa(soft), strconv.Itoa(2*soft))
		}
		Expect(ask(set)).To(Equal(want))
		plain := ask(func(*runner.Cmd) {})
		for i := range want {
			Expect(plain[i]).NotTo(Equal(want[i]), "the control")
		}
	}
}

// firstCPU is a processor that we may run on.
func firstCPU() int {
	var set unix.CPUSet
	_ = unix.SchedGetaffinity(0, &set)
	for cpu := range mostCPUs {
		if set.IsSet(cpu) {
			return cpu
		}
	}
	return 0
}

const mostCPUs = 1024
