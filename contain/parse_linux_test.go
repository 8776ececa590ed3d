package contain_test

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"unicode"
	"unicode/utf8"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/boombox-go/boombox/contain"
)

// hybrid is the mount table of a host with both versions, and of one with odd names.
const hybrid = `23 1 0:22 / /sys rw,nosuid - sysfs sysfs rw
36 31 0:35 / /sys/fs/cgroup/pids rw,relatime - cgroup cgroup rw,pids
41 31 0:38 / /sys/fs/cgroup/unified rw,relatime shared:9 master:1 - cgroup2 cgroup2 rw
42 31 0:38 /a\040b /mnt/c\011d\134e rw - cgroup2 none rw
43 31 0:38 /../.. /sys/fs/cgroup rw - cgroup2 cgroup rw
44 31 0:38 / relative rw - cgroup2 cgroup rw
45 31 0:38 / /x rw cgroup2 cgroup rw
 - cgroup2
`

var _ = Describe("parsing", func() {
	It("finds the cgroup2 mounts", func() {
		Expect(contain.ParseMountinfo([]byte(hybrid))).To(Equal([][2]string{
			{"/", "/sys/fs/cgroup/unified"}, {"/a b", "/mnt/c\td\\e"}, {"/../..", "/sys/fs/cgroup"},
		}))
		Expect(contain.ParseMountinfo(nil)).To(BeEmpty())
	})

	DescribeTable("resolves a cgroup's path in a mount",
		func(root, path, dir string) {
			got, ok := contain.Under(root, "/mnt", path)
			Expect(ok).To(Equal(dir != ""))
			Expect(got).To(Equal(dir))
		},
		Entry("the whole tree, at its root", "/", "/", "/mnt"),
		Entry("the whole tree", "/", "/a/b", "/mnt/a/b"),
		Entry("a subtree, at its root", "/a", "/a", "/mnt"),
		Entry("a subtree", "/a", "/a/b", "/mnt/b"),
		Entry("a sibling with a longer name", "/a", "/ab", ""),
		Entry("above the subtree", "/a/b", "/a", ""),
		Entry("above a namespace's root", "/", "/../x", ""),
		Entry("a mount from above a namespace's root", "/..", "/../x", "/mnt/x"),
		Entry("a mount from above, and names that we cannot know", "/..", "/", ""),
		Entry("a mount from far above", "/..", "/../../x", ""),
	)

	It("finds our own membership", func() {
		Expect(contain.ParseSelfCgroup([]byte("9:name=systemd:/x\n0::/user.slice/a:b\n"))).To(Equal("/user.slice/a:b"))
		for _, text := range []string{"", "8:pids:/\n", "0::\n", "0::relative\n", "0::/x (deleted)\n"} {
			_, err := contain.ParseSelfCgroup([]byte(text))
			Expect(err).To(HaveOccurred(), "%q", text)
		}
	})

	It("reads whether a cgroup is populated", func() {
		Expect(contain.ParseEvents([]byte("populated 1\nfrozen 0\n"))).To(BeTrue())
		Expect(contain.ParseEvents([]byte("frozen 0\npopulated 0\n"))).To(BeFalse())
		for _, text := range []string{"", "populated", "populated 2\n", "frozen 1\n", "unpopulated 0\n"} {
			_, err := contain.ParseEvents([]byte(text))
			Expect(err).To(HaveOccurred(), "%q", text)
		}
	})

	It("reads a process, whatever it calls itself", func() {
		const fields = "S 7 8 9 0 -1 4194560 1 2 3 4 5 6 7 8 20 0 1 0 4711 1 2"
		for _, name := range []string{"sleep", "a b", "x) R 1 (y", "(", ")", "", "new\nline"} {
			p, err := contain.ParseStat([]byte("42 (" + name + ") " + fields + "\n"))
			Expect(err).NotTo(HaveOccurred())
			pid, parent, group, state, got, start := contain.StatFields(p)
			Expect([]any{pid, parent, group, state, got, start}).To(Equal([]any{42, 7, 8, byte('S'), name, uint64(4711)}))
		}
		for _, line := range []string{
			"", "42", "42 (x", "42 )x(", "42 (x) S 1 2", "x (y) " + fields, "-1 (y) " + fields,
			"42 (x) SS" + fields[1:], "42 (x) " + strings.Replace(fields, "4711", "-1", 1),
		} {
			_, err := contain.ParseStat([]byte(line))
			Expect(err).To(HaveOccurred(), "%q", line)
		}
		own, err := os.ReadFile("/proc/self/stat")
		Expect(err).NotTo(HaveOccurred())
		p, err := contain.ParseStat(own)
		Expect(err).NotTo(HaveOccurred())
		pid, parent, _, _, _, _ := contain.StatFields(p)
		Expect([]int{pid, parent}).To(Equal([]int{os.Getpid(), os.Getppid()}))
	})

	It("reads a list of processes, and the process behind a pidfd", func() {
		Expect(contain.ParsePIDs([]byte("17\n0\n4194304\nx\n-3\n"))).To(Equal([]int{17, 0, 4194304}))
		Expect(contain.ParsePidfd([]byte("pos:\t0\nflags:\t02000002\nPid:\t17\nNSpid:\t17\n"))).To(Equal(17))
		Expect(contain.ParsePidfd([]byte("Pid:\t-1\n"))).To(Equal(-1))
		for _, text := range []string{"", "Pid:\n", "NSpid:\t17\n", "Pid:\tx\n"} {
			_, err := contain.ParsePidfd([]byte(text))
			Expect(err).To(HaveOccurred(), "%q", text)
		}
	})

	It("reads no file without end", func() {
		_, err := contain.ReadSmall("/dev/zero")
		Expect(err).To(MatchError(syscall.EFBIG))
		path := filepath.Join(GinkgoT().TempDir(), "procs")
		Expect(os.WriteFile(path, nil, 0o600)).To(Succeed())
		for size, is := range map[int64]OmegaMatcher{contain.MostRead: Succeed(), contain.MostRead + 1: MatchError(syscall.EFBIG)} {
			Expect(os.Truncate(path, size)).To(Succeed())
			text, err := contain.ReadSmall(path)
			Expect(err).To(is)
			if err == nil {
				Expect(text).To(HaveLen(int(size)))
			}
		}
	})

	It("reads the owner out of a base's name", func() {
		_, ok := contain.ParseBase("boombox-4026531836-17-4711-0123abcd")
		Expect(ok).To(BeTrue())
		for _, name := range []string{
			"", "boombox", "boombox-1-2-3", "boombox-1-2-3-xyz", "boombox-1-2-3-0123abcde", "boombox-1--3-0123abcd",
			"boombox--1-2-3-0123abcd", "boombox-99999999999999999999-2-3-0123abcd", "xboombox-1-2-3-0123abcd",
		} {
			_, ok := contain.ParseBase(name)
			Expect(ok).To(BeFalse(), name)
		}
	})

	It("makes the names of programs fit for a terminal", func() {
		Expect(contain.EscapeName("a\x1b[2J\n\u202e\xff\"\\")).To(Equal(`a\x1b[2J\n\u202e\xff\"\\`))
		m := contain.Member{PID: 4, Name: contain.EscapeName("a\"\n"), State: 'S'}
		Expect(m.String()).To(Equal(`pid 4 "a\"\n" (S)`))
	})
})

