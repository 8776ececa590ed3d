package runner_test

import (
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/boombox-go/boombox/internal/suite"
)

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
			Expect(suite.SpecTexts(filepath.Join("..", row[4]))).To(ContainElement(row[3]), "%d: %s", number, row[2])
		}
		Expect(number).To(Equal(46))
		Expect(suite.SpecTexts("regressions_test.go")).NotTo(ContainElement("has all of it"), "the control: a text is found whole or not at all")
	})
})
