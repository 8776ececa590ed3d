package contain_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/boombox-go/boombox/contain"
	"github.com/boombox-go/boombox/internal/suite"
	. "github.com/boombox-go/boombox/matchers"
)

var _ = Describe("changing caps of a living group", Label("limits"), func() {
	It("lets more processes in, and fewer", func() {
		suite.Require(contain.CapProcesses)
		g := cappedGroup(contain.Limits{Processes: 2})
		full := func(most float64) {
			GinkgoHelper()
			_, err := startSmall(g)
			hit, ok := errors.AsType[*contain.LimitHit](err)
			Expect(ok).To(BeTrue(), "%v", err)
			Expect(hit.Max).To(Equal(most))
		}
		var last *contain.Child
		more := func(n int) {
			GinkgoHelper()
			for range n {
				var err error
				last, err = startSmall(g)
				Expect(err).NotTo(HaveOccurred())
			}
		}
		more(2)
		full(2)
		Expect(g.UpdateLimits(contain.Limits{Processes: 4})).To(Succeed())
		Expect(capOf(g, contain.LimitProcesses)).To(And(
			HaveField("Max", 4.0), HaveField("Effective", 4.0), HaveField("Tripped", contain.HasTripped)), "it was hit once")
		more(2)
		full(4)
		Expect(g.UpdateLimits(contain.Limits{Processes: 3})).To(Succeed())
		Expect(g.Members()).To(HaveLen(4), "nobody dies of it")
		Expect(last.Close()).To(Succeed())
		full(3)
	})

	It("takes memory from who holds more, as the kernel does", func() {
		suite.Require(contain.CapMemory)
		g := cappedGroup(contain.Limits{Memory: 256 << 20})
		r := start(g, "hog", "32")
		line, err := r.output.ReadString('\n')
		Expect(err).NotTo(HaveOccurred())
		Expect(line).To(Equal("held\n"))
		Expect(g.UpdateLimits(contain.Limits{Memory: 128 << 20})).To(Succeed())
		Expect(capOf(g, contain.LimitMemory)).To(And(
			HaveField("Max", float64(128<<20)), HaveField("Effective", float64(128<<20)), HaveField("Tripped", contain.NotTripped)))
		Expect(r.PID()).To(BeRunning(), "the control: there was room")
		if err := g.UpdateLimits(contain.Limits{Memory: 16 << 20}); err != nil {
			refused, ok := errors.AsType[*contain.LimitError](err)
			Expect(ok).To(BeTrue(), "%v", err)
			Expect(refused.Reason).To(Equal(contain.LimitInUse), "cgroup v1: %v", err)
			Expect(capOf(g, contain.LimitMemory)).To(HaveField("Effective", float64(128<<20)))
			Expect(r.PID()).To(BeRunning())
			return
		}
		Eventually(r.Exited()).WithTimeout(longEnough).Should(BeClosed())
		Expect(statusOf(r.Child).Signal).To(Equal(syscall.SIGKILL))
		Expect(g).To(HaveHitLimit(contain.LimitMemory))
	})

	It("gives processors back", func() {
		suite.Require(contain.CapCPU)
		g := cappedGroup(contain.Limits{CPU: 0.02})
		spec, _, find := specOf("spinner")
		DeferCleanup(reap, find)
		_, err := g.Start(context.Background(), spec)
		Expect(err).NotTo(HaveOccurred())
		withheld := func() int64 { return *capOf(g, contain.LimitCPU).Events }
		Eventually(withheld).WithTimeout(longEnough).Should(BeNumerically(">", 2))
		Expect(g.UpdateLimits(contain.Limits{CPU: 64})).To(Succeed())
		// The period in which it was changed may count yet.
		was := withheld()
		Eventually(func() bool {
			before := was
			was = withheld()
			return was == before
		}).WithTimeout(longEnough).WithPolling(300 * time.Millisecond).Should(BeTrue())
		Consistently(withheld).WithTimeout(500 * time.Millisecond).Should(Equal(was))
		Expect(g.UpdateLimits(contain.Limits{CPU: 0.02})).To(Succeed())
		Eventually(withheld).WithTimeout(longEnough).Should(BeNumerically(">", was), "the control: it is the cap")
	})

	It("changes all values or none, and no set of them", func() {
		suite.Require(contain.CapMemory | contain.CapProcesses | contain.CapCPU)
		was := contain.Limits{Memory: 64 << 20, Processes: 20, CPU: 1}
		g := cappedGroup(was)
		for kind, l := range map[contain.LimitKind]contain.Limits{
			contain.LimitMemory:    {Processes: 30, CPU: 2},
			contain.LimitProcesses: {Memory: 32 << 20},
		} {
			refused, ok := errors.AsType[*contain.LimitError](g.UpdateLimits(l))
			Expect(ok).To(BeTrue())
			Expect(*refused).To(And(HaveField("Kind", kind), HaveField("Reason", contain.LimitFixed)))
			Expect(refused.Error()).To(ContainSubstring("would help: "))
		}
		for _, kind := range []contain.LimitKind{contain.LimitMemory, contain.LimitProcesses, contain.LimitCPU} {
			Expect(capOf(g, kind)).To(And(HaveField("Max", was.Of(kind)), HaveField("Effective", was.Of(kind))))
		}
		now := contain.Limits{Memory: 128 << 20, Processes: 10, CPU: 0.5}
		Expect(g.UpdateLimits(now)).To(Succeed())
		for _, kind := range []contain.LimitKind{contain.LimitMemory, contain.LimitProcesses, contain.LimitCPU} {
			Expect(capOf(g, kind)).To(And(HaveField("Max", now.Of(kind)), HaveField("Effective", now.Of(kind))))
		}
	})

	// The values have as many digits as those that they replace: a file is not a kernel, and keeps the rest.
	It("writes the former values back when one is refused", func() {
		dir := GinkgoT().TempDir()
		for name, text := range map[string]string{
			"memory.max": "9999999", "memory.oom.group": "0", "memory.swap.max": "9", "pids.max": "99", "cpu.max": "999999 100000",
			"pids.events": "max 0\n",
		} {
			Expect(os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600)).To(Succeed())
		}
		was, next := contain.Limits{Memory: 8388608, Processes: 20, CPU: 1.5}, contain.Limits{Memory: 4194304, Processes: 50, CPU: 2.5}
		caps, err := contain.CapsAt(dir, was)
		Expect(err).NotTo(HaveOccurred())
		DeferCleanup(caps.Close)
		holds := func(memory, pids, cpu string) {
			GinkgoHelper()
			Expect(readFile(filepath.Join(dir, "memory.max"))).To(Equal(memory))
			Expect(readFile(filepath.Join(dir, "pids.max"))).To(Equal(pids))
			Expect(readFile(filepath.Join(dir, "cpu.max"))).To(Equal(cpu))
		}
		holds("8388608", "20", "150000 100000")
		Expect(readFile(filepath.Join(dir, "memory.swap.max"))).To(Equal("0"), "or what is over the cap is swapped")
		Expect(readFile(filepath.Join(dir, "memory.oom.group"))).To(Equal("1"))
		Expect(caps.Update(next)).To(Succeed(), "the control")
		holds("4194304", "50", "250000 100000")
		Expect(caps.Update(was)).To(Succeed())

		// Meanwhile a start was refused: a change that fails is no reason to forget it.
		Expect(os.WriteFile(filepath.Join(dir, "pids.events"), []byte("max 7\n"), 0)).To(Succeed())
		cpu := filepath.Join(dir, "cpu.max")
		Expect(os.Rename(cpu, cpu+".kept")).To(Succeed())
		err = caps.Update(next)
		Expect(os.Rename(cpu+".kept", cpu)).To(Succeed())
		Expect(err).To(MatchError(syscall.ENOENT))
		var refused *contain.LimitError
		Expect(errors.As(err, &refused)).To(BeTrue())
		Expect(*refused).To(And(HaveField("Kind", contain.LimitCPU), HaveField("Reason", contain.LimitKernelTooOld)))
		holds("8388608", "20", "150000 100000")
		for _, kind := range []contain.LimitKind{contain.LimitMemory, contain.LimitProcesses, contain.LimitCPU} {
			l, _ := caps.Evidence().Of(kind)
			Expect(l).To(And(HaveField("Max", was.Of(kind)), HaveField("Effective", was.Of(kind))))
		}
		processes, _ := caps.Evidence().Of(contain.LimitProcesses)
		Expect(processes).To(And(HaveField("Tripped", contain.HasTripped), HaveField("Events", HaveValue(BeEquivalentTo(7)))))
	})

	It("refuses a kernel that takes another value", func() {
		dir := GinkgoT().TempDir()
		Expect(os.WriteFile(filepath.Join(dir, "pids.max"), []byte("99"), 0o600)).To(Succeed())
		caps, err := contain.CapsAt(dir, contain.Limits{Processes: 20})
		Expect(err).NotTo(HaveOccurred())
		DeferCleanup(caps.Close)
		// "5" over "20" leaves "50".
		refused, ok := errors.AsType[*contain.LimitError](caps.Update(contain.Limits{Processes: 5}))
		Expect(ok).To(BeTrue())
		Expect(refused.Reason).To(Equal(contain.LimitReadback))
		Expect(readFile(filepath.Join(dir, "pids.max"))).To(Equal("20"))
		Expect(strings.Count(refused.Error(), "\n")).To(BeZero())
	})
})
