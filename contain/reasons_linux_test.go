package contain_test

import (
	"errors"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"strconv"
	"syscall"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/boombox-go/boombox/contain"
)

// causes has, for every reason for which a cap is refused, one way to get it: from a group, from a made-up cgroup file
// system or service manager, or from what a kernel says.
var causes = map[contain.LimitReason]func() error{
	contain.LimitInvalid:       refusedNew(contain.Options{Limits: contain.Limits{Memory: -1}}),
	contain.LimitUnenforceable: refusedNew(contain.Options{Limits: contain.Limits{CPU: 1}, Mechanism: contain.ProcessGroup}),
	contain.LimitNoCgroup2:     refusedPlace(contain.Site{Parent: "/elsewhere"}, &fakeDir{}),
	contain.LimitNoController:  refusedPlace(contain.Site{}, &fakeDir{kind: "domain"}),
	contain.LimitNotMounted:    func() error { return contain.RefuseV1(&fakeFS{}, "memory", "") },
	contain.LimitReadOnly:      refusedPlace(contain.Site{}, &fakeDir{controllers: all(), readOnly: syscall.EROFS}),
	contain.LimitNotDelegated:  refusedPlace(contain.Site{}, &fakeDir{controllers: all(), readOnly: syscall.EACCES}),
	contain.LimitInternalProcesses: refusedPlace(
		contain.Site{}, &fakeDir{controllers: all(), kind: "domain", pids: []int{4711}}),
	contain.LimitStrangers: refusedPlace(
		contain.Site{Migrate: true}, &fakeDir{controllers: all(), kind: "domain", pids: []int{4711, 99}}),
	contain.LimitThreaded:     refusedPlace(contain.Site{}, &fakeDir{controllers: all(), kind: "threaded"}),
	contain.LimitKernelTooOld: func() error { return contain.RefusedFile(contain.LimitCPU, "cpu.max", syscall.ENOENT) },
	contain.LimitSystemdUnavailable: func() error {
		_, refused := contain.Systemd{Socket: filepath.Join(GinkgoT().TempDir(), "none"), Bound: bound}.Predict("memory")
		return refused
	},
	contain.LimitSystemdRefused: func() error {
		b := &fakeBus{errors: map[string]string{"Get": "org.freedesktop.DBus.Error.AccessDenied"}}
		_, refused := contain.Systemd{Socket: b.listen().socket, Bound: bound}.Predict("memory")
		return refused
	},
	contain.LimitReadback: func() error {
		dir := GinkgoT().TempDir()
		// A file is not a kernel, and keeps the last digit.
		Expect(os.WriteFile(filepath.Join(dir, "pids.max"), []byte("99"), 0o600)).To(Succeed())
		_, err := contain.CapsAt(dir, contain.Limits{Processes: 5})
		return err
	},
	contain.LimitFixed: func() error {
		g, err := contain.New(contain.Options{})
		Expect(err).NotTo(HaveOccurred())
		DeferCleanup(g.Close)
		return g.UpdateLimits(contain.Limits{CPU: 1})
	},
	contain.LimitInUse: func() error {
		return contain.RefusedFile(contain.LimitMemory, "memory.limit_in_bytes", syscall.EBUSY)
	},
	contain.LimitFailed: func() error { return contain.RefusedFile(contain.LimitCPU, "cpu.max", syscall.EIO) },
}

func refusedNew(opts contain.Options) func() error {
	return func() error {
		_, err := contain.New(opts)
		return err
	}
}

// refusedPlace asks for a place in a cgroup that is like own, twice: what is predicted is what happens.
func refusedPlace(s contain.Site, own *fakeDir) func() error {
	return func() error {
		s.Own, s.FS = "/cg/own", host(own)
		_, predicted := s.Place([]string{"memory"}, false)
		_, refused := s.Place([]string{"memory"}, true)
		Expect(predicted).To(HaveField("Reason", refused.Reason))
		return refused
	}
}

var _ = Describe("each reason for which a cap is refused", Label("limits"), func() {
	It("has a cause, and a line that tells it", func() {
		for reason, cause := range causes {
			err := cause()
			refused, ok := errors.AsType[*contain.LimitError](err)
			Expect(ok).To(BeTrue(), "%s: %v", reason, err)
			Expect(refused.Reason).To(Equal(reason))
			Expect(refused.Kind).To(BeElementOf(contain.LimitMemory, contain.LimitProcesses, contain.LimitCPU))
			Expect(refused.Detail).NotTo(BeEmpty(), string(reason))
			Expect(err.Error()).To(And(HavePrefix("contain: "+string(refused.Kind)+" limit "), Not(ContainSubstring("\n"))))
			Expect(errors.Is(err, contain.ErrUnsupported)).To(Equal(reason != contain.LimitInvalid), "no host could: %s", reason)
		}
	})

	It("is among them: none was forgotten", func() {
		var declared []contain.LimitReason
		file, err := parser.ParseFile(token.NewFileSet(), "limit_errors.go", nil, 0)
		Expect(err).NotTo(HaveOccurred())
		ast.Inspect(file, func(n ast.Node) bool {
			if spec, ok := n.(*ast.ValueSpec); ok {
				if kind, ok := spec.Type.(*ast.Ident); ok && kind.Name == "LimitReason" {
					reason, err := strconv.Unquote(spec.Values[0].(*ast.BasicLit).Value)
					Expect(err).NotTo(HaveOccurred())
					declared = append(declared, contain.LimitReason(reason))
				}
			}
			return true
		})
		Expect(declared).To(ContainElement(contain.LimitInvalid))
		for _, reason := range declared {
			Expect(causes).To(HaveKey(reason))
		}
		Expect(causes).To(HaveLen(len(declared)))
	})
})
