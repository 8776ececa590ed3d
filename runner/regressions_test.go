package runner_test

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

// specMakers are what specs are made with, here and in the other suites.
var specMakers = []string{"It", "Describe", "DescribeTable", "Entry", "of", "onFakeClock", "onEvery", "onEveryThat"}

// specsIn are the texts of the specs of a file, and the names of its functions.
func specsIn(file string) (texts []string) {
	GinkgoHelper()
	parsed, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.SkipObjectResolution)
	Expect(err).NotTo(HaveOccurred())
	ast.Inspect(parsed, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.FuncDecl:
			texts = append(texts, n.Name.Name)
		case *ast.CallExpr:
			if name, ok := n.Fun.(*ast.Ident); ok && slices.Contains(specMakers, name.Name) {
				for _, arg := range n.Args {
					// What is added to a text tells specs of a table apart.
					for sum, ok := arg.(*ast.BinaryExpr); ok; sum, ok = arg.(*ast.BinaryExpr) {
						arg = sum.X
					}
					if text, ok := arg.(*ast.BasicLit); ok && text.Kind == token.STRING {
						plain, err := strconv.Unquote(text.Value)
						Expect(err).NotTo(HaveOccurred())
						texts = append(texts, strings.TrimSuffix(plain, ": "))
					}
				}
			}
		}
		return true
	})
	return texts
}

var _ = Describe("the list of what others have lost", func() {
	It("has all of it, each with specs that exist", func() {
		list, err := os.ReadFile("../docs/runner-regressions.md")
		Expect(err).NotTo(HaveOccurred())
		rows := regexp.MustCompile(`(?m)^\| (\d*) ?\| (.+) \| "(.+)" \| (\S+) \|$`).FindAllStringSubmatch(string(list), -1)
		Expect(rows).To(HaveLen(strings.Count(string(list), "\n| ")-1), "every row of the table reads")
		number := 0
		for _, row := range rows {
			if row[1] != "" {
				number++
				Expect(row[1]).To(Equal(strconv.Itoa(number)))
			}
			Expect(specsIn(filepath.Join("..", row[4]))).To(ContainElement(row[3]), "%d: %s", number, row[2])
		}
		Expect(number).To(Equal(46))
		Expect(specsIn("regressions_test.go")).NotTo(ContainElement("has all of it"), "the control: a text is found whole or not at all")
	})
})
