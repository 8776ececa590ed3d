package contain_test

import (
	"bytes"
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/boombox-go/boombox/contain"
)

// BenchmarkStage compares a start that takes a stage with one that does not, on the same mechanism.
func BenchmarkStage(b *testing.B) {
	for name, nice := range map[string]*int{"plain": nil, "stage": new(0)} {
		b.Run(name, func(b *testing.B) {
			g, err := contain.New(contain.Options{})
			if err != nil {
				b.Fatal(err)
			}
			defer g.Close()
			for b.Loop() {
				c, err := g.Start(context.Background(), contain.Spec{Path: "/bin/true", Argv: contain.Seal("true"), Nice: nice})
				if err != nil {
					b.Fatal(err)
				}
				<-c.Exited()
				if err := c.Close(); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// crowd starts five hundred processes, each in a session of its own, and says when they are all there.
const crowd = `i=0; while [ $i -lt 500 ]; do setsid sleep 60 & i=$((i+1)); done; echo ready; wait`

// BenchmarkKill compares what it takes to kill five hundred members and to see them gone with what writing cgroup.kill by
// hand and waiting for the cgroup to be empty takes. Compare the numbers of one run with each other.
func BenchmarkKill(b *testing.B) {
	for _, program := range []string{"/bin/sh", "/usr/bin/setsid"} {
		if _, err := os.Stat(program); err != nil {
			b.Skip(err)
		}
	}
	for _, rung := range contain.Host().Rungs {
		if rung.Mechanism == contain.Cgroup2 && rung.Available {
			b.Run("by-hand", benchmarkKillByHand)
		}
	}
	for _, rung := range contain.Host().Rungs {
		b.Run(string(rung.Mechanism), func(b *testing.B) {
			if !rung.Offered() || !rung.Guarantees.Has(contain.KillTree) {
				b.Skip("not here: " + rung.Reason)
			}
			g, err := contain.New(contain.Options{Mechanism: rung.Mechanism})
			if err != nil {
				b.Fatal(err)
			}
			defer g.Close()
			b.StopTimer()
			for range b.N {
				r, w, err := os.Pipe()
				if err != nil {
					b.Fatal(err)
				}
				c, err := g.Start(context.Background(), contain.Spec{
					Path: "/bin/sh", Argv: contain.Seal("sh", "-c", crowd), Env: contain.Seal("PATH=/bin:/usr/bin"), Stdout: w,
				})
				if err != nil {
					b.Fatal(err)
				}
				_ = w.Close()
				_, _ = r.Read(make([]byte, 10))
				_ = r.Close()
				b.StartTimer()
				err = c.Kill()
				b.StopTimer()
				if err != nil {
					b.Fatal(err)
				}
				if err := c.Close(); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

func benchmarkKillByHand(b *testing.B) {
	own := ownBenchCgroup(b)
	b.StopTimer()
	for range b.N {
		dir, err := os.MkdirTemp(own, "boombox-bench-")
		if err != nil {
			b.Fatal(err)
		}
		fd, err := syscall.Open(dir, syscall.O_DIRECTORY|syscall.O_CLOEXEC, 0)
		if err != nil {
			b.Fatal(err)
		}
		cmd := exec.Command("/bin/sh", "-c", crowd)
		cmd.Env = []string{"PATH=/bin:/usr/bin"}
		cmd.SysProcAttr = &syscall.SysProcAttr{UseCgroupFD: true, CgroupFD: fd}
		out, err := cmd.StdoutPipe()
		if err != nil {
			b.Fatal(err)
		}
		if err := cmd.Start(); err != nil {
			b.Fatal(err)
		}
		_, _ = out.Read(make([]byte, 10))
		b.StartTimer()
		err = os.WriteFile(filepath.Join(dir, "cgroup.kill"), []byte("1"), 0)
		for err == nil {
			var events []byte
			if events, err = os.ReadFile(filepath.Join(dir, "cgroup.events")); bytes.Contains(events, []byte("populated 0")) {
				break
			}
			time.Sleep(time.Millisecond) // who kills by hand has no better pace
		}
		b.StopTimer()
		if err != nil {
			b.Fatal(err)
		}
		_ = cmd.Wait()
		_ = syscall.Close(fd)
		for syscall.Rmdir(dir) == syscall.EBUSY {
			time.Sleep(time.Millisecond) // of the last zombie nobody is told
		}
	}
}

// ownBenchCgroup is the directory in which boombox makes its cgroups.
func ownBenchCgroup(b *testing.B) string {
	b.Helper()
	g, err := contain.New(contain.Options{Mechanism: contain.Cgroup2})
	if err != nil {
		b.Skip(err)
	}
	defer g.Close()
	for _, root := range cgroup2Mounts() {
		var found string
		_ = filepath.WalkDir(root, func(path string, d os.DirEntry, err error) error {
			if ok, _ := filepath.Match("boombox-*-"+itoa(os.Getpid())+"-*", filepath.Base(path)); ok {
				found = filepath.Dir(path)
				return filepath.SkipAll
			}
			return nil
		})
		if found != "" {
			return found
		}
	}
	b.Skip("our own cgroup is not to be found")
	return ""
}
