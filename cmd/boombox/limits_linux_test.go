package main_test

import (
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/boombox-go/boombox/contain"
	"github.com/boombox-go/boombox/internal/suite"
)

var _ = Describe("caps", Label("limits"), func() {
	limits := func(report map[string]any, kind string) map[string]any {
		GinkgoHelper()
		for _, l := range report["limits"].([]any) {
			if l := l.(map[string]any); l["kind"] == kind {
				return l
			}
		}
		Fail("the report has no cap on " + kind)
		return nil
	}

	It("on memory ends a hog, and the report has the evidence", func() {
		suite.Require(contain.CapMemory)
		end := boombox(boxed([]string{"--report", "r.json", "--max-memory", "16MiB"}, "hog", "32")...)
		Expect(end.Status).To(Equal(128+9), end.Stderr)
		report := reportOf(read(end.Dir, "r.json"))
		Expect(limits(report, "memory")).To(And(
			HaveKeyWithValue("tripped", "yes"), HaveKeyWithValue("max", 16.0*(1<<20)), HaveKeyWithValue("events", BeNumerically(">", 0)),
			HaveKeyWithValue("effective", 16.0*(1<<20)),
		))
		Expect(report).To(HaveKeyWithValue("outside_kills", BeEquivalentTo(0)))
		Expect(report["peak_memory_bytes"]).To(BeNumerically(">", 12<<20))
		Expect(report["cpu_ms"]).To(BeNumerically(">", 0))
		Expect(report["guarantees"]).To(ContainElement("cap-memory"))
	})

	It("that are not hit are reported so", func() {
		suite.Require(contain.CapMemory | contain.CapProcesses | contain.CapCPU)
		end := boombox(boxed([]string{"--report", "r.json", "--max-memory", "256MiB", "--max-processes", "100", "--cpu", "2"}, "exit", "3")...)
		Expect(end.Status).To(Equal(3), end.Stderr)
		report := reportOf(read(end.Dir, "r.json"))
		for kind, most := range map[string]float64{"memory": 256 << 20, "processes": 100, "cpu": 2} {
			Expect(limits(report, kind)).To(And(
				HaveKeyWithValue("max", most), HaveKeyWithValue("tripped", "no"), HaveKeyWithValue("events", BeEquivalentTo(0)),
				HaveKeyWithValue("effective", most)))
		}
	})

	It("on processes hold a bomb, which ends with the run", func() {
		suite.Require(contain.CapProcesses)
		end := boombox(boxed([]string{"--report", "r.json", "--max-processes", "20", "--timeout", "1s"}, "taskbomb", "60")...)
		Expect(end.Status).To(Equal(124), end.Stderr)
		report := reportOf(read(end.Dir, "r.json"))
		if report["mechanism"] == string(contain.PIDNamespace) {
			Expect(limits(report, "processes")).To(And(HaveKeyWithValue("tripped", "unknown"), HaveKeyWithValue("events", BeNil())))
		} else {
			Expect(limits(report, "processes")).To(HaveKeyWithValue("tripped", "yes"))
		}
		Expect(report).To(HaveKeyWithValue("survivors", BeEquivalentTo(0)))
	})

	DescribeTable("that the host cannot enforce are refused with the reason and the remedy, and nothing starts",
		func(kind string, flags ...string) {
			args := boxed(append([]string{"--report", "r.json"}, flags...), "streams", "out:SECRET")
			end := elsewhere(readOnlyCgroups(), call{args: args})
			Expect(end).To(haveRefused(kind + " limit cannot be enforced (read-only): "))
			Expect(end.Stderr).To(ContainSubstring("would help: "))
			report := reportOf(read(end.Dir, "r.json"))
			Expect(report).To(HaveKeyWithValue("outcome", "start_failed"))
			Expect(limits(report, kind)).To(And(HaveKeyWithValue("tripped", "unknown"), HaveKeyWithValue("events", BeNil()),
				HaveKeyWithValue("effective", BeNil())))
			Expect(report).To(HaveKeyWithValue("outside_kills", BeNil()))
		},
		Entry("memory", "memory", "--max-memory", "64MiB"),
		Entry("processes", "processes", "--max-processes", "64"),
		Entry("cpu", "cpu", "--cpu", "1"),
	)
})

var _ = Describe("an untrusted program", Label("limits"), func() {
	const needs = contain.KillTree | contain.KillOnOwnerDeath | contain.CapMemory | contain.CapProcesses | contain.CapCPU

	hasAll := func() bool {
		g, err := contain.New(contain.Options{Require: needs})
		return err == nil && g.Close() == nil
	}

	It("is confined in full, or does not start", func() {
		end := boombox(boxed([]string{"--untrusted", "--report", "r.json"}, "confined")...)
		report := reportOf(read(end.Dir, "r.json"))
		if !hasAll() {
			Expect(end).To(haveRefused("cannot"))
			Expect(report).To(HaveKeyWithValue("outcome", "start_failed"))
			return
		}
		Expect(end.Status).To(Equal(0), end.Stderr)
		Expect(end.Stdout).To(MatchRegexp(`^privileges=1 core=0/\d+ session=true\n$`))
		Expect(report["limits"]).To(HaveLen(3))
		for _, name := range strings.Split(needs.String(), ",") {
			Expect(report["guarantees"]).To(ContainElement(name))
		}
	})

	It("sees of the environment PATH, and what is given to it", func() {
		suite.Require(needs)
		end := boombox(boxed([]string{"--untrusted", "--env", "K=V"}, "envnames")...)
		Expect(end.Status).To(Equal(0), end.Stderr)
		Expect(strings.Fields(end.Stdout)).To(ConsistOf("PATH", "K"))
	})
})
