package contain_test

import (
	"bufio"
	"context"
	"errors"
	"os"
	"strings"
	"syscall"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/boombox-go/boombox/contain"
	"github.com/boombox-go/boombox/fixtures"
	"github.com/boombox-go/boombox/internal/suite"
)

func init() {
	// counted asks for a cap on processes where there is no cgroup to be had, and says how it holds.
	helpers["counted"] = func() error {
		for _, l := range []contain.Limits{{Memory: 64 << 20}, {Processes: 40, CPU: 1}} {
			_, err := contain.New(contain.Options{Limits: l})
			refused, ok := errors.AsType[*contain.LimitError](err)
			say("more than processes:", ok && errors.Is(err, contain.ErrUnsupported), ok && refused.Hint != "")
		}
		// As many processes of the same user outside, which are nobody's business.
		for range 20 {
			argv := fixtures.Argv("sleep", "quiet")
			p, err := os.StartProcess(argv[0], argv, &os.ProcAttr{})
			if err != nil {
				return err
			}
			defer func() { _ = p.Kill(); _, _ = p.Wait() }()
		}
		for _, bomb := range []struct {
			most  int
			child string
		}{{20, "taskbomb"}, {40, "nsbomb"}, {0, "taskbomb"}} {
			if err := tryBomb(bomb.most, bomb.child); err != nil {
				return err
			}
		}
		return nil
	}
}

// tryBomb holds a bomb of 60 for half a second.
func tryBomb(most int, child string) error {
	g, err := contain.New(contain.Options{Mechanism: contain.PIDNamespace, Limits: contain.Limits{Processes: most}})
	if err != nil {
		return err
	}
	defer g.Close()
	nonce, find := suite.WithNonce()
	r, w, err := os.Pipe()
	if err != nil {
		return err
	}
	defer r.Close()
	argv := fixtures.Argv(child, "60")
	spec := contain.Spec{Path: argv[0], Argv: contain.Seal(argv...), Env: contain.Seal(append(os.Environ(), nonce)...), Stdout: w, Stderr: os.Stderr}
	c, err := g.Start(context.Background(), spec)
	_ = w.Close()
	if err != nil {
		return err
	}
	lines := bufio.NewScanner(r)
	for lines.Scan() && (lines.Text() == "ready" || strings.HasPrefix(lines.Text(), "raised ")) {
		say(child, most, lines.Text())
		if most == 0 && lines.Text() == "ready" {
			break // nobody refuses it anything
		}
	}
	peak := 0
	for end := time.Now().Add(500 * time.Millisecond); time.Now().Before(end) || most == 0 && peak <= 60 && time.Now().Before(end.Add(bound)); {
		peak = max(peak, tasks(find()))
	}
	e, _ := g.Evidence().Of(contain.LimitProcesses)
	say(child, most, lines.Text(), "more than 10:", peak > 10, "more than the cap:", peak > most, "tripped:", e.Tripped, e.Events == nil)
	if most > 0 {
		// Another start, which the whole cap is in use for.
		_, err = g.Start(context.Background(), spec)
		hit, full := errors.AsType[*contain.LimitHit](err)
		e, _ = g.Evidence().Of(contain.LimitProcesses)
		say("start:", full && hit.Max == float64(most), errors.Is(err, syscall.EAGAIN), errors.Is(err, contain.ErrLimit), "tripped:", e.Tripped)
		refused, ok := errors.AsType[*contain.LimitError](g.UpdateLimits(contain.Limits{Processes: most + 1}))
		say("update:", ok && refused.Reason == contain.LimitFixed, g.UpdateLimits(contain.Limits{Processes: most}))
	}
	err = c.Close()
	say("left:", len(find()), err)
	status, err := runExit(g)
	say("again:", status.Code, err)
	return nil
}

var _ = Describe("a cap on processes without a cgroup", Label("limits"), func() {
	It("is had in a user namespace, exact, for one tree at a time, and honest about what is not counted", func() {
		requireRoot()
		requireCgroups()
		for _, rung := range contain.Host().Rungs {
			if rung.Mechanism == contain.PIDNamespace && !rung.Available {
				Skip("no namespaces here: " + rung.Reason)
			}
		}
		lines := asNobody("counted", specCgroup()).rest()
		if len(lines) > 2 && strings.Contains(lines[2], "has no pid-namespace") {
			Skip("users have no namespaces here")
		}
		held := func(child, most string) []string {
			return []string{
				child + " " + most + " refused more than 10: true more than the cap: false tripped: unknown true",
				"start: true true true tripped: yes", "update: true <nil>", "left: 0 <nil>", "again: 5 <nil>",
			}
		}
		var want []string
		want = append(want, "more than processes: true true", "more than processes: true true", "taskbomb 20 ready")
		want = append(want, held("taskbomb", "20")...)
		want = append(want, "nsbomb 40 raised false", "nsbomb 40 ready")
		want = append(want, held("nsbomb", "40")...)
		want = append(want, "taskbomb 0 ready", "taskbomb 0 ready more than 10: true more than the cap: true tripped: unknown true",
			"left: 0 <nil>", "again: 5 <nil>") // the control
		Expect(lines).To(Equal(want))
	})

	It("is refused to root, whom the kernel does not count", func() {
		requireRoot()
		_, err := contain.New(contain.Options{Mechanism: contain.PIDNamespace, Limits: contain.Limits{Processes: 20}})
		if refused, ok := errors.AsType[*contain.LimitError](err); ok {
			Expect(*refused).To(And(HaveField("Kind", contain.LimitProcesses), HaveField("Reason", contain.LimitUnenforceable)))
			return
		}
		Expect(err).To(MatchError(contain.ErrUnsupported), "there is no namespace at all")
	})
})
