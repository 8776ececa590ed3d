package cassette_test

import (
	"os"
	"path/filepath"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"golang.org/x/sys/windows"

	. "github.com/boombox-go/boombox/matchers"
)

var _ = Describe("Saving on Windows", func() {
	It("makes the file and its side files ours alone, in a folder that everybody may use", func() {
		path := tempFile()
		everybody, err := windows.SecurityDescriptorFromString("D:P(A;OICI;FA;;;WD)")
		Expect(err).NotTo(HaveOccurred())
		list, _, err := everybody.DACL()
		Expect(err).NotTo(HaveOccurred())
		Expect(windows.SetNamedSecurityInfo(filepath.Dir(path), windows.SE_FILE_OBJECT, windows.DACL_SECURITY_INFORMATION, nil, nil, list, nil)).To(Succeed())
		control := filepath.Join(filepath.Dir(path), "control")
		Expect(os.WriteFile(control, nil, 0o600)).To(Succeed())
		Expect(control).NotTo(BePrivateFile(), "whose files are everybody's")
		for n := range 2 { // the second time it replaces one
			Expect(bulkyTape(n + 1).Save(path)).To(Succeed())
			Expect(path).To(BePrivateFile())
			for _, name := range names(sideDir(path)) {
				Expect(filepath.Join(sideDir(path), name)).To(BePrivateFile())
			}
		}
	})

	// hold opens a file so that nobody can replace it.
	hold := func(path string) (release func()) {
		GinkgoHelper()
		name, err := windows.UTF16PtrFromString(path)
		Expect(err).NotTo(HaveOccurred())
		h, err := windows.CreateFile(name, windows.GENERIC_READ, windows.FILE_SHARE_READ, nil, windows.OPEN_EXISTING, 0, 0)
		Expect(err).NotTo(HaveOccurred())
		return func() { Expect(windows.CloseHandle(h)).To(Succeed()) }
	}

	It("waits for whoever has the old file open, and leaves it alone when that takes too long", func() {
		path := tempFile()
		Expect(plainTape(1).Save(path)).To(Succeed())
		old := contents(path)
		release := hold(path)
		Expect(plainTape(2).Save(path)).To(MatchError(HavePrefix("cassette: saving ")))
		Expect(contents(path)).To(Equal(old))
		Expect(names(filepath.Dir(path))).To(Equal([]string{"x.cassette"}))

		By("and is done once it is closed")
		saved := make(chan error, 1)
		go func() { saved <- plainTape(2).Save(path) }()
		temp := filepath.Join(filepath.Dir(path), ".x.cassette.tmp")
		for { // the new file is written while the old one is held
			if _, err := os.Lstat(temp); err == nil {
				break
			}
		}
		release()
		Expect(<-saved).To(Succeed())
		Expect(contents(path)).To(Equal(string(generation(2))))
	})
})
