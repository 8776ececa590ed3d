package suite

import (
	"go/ast"
	"go/parser"
	"go/token"
	"slices"
	"strconv"
	"strings"

	"github.com/onsi/ginkgo/v2"
	"github.com/onsi/gomega"
)

// specMakers are what specs are made with, in all suites.
var specMakers = []string{"Describe", "DescribeTable", "Context", "When", "It", "Entry", "of", "onFakeClock", "onEvery", "onEveryThat"}

// SpecTexts are the texts of the specs in Go files, and the names of their functions: what a document may name as a proof.
func SpecTexts(files ...string) (texts []string) {
	ginkgo.GinkgoHelper()
	for _, path := range files {
		file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.SkipObjectResolution)
		gomega.Expect(err).NotTo(gomega.HaveOccurred())
		ast.Inspect(file, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.FuncDecl:
				texts = append(texts, n.Name.Name)
			case *ast.CallExpr:
				if maker, ok := n.Fun.(*ast.Ident); ok && slices.Contains(specMakers, maker.Name) {
					for _, arg := range n.Args {
						texts = appendText(texts, arg)
					}
				}
			}
			return true
		})
	}
	return texts
}

// appendText appends the text that an argument is, or begins with: what is added to it tells specs of a table apart.
func appendText(texts []string, arg ast.Expr) []string {
	for sum, ok := arg.(*ast.BinaryExpr); ok; sum, ok = arg.(*ast.BinaryExpr) {
		arg = sum.X
	}
	text, ok := arg.(*ast.BasicLit)
	if !ok || text.Kind != token.STRING {
		return texts
	}
	plain, err := strconv.Unquote(text.Value)
	gomega.Expect(err).NotTo(gomega.HaveOccurred())
	return append(texts, strings.TrimSuffix(plain, ": "))
}
