package contain_test

import (
	"io/fs"
	"testing"

	"github.com/google/go-cmp/cmp"
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/boombox-go/boombox/contain"
)

var _ = Describe("an order to start", func() {
	It("comes out as it went in, and not at all when it is cut short", func() {
		whole := contain.PackOrder("/bin/\xff", []string{"a", "", "b\n"}, []string{"K=\x00"}, "dir")
		path, argv, env, dir, ok := contain.UnpackOrder(whole)
		Expect(ok).To(BeTrue())
		Expect(path).To(Equal("/bin/\xff"))
		Expect(argv).To(Equal([]string{"a", "", "b\n"}))
		Expect(env).To(Equal([]string{"K=\x00"}))
		Expect(dir).To(Equal("dir"))
		for i := range whole {
			_, _, _, _, ok := contain.UnpackOrder(whole[:i])
			Expect(ok).To(BeFalse())
		}
	})
})

func FuzzUnpackOrder(f *testing.F) {
	f.Add([]byte{})
	f.Add(contain.PackOrder("/bin/true", []string{"true"}, []string{"A=1"}, ""))
	f.Add([]byte{1, 'x', 0xff, 0xff, 0xff, 0xff, 0x0f})
	f.Fuzz(func(t *testing.T, body []byte) {
		path, argv, env, dir, ok := contain.UnpackOrder(body)
		if !ok {
			return
		}
		again, argv2, env2, dir2, ok := contain.UnpackOrder(contain.PackOrder(path, argv, env, dir))
		if !ok || again != path || len(argv2) != len(argv) || len(env2) != len(env) || dir2 != dir {
			t.Fatal("an order that was read is not what is written")
		}
	})
}

var everyKnob = contain.Spec{
	Path: "/bin/\xff", Argv: contain.Seal("a", ""), Env: contain.Seal("K=V"), Dir: "dir",
	NewSession: true, Terminal: true, NoNewPrivileges: true, NoCoreDumps: true,
	Credential: &contain.Credential{UID: 1<<32 - 2, GID: 2, Groups: []uint32{3, 1<<32 - 2}},
	Umask:      new(fs.FileMode(0o77)),
	Rlimits: contain.Rlimits{
		Core: &contain.Rlimit{}, NoFile: &contain.Rlimit{Soft: 1, Hard: 2}, FSize: &contain.Rlimit{Soft: 3, Hard: contain.Unlimited},
		Stack: &contain.Rlimit{Soft: 4, Hard: 5}, CPU: &contain.Rlimit{Soft: 6, Hard: 7}, Data: &contain.Rlimit{Soft: 8, Hard: 9},
	},
	Nice: new(-20), IOPriority: &contain.IOPriority{Class: contain.IOIdle, Level: 7}, CPUAffinity: []int{0, 63}, OOMScoreAdj: new(-1000),
}

var _ = Describe("what a stage is to become", func() {
	It("comes out as it went in, and not at all when it is cut short", func() {
		whole := contain.PackStage(everyKnob)
		got, ok := contain.UnpackStage(whole)
		Expect(ok).To(BeTrue())
		Expect(got).To(BeComparableTo(everyKnob))
		for i := range whole {
			_, ok := contain.UnpackStage(whole[:i])
			Expect(ok).To(BeFalse())
		}
		_, ok = contain.UnpackStage(append(whole, 0))
		Expect(ok).To(BeFalse())
	})
})

func FuzzUnpackStage(f *testing.F) {
	f.Add([]byte{})
	f.Add(contain.PackStage(contain.Spec{}))
	f.Add(contain.PackStage(everyKnob))
	f.Fuzz(func(t *testing.T, body []byte) {
		s, ok := contain.UnpackStage(body)
		if !ok {
			return
		}
		text := contain.PackStage(s)
		again, ok := contain.UnpackStage(text)
		if !ok || !cmp.Equal(again, s) {
			t.Fatal("what was read is not what is written")
		}
	})
}

func FuzzUnpackExit(f *testing.F) {
	f.Add([]byte{3, 0, 0, 0, 0x80, 1})
	f.Add([]byte{0xff, 0xff, 0xff})
	f.Fuzz(func(_ *testing.T, body []byte) { contain.UnpackExit(body) }) // it does not panic
}
