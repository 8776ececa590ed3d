package contain_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"syscall"
	"testing"
	"time"

	"github.com/boombox-go/boombox/contain"
)

// sleeper is a child that goes on until somebody ends it.
var sleeper = contain.Spec{Path: "/bin/sleep", Argv: contain.Seal("sleep", "60")}

// started starts spec in a group with nothing required, which the caller closes.
func started(spec contain.Spec) (*contain.Group, *contain.Child) {
	group, err := contain.New(contain.Options{})
	if err != nil {
		panic(err)
	}
	child, err := group.Start(context.Background(), spec)
	if err != nil {
		panic(err)
	}
	return group, child
}

func ExampleNew() {
	group, err := contain.New(contain.Options{}) // ask for what you need: Require: contain.KillTree
	if err != nil {
		fmt.Println(err)
		return
	}
	defer group.Close() // kill, drain, verify empty, remove

	child, err := group.Start(context.Background(), contain.Spec{
		Path: "/bin/sh", Argv: contain.Seal("sh", "-c", "exit 3"), Env: contain.Seal(os.Environ()...),
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	<-child.Exited()
	status, _ := child.Poll()
	fmt.Println(status.Code, child.Close())
	// Output: 3 <nil>
}

// What this host cannot do is refused before anything starts, with the reason.
func ExampleUnsupportedError() {
	_, err := contain.New(contain.Options{Mechanism: contain.JobObject})
	var refused *contain.UnsupportedError
	fmt.Println(errors.As(err, &refused), errors.Is(err, contain.ErrUnsupported))
	// Output: true true
}

// What there is depends on the host, and so does what it prints.
func ExampleHost() {
	host := contain.Host()
	for _, rung := range host.Rungs {
		if rung.Offered() {
			fmt.Println(rung.Mechanism, "gives", rung.Guarantees)
		} else {
			fmt.Println(rung.Mechanism, "is not to be had:", rung.Reason, rung.Remedy)
		}
	}
}

func ExampleParseGuarantees() {
	want, err := contain.ParseGuarantees("kill-tree,cap-memory")
	fmt.Println(want.Has(contain.KillTree), want.Has(contain.CapCPU), err)
	// Output: true false <nil>
}

func ExampleForTest() {
	// func TestServer(t *testing.T)
	_ = func(t *testing.T) {
		group := contain.ForTest(t, contain.Options{Require: contain.KillTree})
		if _, err := group.Start(t.Context(), sleeper); err != nil {
			t.Fatal(err)
		}
		// The group ends with the test, which fails if the tree was not seen empty.
	}
}

func ExampleGroup_Kill() {
	group, child := started(sleeper)
	defer group.Close()

	fmt.Println(group.Kill())
	<-child.Exited()
	status, _ := child.Poll()
	fmt.Println(status.Signal)
	// Output:
	// <nil>
	// killed
}

// A group says what holds it, and what that promises.
func ExampleGroup_Guarantees() {
	group, child := started(sleeper)
	defer group.Close()

	fmt.Println(group.Mechanism() != "", child.Guarantees().Has(group.Guarantees()))
	// Output: true true
}

func ExampleGroup_Members() {
	group, child := started(sleeper)
	defer group.Close()

	members, err := group.Members()
	fmt.Println(len(members), members[0].PID == child.PID(), err)
	// Output: 1 true <nil>
}

func ExampleGroup_Signal() {
	group, child := started(sleeper)
	defer group.Close()

	fmt.Println(group.Signal(syscall.SIGTERM))
	<-child.Exited()
	status, _ := child.Poll()
	fmt.Println(status.Signal)
	// Output:
	// <nil>
	// terminated
}

func ExampleGroup_Stop() {
	group, _ := started(sleeper)
	defer group.Close()

	report, err := group.Stop(context.Background(), time.Minute)
	fmt.Println(report.Signalled, report.Drained, report.Escalated, err)
	// Output: terminated true false <nil>
}

// Whom Ask has asked in vain lives on, and is still the group's.
func ExampleGroup_Ask() {
	r, w, err := os.Pipe()
	if err != nil {
		fmt.Println(err)
		return
	}
	defer r.Close()
	group, _ := started(contain.Spec{
		Path: "/bin/sh", Argv: contain.Seal("sh", "-c", `trap "" TERM; echo deaf; exec sleep 60`), Env: contain.Seal(os.Environ()...), Stdout: w,
	})
	defer group.Close()
	_ = w.Close()
	_, _ = bufio.NewReader(r).ReadString('\n')

	report := group.Ask(context.Background(), 10*time.Millisecond)
	fmt.Println(report.Signalled, report.Drained, report.Spared)
	// Output: terminated false true
}

// A process that exists is taken in, and ends with the group.
func ExampleGroup_Adopt() {
	cmd := exec.Command("/bin/sleep", "60")
	if err := cmd.Start(); err != nil {
		fmt.Println(err)
		return
	}
	group, err := contain.New(contain.Options{})
	if err != nil {
		fmt.Println(err)
		return
	}
	_, err = group.Adopt(cmd.Process.Pid, 0)
	fmt.Println(err, group.Close())
	fmt.Println(cmd.Wait())
	// Output:
	// <nil> <nil>
	// signal: killed
}

// Only cgroup v2 can make a whole tree stand still.
func ExampleGroup_Freeze() {
	group, _ := started(sleeper)
	defer group.Close()

	switch err := group.Freeze(context.Background()); {
	case errors.Is(err, contain.ErrUnsupported):
		fmt.Println("not on this host:", err)
	case err != nil:
		fmt.Println(err)
	default:
		fmt.Println("nothing runs until", group.Thaw())
	}
}

// Which caps a group has is decided when it is made; their values can change.
func ExampleGroup_UpdateLimits() {
	group, err := contain.New(contain.Options{Limits: contain.Limits{Processes: 64}})
	if err != nil {
		fmt.Println("not on this host:", err)
		return
	}
	defer group.Close()

	fmt.Println(group.UpdateLimits(contain.Limits{Processes: 32}))
	for _, limit := range group.Evidence().Limits {
		fmt.Println(limit.Kind, limit.Max, limit.Tripped)
	}
	if peak := group.Stats().PeakProcesses; peak != nil { // nil is not measured
		fmt.Println(*peak)
	}
}

// Nobody holds what is detached: it outlives this program, and no group.
func ExampleDetach() {
	member, err := contain.Detach(context.Background(), contain.Spec{Path: "/bin/true", Argv: contain.Seal("true")})
	fmt.Println(member.PID > 1, err)
	// Output: true <nil>
}
