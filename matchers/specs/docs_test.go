package specs_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
)

// judgeDocs holds docs/testing.md to the suites that it shows.
func judgeDocs() {
	root, _ := filepath.Abs("../..")
	examples := filepath.Join(root, "examples")

	goTest := func(ctx SpecContext, args ...string) (output string, err error) {
		tool, err := exec.LookPath("go")
		if err != nil {
			Skip("there is no go tool to build the examples with")
		}
		cmd := exec.CommandContext(ctx, tool, append([]string{"test"}, args...)...)
		cmd.Dir = examples
		cmd.Env = append(os.Environ(), "BOOMBOX_CASSETTE=", "BOOMBOX_REQUIRE=")
		out, err := cmd.CombinedOutput()
		return string(out), err
	}
	// plainLines is text without what stands before its lines.
	plainLines := func(text string) string {
		lines := strings.Split(text, "\n")
		for i, line := range lines {
			lines[i] = strings.TrimSpace(regexp.MustCompile(`^\s*\w+\.go:\d+: `).ReplaceAllString(line, ""))
		}
		return strings.Join(lines, "\n")
	}

	It("has examples that pass", func(ctx SpecContext) {
		out, err := goTest(ctx, "./...")
		Expect(err).NotTo(HaveOccurred(), out)
	}, NodeTimeout(5*time.Minute))

	It("names labels by which the integration suite can be run, and the lines that it ends with", func(ctx SpecContext) {
		tool, err := exec.LookPath("go")
		if err != nil {
			Skip("there is no go tool to build the suite with")
		}
		text, err := os.ReadFile(filepath.Join(root, "docs", "testing.md"))
		Expect(err).NotTo(HaveOccurred())
		binary := filepath.Join(GinkgoT().TempDir(), "boombox.test")
		build := exec.CommandContext(ctx, tool, "test", "-c", "-o", binary, ".")
		build.Dir = root
		out, err := build.CombinedOutput()
		Expect(err).NotTo(HaveOccurred(), string(out))
		labels := regexp.MustCompile("`go test -v \\. -ginkgo.label-filter=(\\w+)`").FindAllStringSubmatch(string(text), -1)
		Expect(len(labels)).To(BeNumerically(">=", 6))
		for _, label := range labels {
			run := exec.CommandContext(ctx, binary, "-test.v", "-ginkgo.no-color", "-ginkgo.dry-run", "-ginkgo.label-filter="+label[1])
			run.Dir = root
			out, err := run.CombinedOutput()
			Expect(err).NotTo(HaveOccurred(), string(out))
			Expect(string(out)).To(MatchRegexp(`\nboombox: skipped \d+: not selected by focus, skip or label\n(boombox: .*\n)*boombox: [1-9]\d* passed, 0 failed, \d+ skipped\n`), label[1])
		}
	}, NodeTimeout(5*time.Minute))

	It("shows the messages of the failing twin, which show no secret", func(ctx SpecContext) {
		out, err := goTest(ctx, "-tags=failing", "./failing")
		Expect(err).To(HaveOccurred())
		Expect(out).NotTo(MatchRegexp("(?m)^(--- PASS|ok)"))
		Expect(out).NotTo(ContainSubstring("hunter2"))
		text, err := os.ReadFile(filepath.Join(root, "docs", "testing.md"))
		Expect(err).NotTo(HaveOccurred())
		blocks := regexp.MustCompile("(?s)```message\n(.*?)\n```").FindAllStringSubmatch(string(text), -1)
		Expect(len(blocks)).To(BeNumerically(">=", 8))
		for _, block := range blocks {
			Expect(plainLines(out)).To(ContainSubstring(plainLines(block[1])))
		}
		// And each of the twin's tests is shown.
		Expect(strings.Count(out, "--- FAIL: ")).To(Equal(len(blocks)-1), "the stubs have two messages")
	}, NodeTimeout(5*time.Minute))
}
