package main_test

import (
	"path/filepath"
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"github.com/onsi/gomega/types"

	"github.com/boombox-go/boombox/fixtures"
)

var _ = Describe("the report", func() {
	number := BeAssignableToTypeOf(1.0)
	flag := BeAssignableToTypeOf(true)

	// shape is every field and what may stand in it; a field too few or too many fails.
	shape := func(change map[string]types.GomegaMatcher) types.GomegaMatcher {
		all := map[string]types.GomegaMatcher{
			"outcome": BeElementOf("exited", "signalled", "timed_out", "idle_timed_out", "overflowed", "cancelled",
				"start_failed"),
			"exit_code": BeNil(), "signal": BeNil(),
			"mechanism":  Equal(usualMechanism()),
			"guarantees": BeAssignableToTypeOf([]any{}),
			"limits":     BeEmpty(), "survivors": Or(BeNil(), number), "pipes_held": flag,
			"duration_ms": number, "stdout_bytes": number, "stderr_bytes": number,
			"cpu_ms": Or(BeNil(), number), "peak_memory_bytes": BeNil(), "outside_kills": BeNil(), "replayed": BeFalse(),
		}
		for key, m := range change {
			all[key] = m
		}
		fields := []types.GomegaMatcher{HaveLen(len(all))}
		for key, m := range all {
			fields = append(fields, HaveKeyWithValue(key, m))
		}
		return And(fields...)
	}

	It("is one JSON object of a run that exited", func() {
		end := boombox(boxed([]string{"--report", "r.json"}, "streams", fixtures.Out("abc"), fixtures.Err("de"), "exit:3")...)
		text := read(end.Dir, "r.json")
		Expect(strings.Count(text, "\n")).To(Equal(1))
		Expect(text).To(HaveSuffix("}\n"))
		Expect(reportOf(text)).To(shape(map[string]types.GomegaMatcher{
			"outcome": Equal("exited"), "exit_code": BeEquivalentTo(3), "survivors": BeEquivalentTo(0),
			"stdout_bytes": BeEquivalentTo(3), "stderr_bytes": BeEquivalentTo(2), "pipes_held": BeFalse(),
		}))
	})

	It("tells a signal", func() {
		end := boombox(boxed([]string{"--report", "r.json"}, "signal", "15")...)
		Expect(reportOf(read(end.Dir, "r.json"))).To(shape(map[string]types.GomegaMatcher{
			"outcome": Equal("signalled"), "signal": Equal("SIGTERM"),
		}))
	})

	It("tells a timeout and how the program then ended", func() {
		end := boombox(boxed([]string{"--report", "r.json", "--timeout", "300ms"}, "sleep", "quiet")...)
		report := reportOf(read(end.Dir, "r.json"))
		Expect(report).To(shape(map[string]types.GomegaMatcher{
			"outcome": Equal("timed_out"), "signal": Equal("SIGKILL"), "survivors": BeEquivalentTo(0),
		}))
		Expect(report["duration_ms"]).To(And(BeNumerically(">=", 300), BeNumerically("<", 5000)))
	})

	nothing := map[string]types.GomegaMatcher{
		"outcome": Equal("start_failed"), "mechanism": BeNil(), "guarantees": BeNil(), "survivors": BeNil(),
		"pipes_held": BeNil(), "duration_ms": BeNil(), "stdout_bytes": BeNil(), "stderr_bytes": BeNil(), "cpu_ms": BeNil(),
	}

	It("is null, not 0, where nothing ran", func() {
		end := boombox("run", "--report", "r.json", "--", "no-such-program")
		Expect(end.Status).To(Equal(127))
		Expect(reportOf(read(end.Dir, "r.json"))).To(shape(nothing))
	})

	It("goes to standard error for -", func() {
		end := boombox(boxed([]string{"--report", "-"}, "exit")...)
		Expect(reportOf(end.Stderr)).To(shape(map[string]types.GomegaMatcher{"exit_code": BeEquivalentTo(0)}))
	})

	It("takes the place of an earlier one", func() {
		dir := GinkgoT().TempDir()
		call{args: boxed([]string{"--report", "r.json"}, "exit", "1"), dir: dir}.run()
		call{args: []string{"run", "--report", "r.json", "--", "no-such-program"}, dir: dir}.run()
		Expect(reportOf(read(dir, "r.json"))).To(HaveKeyWithValue("outcome", "start_failed"))
	})

	It("that cannot be written is told before anything starts", func() {
		marker := filepath.Join(GinkgoT().TempDir(), "cassette")
		end := boombox("record", marker, "--report", "no-such-dir/SECRET/r.json", "--", fixture("exit")[0])
		Expect(end).To(haveRefused("cannot write the report: open r.json"))
		Expect(end.Stderr).NotTo(ContainSubstring("SECRET"))
		Expect(marker).NotTo(BeAnExistingFile())
	})
})
