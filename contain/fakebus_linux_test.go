package contain_test

import (
	"bufio"
	"encoding/binary"
	"io"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"

	"github.com/godbus/dbus/v5"
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
)

// fakeBus is a bus with a made-up systemd on it.
type fakeBus struct {
	socket string
	// mute is the step at which it says nothing any more: "auth", or a member's name; hangUp, at which it closes.
	mute, hangUp string
	// rejects says that it lets nobody in.
	rejects bool
	// errors are the names of the errors that it answers members with.
	errors map[string]string
	// group is the service manager's own cgroup.
	group string
	// result is that of the job that makes a unit, made what it does before the job is over.
	result string
	made   func(name string, pids []uint32)

	mu    sync.Mutex
	calls []string
	// units are the properties of the units asked for, by name.
	units map[string]map[string]any
}

// listen makes the bus reachable, as long as the spec lasts.
func (b *fakeBus) listen() *fakeBus {
	GinkgoHelper()
	dir, err := os.MkdirTemp("", "boombox-bus-") // a socket's path has to be short
	Expect(err).NotTo(HaveOccurred())
	DeferCleanup(os.RemoveAll, dir)
	b.socket, b.units = filepath.Join(dir, "bus"), map[string]map[string]any{}
	l, err := net.Listen("unix", b.socket)
	Expect(err).NotTo(HaveOccurred())
	var serving sync.WaitGroup
	serving.Go(func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			serving.Go(func() {
				defer conn.Close()
				b.serve(conn)
			})
		}
	})
	DeferCleanup(func() {
		_ = l.Close()
		serving.Wait() // a client hangs up within its bound
	})
	return b
}

func (b *fakeBus) serve(conn net.Conn) {
	in := bufio.NewReader(conn)
	if !b.authenticate(conn, in) {
		_, _ = io.Copy(io.Discard, in)
		return
	}
	for {
		m, err := dbus.DecodeMessage(in)
		if err != nil {
			return
		}
		member, _ := m.Headers[dbus.FieldMember].Value().(string)
		b.mu.Lock()
		b.calls = append(b.calls, member)
		b.mu.Unlock()
		if member == b.hangUp {
			return
		}
		if member == b.mute {
			continue
		}
		if name := b.errors[member]; name != "" {
			say := &dbus.Message{Type: dbus.TypeError, Headers: map[dbus.HeaderField]dbus.Variant{
				dbus.FieldErrorName: dbus.MakeVariant(name), dbus.FieldReplySerial: dbus.MakeVariant(m.Serial()),
			}}
			_ = say.EncodeTo(conn, binary.LittleEndian)
			continue
		}
		b.answer(conn, m, member)
	}
}

func (b *fakeBus) authenticate(conn net.Conn, in *bufio.Reader) bool {
	for {
		line, err := in.ReadString('\n')
		if err != nil || b.mute == "auth" {
			return false
		}
		answer := ""
		switch line = strings.Trim(line, "\x00\r\n"); {
		case line == "AUTH", b.rejects:
			answer = "REJECTED EXTERNAL"
		case strings.HasPrefix(line, "AUTH EXTERNAL"), strings.HasPrefix(line, "DATA"):
			answer = "OK 0123456789abcdef"
		case line == "NEGOTIATE_UNIX_FD":
			answer = "AGREE_UNIX_FD"
		case line == "BEGIN":
			return true
		default:
			answer = "ERROR"
		}
		if _, err := conn.Write([]byte(answer + "\r\n")); err != nil {
			return false
		}
	}
}

func (b *fakeBus) answer(conn net.Conn, m *dbus.Message, member string) {
	const job = dbus.ObjectPath("/org/freedesktop/systemd1/job/7")
	var body []any
	switch member {
	case "Hello":
		body = []any{":1.7"}
	case "Get":
		body = []any{dbus.MakeVariant(b.group)}
	case "StartTransientUnit", "SetUnitProperties":
		b.note(m)
		if member == "StartTransientUnit" {
			body = []any{job}
		}
	}
	reply := &dbus.Message{Type: dbus.TypeMethodReply, Body: body, Headers: map[dbus.HeaderField]dbus.Variant{
		dbus.FieldReplySerial: dbus.MakeVariant(m.Serial()),
	}}
	if len(body) > 0 {
		reply.Headers[dbus.FieldSignature] = dbus.MakeVariant(dbus.SignatureOf(body...))
	}
	_ = reply.EncodeTo(conn, binary.LittleEndian)
	if member != "StartTransientUnit" || b.result == "" {
		return
	}
	name := m.Body[0].(string)
	if b.made != nil {
		b.made(name, b.unit(name)["PIDs"].([]uint32))
	}
	// Another's job first.
	for _, removed := range [][]any{
		{uint32(3), dbus.ObjectPath("/org/freedesktop/systemd1/job/3"), "other.scope", "failed"}, {uint32(7), job, name, b.result},
	} {
		_ = (&dbus.Message{Type: dbus.TypeSignal, Body: removed, Headers: map[dbus.HeaderField]dbus.Variant{
			dbus.FieldPath:      dbus.MakeVariant(dbus.ObjectPath("/org/freedesktop/systemd1")),
			dbus.FieldInterface: dbus.MakeVariant("org.freedesktop.systemd1.Manager"),
			dbus.FieldMember:    dbus.MakeVariant("JobRemoved"),
			dbus.FieldSignature: dbus.MakeVariant(dbus.SignatureOf(removed...)),
		}}).EncodeTo(conn, binary.LittleEndian)
	}
}

// note remembers what a unit is to be like.
func (b *fakeBus) note(m *dbus.Message) {
	b.mu.Lock()
	defer b.mu.Unlock()
	name := m.Body[0].(string)
	if b.units[name] == nil {
		b.units[name] = map[string]any{}
	}
	for _, p := range m.Body[2].([][]any) {
		b.units[name][p[0].(string)] = p[1].(dbus.Variant).Value()
	}
}

func (b *fakeBus) unit(name string) map[string]any {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.units[name]
}

// only is the one unit that was asked for.
func (b *fakeBus) only() (name string, properties map[string]any) {
	GinkgoHelper()
	b.mu.Lock()
	defer b.mu.Unlock()
	Expect(b.units).To(HaveLen(1))
	for name, properties = range b.units {
	}
	return name, properties
}

// holders are the processes that units were asked for with.
func (b *fakeBus) holders() (pids []int) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, properties := range b.units {
		for _, pid := range properties["PIDs"].([]uint32) {
			pids = append(pids, int(pid))
		}
	}
	return pids
}
