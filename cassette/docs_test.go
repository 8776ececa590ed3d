package cassette_test

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/boombox-go/boombox/internal/suite"
)

var _ = Describe("docs/cassettes.md", func() {
	aside := regexp.MustCompile("\\s\\([\"`][^()]*\\)")
	// named are the specs and fuzz targets that a text names in parentheses.
	named := func(text string) (list []string) {
		for _, group := range aside.FindAllString(text, -1) {
			for _, name := range regexp.MustCompile("\"([^\"]+)\"|`(Fuzz\\w+)`").FindAllStringSubmatch(group, -1) {
				list = append(list, strings.ReplaceAll(name[1]+name[2], "\n", " "))
			}
		}
		return list
	}

	It("names specs that are there", func() {
		data, err := os.ReadFile(filepath.Join("..", "docs", "cassettes.md"))
		Expect(err).NotTo(HaveOccurred())
		_, text, found := strings.Cut(string(data), "## Twenty pains")
		Expect(found).To(BeTrue())
		text, _, _ = strings.Cut(text, "\n## ")
		var files []string
		for _, dir := range []string{".", filepath.Join("..", "cmd", "boombox")} {
			inDir, err := filepath.Glob(filepath.Join(dir, "*_test.go"))
			Expect(err).NotTo(HaveOccurred())
			files = append(files, inDir...)
		}
		specs := suite.SpecTexts(files...)
		known := func(name string) bool {
			return slices.ContainsFunc(specs, func(spec string) bool { return strings.Contains(spec, name) })
		}
		Expect(known("no spec is called so " + "by anybody")).To(BeFalse())
		for _, name := range named(string(data)) {
			Expect(known(name)).To(BeTrue(), "no spec is called %q", name)
		}

		By("at least one for each of the twenty")
		starts := regexp.MustCompile(`(?m)^\d+\. \*\*`).FindAllStringIndex(text, -1)
		Expect(starts).To(HaveLen(20))
		for i, start := range starts {
			end := len(text)
			if i+1 < len(starts) {
				end = starts[i+1][0]
			}
			Expect(text[start[0]:end]).To(HavePrefix("%d. ", i+1))
			Expect(named(text[start[0]:end])).NotTo(BeEmpty(), "pain %d", i+1)
		}
	})
})
