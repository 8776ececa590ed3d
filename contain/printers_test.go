package contain_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"log/slog"
	"sync"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"github.com/onsi/gomega/format"

	"github.com/boombox-go/boombox/contain"
)

// printed is v through every printer, by name.
func printed(v any) map[string]string {
	GinkgoHelper()
	var log bytes.Buffer
	slog.New(slog.NewTextHandler(&log, nil)).Info("", "v", v)
	text, err := json.Marshal(v)
	Expect(err).NotTo(HaveOccurred())
	return map[string]string{
		"%v": fmt.Sprintf("%v", v), "%+v": fmt.Sprintf("%+v", v), "%#v": fmt.Sprintf("%#v", v), "%s": fmt.Sprintf("%s", v),
		"%q": fmt.Sprintf("%q", v), "%d": fmt.Sprintf("%d", v),
		"gomega": format.Object(v, 0), "slog": log.String(), "json": string(text),
	}
}

var _ = Describe("Printers", func() {
	It("show mechanism, guarantees and counts of a group, and nothing of what it starts", func() {
		g, err := contain.New(contain.Options{})
		Expect(err).NotTo(HaveOccurred())
		DeferCleanup(g.Close)
		// A guarantee may join the list while the group is in use.
		held := fmt.Sprintf(`held by %s \(guarantees: [a-z,-]+\)`, g.Mechanism())
		Expect(g.String()).To(MatchRegexp("^group " + held + ", 0 children$"))
		c := start(g, "sleep", "label=canary-argument")
		for name, text := range printed(g) {
			Expect(text).To(MatchRegexp("group "+held+", 1 child"), name)
			Expect(text).NotTo(ContainSubstring("canary"), name)
		}
		for name, text := range printed(c.Child) {
			Expect(text).To(MatchRegexp("child pid %d, running, "+held, c.PID()), name)
			Expect(text).NotTo(ContainSubstring("canary"), name)
		}
		Expect(g.Kill()).To(Succeed())
		Eventually(c.Exited()).WithTimeout(bound).Should(BeClosed())
		Expect(c.Child.String()).To(HavePrefix(fmt.Sprintf("child pid %d, ended, ", c.PID())))
		Expect(g.Close()).To(Succeed())
		Expect(g.String()).To(MatchRegexp("^group " + held + ", 0 children, closed$"))
		for name, text := range printed((*contain.Group)(nil)) {
			Expect(text).To(Or(ContainSubstring("no group"), Equal("null"), ContainSubstring("nil")), name)
		}
	})

	// With the race detector this proves that no printer walks the memory of a group in use.
	It("may be asked at any time", func() {
		g := newGroup("")
		stop := make(chan struct{})
		var printing sync.WaitGroup
		printing.Go(func() {
			for {
				select {
				case <-stop:
					return
				default:
					_ = fmt.Sprintf("%v %+v %#v", g, g, g) + format.Object(g, 0)
				}
			}
		})
		for range 5 {
			c := start(g, "sleep")
			_ = fmt.Sprintf("%v %#v", c.Child, c.Child)
			Expect(c.Close()).To(Succeed())
		}
		close(stop)
		printing.Wait()
	})
})
