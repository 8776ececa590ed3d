package main_test

import (
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
)

var _ = Describe("usage", func() {
	DescribeTable("of each subcommand is told by --help",
		func(args ...string) {
			end := boombox(append(args, "--help")...)
			Expect(end.Status).To(Equal(0))
			Expect(end.Stdout).To(ContainSubstring("Usage: boombox"))
			Expect(end.Stderr).To(BeEmpty())
		},
		Entry("boombox"),
		Entry("demo", "demo"),
		Entry("run", "run"),
		Entry("record", "record"),
		Entry("replay", "replay"),
		Entry("show", "show"),
		Entry("doctor", "doctor"),
		Entry("diff", "diff"),
		Entry("lint", "lint"),
		Entry("scan", "scan"),
		Entry("scrub", "scrub"),
		Entry("verify", "verify"),
		Entry("fix", "fix"),
		Entry("prune", "prune"),
		Entry("merge", "merge"),
		Entry("export", "export"),
		Entry("import", "import"),
		Entry("stats", "stats"),
	)

	It("gives everything after -- to the program, --help and flags included, byte for byte", func() {
		args := fixture("args", "--help", "--timeout", "", "--", "-", "a,b", "\xff\xfe")
		end := boombox(append([]string{"run", "--"}, args...)...)
		Expect(end.Status).To(Equal(0), end.Stderr)
		Expect(end.Stdout).To(Equal("\"--help\"\n\"--timeout\"\n\"\"\n\"--\"\n\"-\"\n\"a,b\"\n\"\\xff\\xfe\"\n"))
	})

	// Each of these holds SECRET where a value is wrong or in the wrong place.
	DescribeTable("that is wrong is one line, status 125 and nothing else",
		func(what string, args ...string) {
			end := boombox(args...)
			Expect(end).To(haveRefused(what))
			Expect(strings.ToUpper(end.Stderr)).NotTo(ContainSubstring("SECRET"))
			Expect(files(end.Dir)).To(BeEmpty())
		},
		Entry("no subcommand", "expected one of"),
		Entry("an unknown subcommand", "unexpected argument frobnicate", "frobnicate", "SECRET"),
		Entry("no program", "no program given", "run", "--report", "r.json", "--"),
		Entry("an empty program", "name is empty", "run", "--report", "r.json", "--", "", "SECRET"),
		Entry("no program for record", "expected", "record", "f.cassette"),
		Entry("an unknown flag", "unknown flag --tmeout", "run", "--tmeout=SECRET", "--", "true"),
		Entry("an unknown short flag", "unknown flag -p", "run", "-pSECRET", "--", "true"),
		Entry("a flag without its value", "--timeout: needs a value", "run", "--timeout", "--", "SECRET"),
		Entry("a flag that swallows another", "--dir: needs a value", "run", "--dir", "--env=K=SECRET", "--", "true"),
		Entry("a switch with a value", "--env-clear", "run", "--env-clear=SECRET", "--", "true"),
		Entry("a duration without unit", "--timeout: wants a duration", "run", "--timeout", "30SECRET", "--", "true"),
		Entry("a duration of 0", "--timeout: wants a duration above 0", "run", "--timeout", "0s", "--", "true"),
		Entry("a negative duration", "--grace: wants a duration above 0", "run", "--grace=-1s", "--", "true"),
		Entry("a size without number", "--max-memory: wants a whole number", "run", "--max-memory", "SECRETMiB", "--", "true"),
		Entry("a size of 0", "--max-output: wants a whole number", "run", "--max-output", "0", "--", "true"),
		Entry("a size that overflows", "--max-memory: wants", "run", "--max-memory", "9999999999GiB", "--", "true"),
		Entry("no processes", "--max-processes: wants a whole number above 0", "run", "--max-processes", "0", "--", "true"),
		Entry("no cores", "--cpu: wants a number of cores", "run", "--cpu", "NaN", "--", "true"),
		Entry("an unknown guarantee", "--require: wants guarantees", "run", "--require", "kill-SECRET", "--", "true"),
		Entry("an assignment without =", "--env: wants KEY=VALUE", "run", "--env", "SECRET", "--", "true"),
		Entry("a variable name with =", "--inherit-env: wants the name", "run", "--inherit-env", "K=SECRET", "--", "true"),
		Entry("a user by name", "--user: wants UID:GID", "run", "--user", "SECRET", "--", "true"),
		Entry("a user that stands for nobody", "--user: wants UID:GID", "run", "--user", "4294967295:1", "--", "true"),
		Entry("an unknown pace", "--pace: wants", "replay", "f.cassette", "--pace", "SECRET", "--", "true"),
		Entry("two cassettes to show", "unexpected argument", "show", "a", "b"),
	)

	DescribeTable("that asks for a cap of no sense is one line, status 125 and no start",
		func(flag string, values ...string) {
			for _, value := range values {
				end := boombox(append([]string{"run", flag + "=" + value, "--"}, fixture("streams", "out:started")...)...)
				Expect(end).To(haveRefused(""), value)
				Expect(end.Stderr).To(MatchRegexp(`^boombox: (`+flag+`: wants |\w+ limit is invalid: )`), value)
				Expect(files(end.Dir)).To(BeEmpty())
			}
		},
		Entry("memory", "--max-memory",
			"0", "0MiB", "-1", "-1MiB", "1", "4095", "1.5MiB", "NaN", "Inf", "1e9", "4611686018427387904", "9223372036854775807", "18446744073709551616", "99999999TiB"),
		Entry("processes", "--max-processes", "0", "-1", "1.5", "NaN", "Inf", "1e2", "4194305", "2147483648", "4294967297", "18446744073709551617"),
		Entry("cpu", "--cpu", "0", "-0", "-1", "NaN", "Inf", "-Inf", "+Inf", "1e400", "0.001", "5e-324", "8193", "1e300"),
	)

	DescribeTable("that cannot be honoured is refused with the reason, before anything starts",
		func(what string, flags ...string) {
			args := append(append([]string{"run", "--report", "r.json"}, flags...), "--")
			end := boombox(append(args, fixture("streams", "out:SECRET")...)...)
			Expect(end).To(haveRefused(what))
			report := reportOf(read(end.Dir, "r.json"))
			Expect(report).To(HaveKeyWithValue("outcome", "start_failed"))
			Expect(report).To(HaveKeyWithValue("mechanism", BeNil()))
			Expect(report).To(HaveKeyWithValue("stdout_bytes", BeNil()))
		},
		Entry("a guarantee that no host gives", "cannot guarantee", "--require", "resist-same-uid,cap-cpu,kill-on-owner-death"),
	)
})
