package main

import (
	"encoding/json"
	"fmt"
	"runtime"
	"strings"

	"github.com/boombox-go/boombox/contain"
	"github.com/boombox-go/boombox/internal/plaintext"
)

// doctorCmd is the subcommand doctor.
type doctorCmd struct {
	JSON    bool       `name:"json" help:"Write one JSON object instead of text."`
	Require guarantees `placeholder:"GUARANTEE,..." help:"End with status 125 unless one mechanism of this host gives all of these."`
}

// Help is the text below the summary.
func (*doctorCmd) Help() string {
	return "Nothing is started. The status is 0, or 125 when --require asks for more than this host has."
}

// diagnosis is the JSON object of doctor.
type diagnosis struct {
	OS   string `json:"os"`
	Arch string `json:"arch"`
	// Mechanism and Guarantees are what a run gets that asks for nothing: the strongest mechanism; null without any.
	Mechanism  *string  `json:"mechanism"`
	Guarantees []string `json:"guarantees"`
	// Missing are the guarantees that no mechanism of this host gives.
	Missing []string `json:"missing"`
	// Mechanisms are all of this system, in the order in which they are taken.
	Mechanisms []rungReport `json:"mechanisms"`
}

type rungReport struct {
	Mechanism string `json:"mechanism"`
	Available bool   `json:"available"`
	// OnRequest: no run has it but one whose group names it.
	OnRequest  bool     `json:"on_request"`
	Guarantees []string `json:"guarantees"`
	// Reason says why it is not available, Remedy what would help; null when there is nothing to say.
	Reason *string `json:"reason"`
	Remedy *string `json:"remedy"`
	// Refused are the caps that an available mechanism has and cannot enforce here.
	Refused []refusedCap `json:"refused"`
}

type refusedCap struct {
	Limit  string `json:"limit"`
	Reason string `json:"reason"`
	// Detail says what stands in the way, Remedy what would help; null when there is nothing to say.
	Detail string  `json:"detail"`
	Remedy *string `json:"remedy"`
}

// every holds all guarantees there are.
const every = ^contain.Guarantee(0)

// meaning says in a few words what each guarantee covers.
var meaning = []struct {
	is   contain.Guarantee
	text string
}{
	{contain.KillTree, "no descendant outlives the run: setsid, setpgid, double fork, daemons"},
	{contain.KillForkBomb, "the kill cannot be outrun by forking"},
	{contain.KillOnOwnerDeath, "the tree dies with us, even if we are killed with SIGKILL"},
	{contain.ResistSameUID, "a program with our user id can neither leave nor disarm the box"},
	{contain.CapMemory, "--max-memory"},
	{contain.CapProcesses, "--max-processes"},
	{contain.CapCPU, "--cpu"},
}

func diagnose(host contain.HostReport) diagnosis {
	d := diagnosis{
		OS: runtime.GOOS, Arch: runtime.GOARCH,
		Guarantees: []string{},
		Missing:    (every &^ host.Guarantees()).Names(),
		Mechanisms: []rungReport{},
	}
	if best, ok := host.Best(); ok {
		d.Mechanism = ptr(string(best.Mechanism))
		d.Guarantees = best.Guarantees.Names()
	}
	for _, rung := range host.Rungs {
		r := rungReport{
			Mechanism: string(rung.Mechanism), Available: rung.Available, OnRequest: rung.OnRequest,
			Guarantees: rung.Guarantees.Names(), Refused: []refusedCap{},
		}
		for _, e := range rung.Refused {
			refused := refusedCap{Limit: string(e.Kind), Reason: string(e.Reason), Detail: e.Detail}
			if e.Hint != "" {
				refused.Remedy = ptr(e.Hint)
			}
			r.Refused = append(r.Refused, refused)
		}
		if rung.Reason != "" {
			r.Reason = ptr(rung.Reason)
		}
		if rung.Remedy != "" {
			r.Remedy = ptr(rung.Remedy)
		}
		d.Mechanisms = append(d.Mechanisms, r)
	}
	return d
}

// Run implements the subcommand.
func (c *doctorCmd) Run() error {
	host := contain.Host()
	var text string
	if c.JSON {
		object, err := json.MarshalIndent(diagnose(host), "", "  ")
		if err != nil {
			return err
		}
		text = string(object) + "\n"
	} else {
		text = table(host)
	}
	if err := printOut(text); err != nil {
		return err
	}
	if want := contain.Guarantee(c.Require); want != 0 {
		return available(want)
	}
	return nil
}

// available refuses want as a run that requires it would be refused. Making a group starts nothing.
func available(want contain.Guarantee) error {
	group, err := contain.New(contain.Options{Require: want})
	if err != nil {
		return refused("%w", err)
	}
	return group.Close()
}

// table is the report for people.
func table(host contain.HostReport) string {
	var b strings.Builder
	best, ok := host.Best()
	if ok {
		fmt.Fprintf(&b, "A run on this host (%s/%s) is held by: %s\n\n", runtime.GOOS, runtime.GOARCH, best.Mechanism)
	} else {
		fmt.Fprintf(&b, "Nothing on this host (%s/%s) can hold a run.\n\n", runtime.GOOS, runtime.GOARCH)
	}
	fmt.Fprintf(&b, "%-21s%-5s%s\n", "guarantee", "here", "covers")
	for _, m := range meaning {
		mark := "no"
		if host.Guarantees().Has(m.is) {
			mark = "yes"
		}
		fmt.Fprintf(&b, "%-21s%-5s%s\n", m.is, mark, m.text)
	}
	b.WriteString("\nmechanisms, in the order in which they are taken\n")
	for _, rung := range host.Rungs {
		state := "available"
		switch {
		case rung.Available && rung.OnRequest:
			state = "available on request, by Options.Mechanism"
		case !rung.Available:
			state = "not available: " + plaintext.Line(rung.Reason)
		}
		fmt.Fprintf(&b, "  %-23s%s\n", rung.Mechanism, state)
		fmt.Fprintf(&b, "  %-23sgives %s\n", "", rung.Guarantees)
		if rung.Remedy != "" {
			fmt.Fprintf(&b, "  %-23swould help: %s\n", "", plaintext.Line(rung.Remedy))
		}
	}
	for _, rung := range host.Rungs {
		for _, e := range rung.Refused {
			fmt.Fprintf(&b, "\n%s does not cap %s here: %s\n", rung.Mechanism, e.Kind, plaintext.Line(e.Detail))
			if e.Hint != "" {
				fmt.Fprintf(&b, "  would help: %s\n", plaintext.Line(e.Hint))
			}
		}
	}
	b.WriteString(notASandbox)
	return b.String()
}

const notASandbox = `
Not a security sandbox: files, network and system calls are not isolated. Out of reach of every mechanism: work handed
to a daemon outside the tree, the far side of an ssh connection, a root program that moves itself to another cgroup.
`
