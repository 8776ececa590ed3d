package cassette_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
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
		specs := specTexts(".", filepath.Join("..", "cmd", "boombox"))
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

// specTexts are the texts of the specs and the names of the fuzz targets in some folders.
func specTexts(dirs ...string) (list []string) {
	GinkgoHelper()
	for _, dir := range dirs {
		files, err := filepath.Glob(filepath.Join(dir, "*_test.go"))
		Expect(err).NotTo(HaveOccurred())
		for _, path := range files {
			file, err := parser.ParseFile(token.NewFileSet(), path, nil, 0)
			Expect(err).NotTo(HaveOccurred())
			ast.Inspect(file, func(n ast.Node) bool {
				switch n := n.(type) {
				case *ast.FuncDecl:
					if strings.HasPrefix(n.Name.Name, "Fuzz") {
						list = append(list, n.Name.Name)
					}
				case *ast.CallExpr:
					kind, isName := n.Fun.(*ast.Ident)
					if !isName || len(n.Args) == 0 || !slices.Contains([]string{"Describe", "DescribeTable", "Context", "When", "It", "Entry"}, kind.Name) {
						break
					}
					if text, isText := n.Args[0].(*ast.BasicLit); isText && text.Kind == token.STRING {
						value, err := strconv.Unquote(text.Value)
						Expect(err).NotTo(HaveOccurred())
						list = append(list, value)
					}
				}
				return true
			})
		}
	}
	return list
}
