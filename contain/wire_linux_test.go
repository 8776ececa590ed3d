package contain_test

import (
	"testing"

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
