package main_test

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
)

var _ = Describe("the documents", func() {
	root := filepath.Join("..", "..")

	It("name specs that exist", func() {
		readme := strings.ReplaceAll(read(root, "README.md"), "\n  ", " ")
		claims := regexp.MustCompile("`([\\w/]+_test\\.go)`((?:[^`\n]*?\"[^\"\n]+\")+)").FindAllStringSubmatch(readme, -1)
		Expect(len(claims)).To(BeNumerically(">", 6))
		for _, claim := range claims {
			source := read(root, claim[1])
			for _, name := range regexp.MustCompile(`"([^"]+)"`).FindAllStringSubmatch(claim[2], -1) {
				Expect(source).To(ContainSubstring(name[1]), claim[1])
			}
		}
	})

	It("show an example that compiles", func() {
		block := regexp.MustCompile("(?s)```go\n(.*?)```").FindStringSubmatch(read(root, "README.md"))
		Expect(block).NotTo(BeNil())
		Expect(read(root, "example_test.go")).To(ContainSubstring(block[1]))
	})

	It("link to files that are there", func() {
		for _, link := range regexp.MustCompile(`\]\(([^)#:]+)\)`).FindAllStringSubmatch(read(root, "README.md"), -1) {
			_, err := os.Stat(filepath.Join(root, link[1]))
			Expect(err).NotTo(HaveOccurred())
		}
	})

	It("have every flag of run, and no other", func() {
		flags := func(text string) []string {
			found := map[string]bool{}
			for _, flag := range regexp.MustCompile(`--[a-z][a-z-]+`).FindAllString(text, -1) {
				found[flag] = true
			}
			delete(found, "--help")
			list := []string{}
			for flag := range found {
				list = append(list, flag)
			}
			return list
		}
		_, table, found := strings.Cut(read(root, "docs/cli.md"), "## Flags of `run` and `record`")
		Expect(found).To(BeTrue())
		table, _, _ = strings.Cut(table, "\n## ")
		Expect(flags(table)).To(ConsistOf(flags(boombox("run", "--help").Stdout)))
	})
})
