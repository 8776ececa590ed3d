package runner_test

import (
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/boombox-go/boombox/runner"
)

var _ = Describe("Env on Windows", func() {
	It("takes names for the same whatever their case, and keeps the last one's", func() {
		e := runner.CleanEnv().Set("Path", "a").Set("PATH", "b")
		Expect(e.Names()).To(Equal([]string{"PATH"}))
		value, ok := e.Lookup("path")
		Expect(value).To(Equal("b"))
		Expect(ok).To(BeTrue())
		Expect(e.Remove("pAtH").Reveal()).NotTo(ContainElement("PATH=b"))
	})

	It("inherits an allowed name in any case, and SYSTEMROOT always", func() {
		GinkgoT().Setenv("BOOMBOX_Mixed", "1")
		Expect(runner.AllowEnv("boombox_mixed").Reveal()).To(ContainElement("BOOMBOX_Mixed=1"))
		_, ok := runner.CleanEnv().Lookup("SystemRoot")
		Expect(ok).To(BeTrue())
	})
})
