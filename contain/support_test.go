package contain_test

import (
	"bufio"
	"context"
	"io"
	"os"
	"strconv"
	"strings"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/boombox-go/boombox/contain"
	"github.com/boombox-go/boombox/fixtures"
	"github.com/boombox-go/boombox/internal/suite"
)

// bound is the time within which a tree that is killed must be gone, generous for a loaded machine.
const bound = 5 * time.Second

// longEnough is for what is only waited for, however loaded the machine.
const longEnough = time.Minute

// newGroup makes a group that is closed with the spec.
func newGroup(m contain.Mechanism) *contain.Group {
	GinkgoHelper()
	g, err := contain.New(contain.Options{Mechanism: m})
	Expect(err).NotTo(HaveOccurred())
	DeferCleanup(func() { Expect(g.Close()).To(Succeed()) })
	return g
}

// running is a fixture child that was started.
type running struct {
	*contain.Child
	// left are the processes that the child says it left behind.
	left []int
	// output reads the rest of what the child prints.
	output *bufio.Reader
	// find looks for its processes from outside.
	find func() []contain.Member
}

// specOf is a command for a fixture child, with its output in a pipe.
func specOf(child string, args ...string) (spec contain.Spec, stdout *os.File, find func() []contain.Member) {
	GinkgoHelper()
	nonce, find := suite.WithNonce()
	// On a busy machine a spec takes its time.
	argv := fixtures.Argv(child, append([]string{"life=60s"}, args...)...)
	r, w, err := os.Pipe()
	Expect(err).NotTo(HaveOccurred())
	DeferCleanup(func() { _ = r.Close(); _ = w.Close() })
	return contain.Spec{
		Path: argv[0], Argv: contain.Seal(argv...), Env: contain.Seal(append(os.Environ(), nonce)...), Stdout: w,
	}, r, find
}

// start starts a fixture child and returns when it says that it is ready.
func start(g *contain.Group, child string, args ...string) *running {
	GinkgoHelper()
	spec, stdout, find := specOf(child, args...)
	// Whatever the spec proves, nothing outlives it.
	DeferCleanup(reap, find)
	c, err := g.Start(context.Background(), spec)
	Expect(err).NotTo(HaveOccurred())
	Expect(spec.Stdout.Close()).To(Succeed())
	output := bufio.NewReader(stdout)
	return &running{Child: c, left: outer(readReady(output), find), output: output, find: find}
}

func readReady(output *bufio.Reader) (pids []int) {
	GinkgoHelper()
	line, err := output.ReadString('\n')
	Expect(err).NotTo(HaveOccurred(), "the child did not say that it is ready")
	words := strings.Fields(line)
	Expect(words[0]).To(Equal("ready"))
	for _, word := range words[1:] {
		pid, err := strconv.Atoi(word)
		Expect(err).NotTo(HaveOccurred())
		pids = append(pids, pid)
	}
	return pids
}

// reap kills what a spec left on purpose. The nonce says that they are ours.
func reap(find func() []contain.Member) {
	GinkgoHelper()
	suite.EndAll(find)
}

func pidsOf(members []contain.Member) (pids []int) {
	for _, m := range members {
		pids = append(pids, m.PID)
	}
	return pids
}

func mechanisms() []contain.Mechanism {
	var list []contain.Mechanism
	for _, rung := range contain.Host().Rungs {
		if rung.Offered() {
			list = append(list, rung.Mechanism)
		}
	}
	return list
}

// onEvery makes a spec for each mechanism that the host has.
func onEvery(text string, body func(m contain.Mechanism)) {
	for _, m := range mechanisms() {
		It(text+" ("+string(m)+")", func() { body(m) })
	}
}

// onEveryThat makes a spec for each mechanism of the host that gives a guarantee.
func onEveryThat(gives contain.Guarantee, text string, body func(m contain.Mechanism)) {
	some := false
	for _, rung := range contain.Host().Rungs {
		if rung.Offered() && rung.Guarantees.Has(gives) {
			some = true
			It(text+" ("+string(rung.Mechanism)+")", func() { body(rung.Mechanism) })
		}
	}
	if !some {
		It(text, func() { suite.Require(gives) })
	}
}

// statusOf is how the first process of a tree ended.
func statusOf(c *contain.Child) contain.ExitStatus {
	GinkgoHelper()
	status, over := c.Poll()
	Expect(over).To(BeTrue())
	return status
}

func copyFile(from, to string) {
	GinkgoHelper()
	r, err := os.Open(from)
	Expect(err).NotTo(HaveOccurred())
	defer r.Close()
	w, err := os.OpenFile(to, os.O_CREATE|os.O_WRONLY, 0o755)
	Expect(err).NotTo(HaveOccurred())
	_, err = io.Copy(w, r)
	Expect(err).NotTo(HaveOccurred())
	Expect(w.Close()).To(Succeed())
}
