package matchers_test

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
)

// source parses the Go files of a folder, the tests or the others.
func source(dir string, tests bool) (files []*ast.File) {
	GinkgoHelper()
	names, err := filepath.Glob(filepath.Join(dir, "*.go"))
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
	for _, file := range source(".", false) {
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
		for _, file := range source(".", true) {
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

// printer tells the methods by which values are printed, which nobody calls.
var printer = regexp.MustCompile(`^(Format|GoString|GomegaString|String|LogValue|MarshalJSON|Error|Unwrap|Is|Write)$`)

// verbs are the names of the exported functions in a folder that do something, and of the methods of the types named.
// What returns an option or the like only says how.
func verbs(dir string, types ...string) (names []string) {
	GinkgoHelper()
	for _, file := range source(dir, false) {
		for _, d := range file.Decls {
			f, ok := d.(*ast.FuncDecl)
			if !ok || !f.Name.IsExported() || printer.MatchString(f.Name.Name) {
				continue
			}
			if f.Recv == nil && f.Type.Results.NumFields() == 1 && slices.Contains([]string{"Option", "Matcher"}, typeName(f.Type.Results.List[0].Type)) {
				continue
			}
			if f.Recv == nil || slices.Contains(types, strings.TrimPrefix(typeName(f.Recv.List[0].Type), "*")) {
				names = append(names, f.Name.Name)
			}
		}
	}
	return names
}

// exemplified are the names that a folder's examples select.
func exemplified(dir string) map[string]bool {
	GinkgoHelper()
	names := map[string]bool{}
	for _, file := range source(dir, true) {
		for _, d := range file.Decls {
			if f, ok := d.(*ast.FuncDecl); ok && strings.HasPrefix(f.Name.Name, "Example") {
				ast.Inspect(f, func(n ast.Node) bool {
					if s, ok := n.(*ast.SelectorExpr); ok {
						names[s.Sel.Name] = true
					}
					return true
				})
			}
		}
	}
	return names
}

var _ = DescribeTable("what a package does, an example of it does", func(dir string, types ...string) {
	names, shown := verbs(dir, types...), exemplified(dir)
	Expect(len(names)).To(BeNumerically(">", 10), "the control: they are found")
	Expect(slices.DeleteFunc(names, func(name string) bool { return shown[name] })).To(BeEmpty())
},
	Entry(nil, "../contain", "Group"),
	Entry(nil, "../fake", "Runner", "Rule"),
	Entry(nil, "../cassette", "Deck", "Player", "Recorder", "Tape", "Stepper"),
)

// byHand tells an assertion on what a run's Result, a group, a search for processes or a file's mode says, where there is a
// matcher that says more.
var byHand = regexp.MustCompile(`Expect\([^\n]*(\.(Outcome|Success|Replayed)\(\)|\.Perm\(\)[^\n]*|\.Mode\(\))\)\.(To|NotTo|Should|ShouldNot)\(` +
	`|Expect\([^\n]*\.Teardown\(\)\.(Mechanism\)\.To\(Equal|Verified\)\.To\(BeTrue|Survivors\)\.To\(BeEmpty)` +
	`|Expect\([\w.]+\.(Mechanism\(\)\)\.To\(Equal|Tripped\)\.To\(Equal\(contain)` +
	`|(Expect|Eventually)\((([\w.]+\.)?(find|nonce)(\(\))?|\w+\.left\(\))\)[^\n]*\.(To|NotTo|Should|ShouldNot)\((BeEmpty|HaveLen)` +
	`|(Expect|Eventually)\(suite\.Alive\b`)

// notByMatchers are the files that assert so nevertheless, with the reason.
var notByMatchers = map[string]string{
	"cassette/parse_test.go":       "a cassette.Run is what the file says, and no Result",
	"cassette/roundtrip_test.go":   "a cassette.Run is what the file says, and no Result",
	"internal/suite/judge_test.go": "the search for processes itself is what it is about",
	"internal/suite/suite_test.go": "the search for processes itself is what it is about",
	"runner/zero_test.go":          "the zero Result itself is what it is about",
}

var _ = Describe("the suites of this project", func() {
	It("assert what came of a run, and a file's mode, with these matchers", func() {
		var found []string
		allowed, read := map[string]bool{}, 0
		Expect(filepath.WalkDir("..", func(path string, entry fs.DirEntry, err error) error {
			if err != nil || entry.IsDir() || !strings.HasSuffix(path, "_test.go") {
				return err
			}
			text, err := os.ReadFile(path)
			read++
			name := filepath.ToSlash(strings.TrimPrefix(path, ".."+string(filepath.Separator)))
			for i, line := range strings.Split(string(text), "\n") {
				switch {
				case !byHand.MatchString(line):
				case notByMatchers[name] != "":
					allowed[name] = true
				default:
					found = append(found, fmt.Sprintf("%s:%d: %s", name, i+1, strings.TrimSpace(line)))
				}
			}
			return err
		})).To(Succeed())
		Expect(read).To(BeNumerically(">", 100), "the control: the suites are found")
		for _, subject := range []string{
			"g.Expect(res.Outcome())", "Expect(res.Teardown().Mechanism)", "Expect(g.Mechanism())",
		} {
			Expect(subject+".To(Equal(x))").To(MatchRegexp(byHand.String()), "the control: it is seen")
		}
		for _, subject := range []string{"Expect(r.find())", "Eventually(find)", "Expect(b.left())", "Expect(w.nonce())"} {
			Expect(subject+".To(BeEmpty())").To(MatchRegexp(byHand.String()), "the control: it is seen")
		}
		Expect("Expect(suite"+".Alive(pid)).To(BeTrue())").To(MatchRegexp(byHand.String()), "the control: it is seen")
		Expect("Expect(l.Tripped)"+".To(Equal(contain.HasTripped))").To(MatchRegexp(byHand.String()), "the control: it is seen")
		Expect(found).To(BeEmpty())
		Expect(allowed).To(HaveLen(len(notByMatchers)), "each exception is one still")
	})
})
