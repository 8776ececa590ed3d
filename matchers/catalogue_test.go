package matchers_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"regexp"
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
)

// source parses the Go files of this folder, the tests or the others.
func source(tests bool) (files []*ast.File) {
	GinkgoHelper()
	names, err := filepath.Glob("*.go")
	Expect(err).NotTo(HaveOccurred())
	for _, name := range names {
		if strings.HasSuffix(name, "_test.go") == tests {
			file, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.SkipObjectResolution)
			Expect(err).NotTo(HaveOccurred())
			files = append(files, file)
		}
	}
	return files
}

// matcherType tells the types that a constructor of a matcher returns.
var matcherType = regexp.MustCompile(`^(types\.GomegaMatcher|\*\w+Matcher)$`)

// constructors are the names of the exported functions that make a matcher.
func constructors() (names []string) {
	GinkgoHelper()
	for _, file := range source(false) {
		for _, d := range file.Decls {
			f, ok := d.(*ast.FuncDecl)
			if !ok || f.Recv != nil || !f.Name.IsExported() || f.Type.Results.NumFields() != 1 {
				continue
			}
			if matcherType.MatchString(typeName(f.Type.Results.List[0].Type)) {
				names = append(names, f.Name.Name)
			}
		}
	}
	return names
}

func typeName(e ast.Expr) string {
	switch e := e.(type) {
	case *ast.Ident:
		return e.Name
	case *ast.StarExpr:
		return "*" + typeName(e.X)
	case *ast.SelectorExpr:
		return typeName(e.X) + "." + e.Sel.Name
	}
	return ""
}

// goldensElsewhere are the matchers whose texts stand in the golden file of another.
var goldensElsewhere = map[string]string{"BeZombie": "BeRunning", "BeGone": "BeRunning"}

// A matcher that is added has its texts, its example and its place in the guide, or this fails.
var _ = Describe("the catalogue", func() {
	It("has for each matcher a golden text of either direction, an example, and a line in the guide", func() {
		if *update {
			Skip("the goldens are being written")
		}
		examples := map[string]bool{}
		for _, file := range source(true) {
			for _, d := range file.Decls {
				if f, ok := d.(*ast.FuncDecl); ok {
					examples[f.Name.Name] = true
				}
			}
		}
		guide, err := os.ReadFile("../docs/testing.md")
		Expect(err).NotTo(HaveOccurred())
		names := constructors()
		Expect(len(names)).To(BeNumerically(">", 30), "the control: they are found")
		var lacks []string
		for _, name := range names {
			file := name
			if other, ok := goldensElsewhere[name]; ok {
				file = other
			}
			golden, err := os.ReadFile(goldenPath(file))
			Expect(err).NotTo(HaveOccurred(), name)
			for what, has := range map[string]bool{
				"a text of its failure":              strings.Contains("\n"+string(golden), "\nExpected "),
				"a text of its failure when negated": strings.Contains("\n"+string(golden), "\n(negated) Expected "),
				"an example":                         examples["Example"+name] || goldensElsewhere[name] != "",
				"a word in docs/testing.md":          strings.Contains(string(guide), "`"+name+"("),
			} {
				if !has {
					lacks = append(lacks, name+" lacks "+what)
				}
			}
		}
		Expect(lacks).To(BeEmpty())
	})
})
