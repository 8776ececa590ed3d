package boombox_test

import (
	"context"
	"fmt"
	"time"

	"github.com/boombox-go/boombox/contain"
	"github.com/boombox-go/boombox/runner"
)

// r is the real runner here. Code under test gets a recorder, a player or a fake instead and cannot tell.
var r runner.Runner = runner.Contained{}

func Example() {
	ctx := context.Background()

	cmd := runner.Command("git", "log", "-1", "--format=%s")
	cmd.Timeout = 10 * time.Second // then the whole tree is killed
	cmd.Require = contain.KillTree // refused before it starts where the host cannot

	res, err := runner.Run(ctx, r, cmd)
	if err != nil {
		fmt.Println(err) // not found, refused, or ctx ended: never an argument in it
		return
	}
	if !res.Success() {
		fmt.Println(res.Outcome()) // exited 128, signalled SIGKILL, timed_out, overflowed, ...
		return
	}
	fmt.Printf("%s", res.Stdout())
}
