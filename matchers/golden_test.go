package matchers_test

import (
	"flag"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"github.com/onsi/gomega/types"
)

var update = flag.Bool("update", false, "write the messages as they are now to testdata/*.golden (refused when CI is set)")

// goldens are the messages that the matchers give: one file for each matcher, one section for each case.
var goldens = struct {
	sync.Mutex
	files map[string]map[string]string
}{files: map[string]map[string]string{}}

const sectionMark = "=== "

func goldenPath(file string) string { return filepath.Join("testdata", file+".golden") }

// expectGolden compares text with a section of a golden file, or notes it for the file's next version.
func expectGolden(file, section, text string) {
	GinkgoHelper()
	goldens.Lock()
	defer goldens.Unlock()
	sections, loaded := goldens.files[file]
	if !loaded {
		sections = map[string]string{}
		if !*update {
			content, err := os.ReadFile(goldenPath(file))
			Expect(err).NotTo(HaveOccurred())
			for part := range strings.SplitSeq("\n"+string(content), "\n"+sectionMark) {
				name, body, _ := strings.Cut(part, "\n")
				sections[name] = strings.TrimSuffix(body, "\n")
			}
		}
		goldens.files[file] = sections
	}
	if *update {
		sections[section] = text
		return
	}
	Expect(sections).To(HaveKey(section), "run the tests with -update, and read what changed")
	Expect(text).To(Equal(sections[section]))
}

var _ = AfterSuite(func() {
	if !*update {
		return
	}
	Expect(os.Getenv("CI")).To(BeEmpty(), "goldens are not written in CI")
	config, _ := GinkgoConfiguration()
	Expect(config.ParallelTotal).To(Equal(1), "each process would write its own part alone")
	Expect(config.FocusStrings).To(BeEmpty(), "what did not run would be lost")
	goldens.Lock()
	defer goldens.Unlock()
	for file, sections := range goldens.files {
		var b strings.Builder
		for _, name := range slices.Sorted(maps.Keys(sections)) {
			fmt.Fprintf(&b, "%s%s\n%s\n", sectionMark, name, sections[name])
		}
		Expect(os.WriteFile(goldenPath(file), []byte(b.String()), 0o644)).To(Succeed())
	}
})

// verdict is one case of a matcher: what it says of one actual value.
type verdict struct {
	name    string
	matcher types.GomegaMatcher
	actual  any
	ok      bool
}

// hostFacts are what a message says of this machine, and a golden cannot know.
var hostFacts = regexp.MustCompile(`uid \d+, we are \d+`)

// verdicts makes a spec of each case: the verdict, in both directions, and the exact text of the failure that the
// verdict leads to, negated or not.
func verdicts(file string, cases func() []verdict) {
	for i, c := range cases() {
		It(c.name, func() {
			// Matchers are for single use, and so are the cases.
			c := cases()[i]
			ok, err := c.matcher.Match(c.actual)
			Expect(err).NotTo(HaveOccurred())
			text := "(negated) " + c.matcher.NegatedFailureMessage(c.actual)
			if !ok {
				text = c.matcher.FailureMessage(c.actual)
			}
			Expect(ok).To(Equal(c.ok), text)
			Expect(len(text)).To(BeNumerically("<=", 4096+len("(negated) ")))
			expectGolden(file, c.name, hostFacts.ReplaceAllString(text, "uid N, we are N"))
			Expect(Not(c.matcher).Match(c.actual)).To(Equal(!c.ok))
		})
	}
}