func FuzzParseStat(f *testing.F) {
	f.Add([]byte("42 (x) R 1 (y) S 7 8 9 0 -1 4194560 1 2 3 4 5 6 7 8 20 0 1 0 4711 1 2\n"))
	f.Add([]byte(")("))
	f.Fuzz(func(t *testing.T, line []byte) {
		p, err := contain.ParseStat(line)
		if pid, parent, _, _, name, _ := contain.StatFields(p); err == nil {
			if pid < 0 || parent < 0 {
				t.Errorf("negative ids %d, %d", pid, parent)
			}
			escaped := contain.EscapeName(name)
			if !utf8.ValidString(escaped) || strings.ContainsFunc(escaped, unicode.IsControl) {
				t.Errorf("%q is not fit for a terminal", escaped)
			}
		}
	})
}

func FuzzParseMountinfo(f *testing.F) {
	f.Add([]byte(hybrid), "/a b/c")
	f.Add([]byte(" - cgroup2"), "/")
	f.Fuzz(func(t *testing.T, text []byte, path string) {
		for _, m := range contain.ParseMountinfo(text) {
			if m[0][0] != '/' || m[1][0] != '/' {
				t.Errorf("relative mount %q", m)
			}
			if dir, ok := contain.Under(m[0], m[1], path); ok && dir[0] != '/' {
				t.Errorf("relative directory %q", dir)
			}
		}
	})
}

func FuzzParseSelfCgroup(f *testing.F) {
	f.Add([]byte("9:name=systemd:/\n0::/user.slice\n"))
	f.Add([]byte("0::/x (deleted)\n"))
	f.Fuzz(func(t *testing.T, text []byte) {
		path, err := contain.ParseSelfCgroup(text)
		if err == nil && (path[0] != '/' || strings.ContainsRune(path, '\n')) {
			t.Errorf("path %q", path)
		}
	})
}

func FuzzParseEvents(f *testing.F) {
	f.Add([]byte("populated 1\nfrozen 0\n"))
	f.Add([]byte("populated"))
	f.Fuzz(func(t *testing.T, text []byte) {
		if populated, err := contain.ParseEvents(text); populated && err != nil {
			t.Error("populated and in error")
		}
	})
}

func FuzzParseBase(f *testing.F) {
	f.Add("boombox-4026531836-17-123456-0a1b2c3d")
	f.Add("boombox-home-boombox-4026531836-17-123456-0a1b2c3d")
	f.Fuzz(func(t *testing.T, name string) {
		if owner, ok := contain.ParseBase(name); ok && fmt.Sprint(owner) != name[:strings.LastIndexByte(name, '-')] && !strings.Contains(name, "-0") {
			t.Errorf("%q is of %v", name, owner) // what has leading zeros reads the same, and nobody writes it
		}
	})
}

func FuzzParsePIDs(f *testing.F) {
	f.Add([]byte("17\n0\n"))
	f.Add([]byte("-1 99999999999999999999"))
	f.Fuzz(func(t *testing.T, text []byte) {
		if pids := contain.ParsePIDs(text); slices.ContainsFunc(pids, func(pid int) bool { return pid < 0 }) {
			t.Errorf("%v", pids)
		}
		_, _ = contain.ParsePidfd(text)
	})
}
