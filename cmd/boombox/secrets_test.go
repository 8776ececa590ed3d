package main_test

import (
	"path/filepath"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/boombox-go/boombox/fixtures"
)

// Each run has the sentinel in an argument, a variable, the input, the output and the directory.
var _ = Describe("secrets", func() {
	const sentinel = "s3nt1nel-0f-s3crets"

	DescribeTable("are in no message and in no report",
		func(status int, flags, argv []string) {
			dir := filepath.Join(GinkgoT().TempDir(), sentinel)
			args := append([]string{
				"--report", "-", "--env", "TOKEN=" + sentinel, "--dir", dir,
			}, flags...)
			argv = append(append([]string{"--"}, argv...), sentinel)
			for _, verb := range [][]string{{"run"}, {"record", "t.cassette"}} {
				end := call{args: append(append(verb, args...), argv...), stdin: sentinel}.run()
				Expect(end.Status).To(Equal(status), end.Stderr)
				Expect(end.Stderr).To(ContainSubstring(`"outcome":`))
				Expect(end.Stderr).NotTo(ContainSubstring(sentinel))
			}
		},
		Entry("of a directory that is missing", 125, nil, fixture("exit", "1")),
		Entry("of a refusal", 125, []string{"--dir", "/", "--require", "cap-cpu,resist-same-uid"}, fixture("exit")),
		Entry("of a missing program", 127, []string{"--dir", "/"}, []string{"no-such-program"}),
		Entry("of a directory as program", 126, []string{"--dir", "/"}, []string{"/"}),
		Entry("of a timeout", 124, []string{"--dir", "/", "--timeout", "300ms"}, fixture("sleep", "quiet")),
		Entry("of an idle timeout", 123, []string{"--dir", "/", "--idle-timeout", "300ms"}, fixture("sleep", "quiet")),
		Entry("of too much output", 125, []string{"--dir", "/", "--max-output", "3"}, fixture("streams", fixtures.Out(sentinel))),
		Entry("of a signal", 137, []string{"--dir", "/"}, fixture("signal", "9")),
	)
})
