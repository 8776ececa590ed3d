package contain

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"strconv"
	"time"

	"github.com/godbus/dbus/v5"
)

// systemd is a service manager as it is reached over D-Bus: the user's own, or the system's if we are root.
type systemd struct {
	// socket is the bus's, "" if there is none.
	socket string
	// bound is how long one conversation may take.
	bound time.Duration
}

// systemdBound is how long the service manager may take for all that is asked of it at once. It answers within
// milliseconds, and takes its time while the machine boots.
const systemdBound = 5 * time.Second

// newSystemd finds the service manager that would make a unit for us.
func newSystemd() systemd {
	candidates := []string{"/run/dbus/system_bus_socket"}
	if uid := os.Geteuid(); uid != 0 {
		candidates = []string{"/run/user/" + strconv.Itoa(uid) + "/bus"}
		if dir := os.Getenv("XDG_RUNTIME_DIR"); dir != "" {
			candidates = append([]string{dir + "/bus"}, candidates...)
		}
	}
	for _, path := range candidates {
		if info, err := os.Stat(path); err == nil && info.Mode().Type() == os.ModeSocket {
			return systemd{socket: path, bound: systemdBound}
		}
	}
	return systemd{}
}

const (
	systemdName    = "org.freedesktop.systemd1"
	systemdPath    = dbus.ObjectPath("/org/freedesktop/systemd1")
	systemdManager = systemdName + ".Manager"
)

// errNoAnswer stands for a service manager that took longer than its bound.
var errNoAnswer = errors.New("no answer in time")

// talk calls f with a connection, and with a context that ends with the bound.
func (s systemd) talk(f func(ctx context.Context, conn *dbus.Conn) error) error {
	ctx, cancel := context.WithTimeout(context.Background(), s.bound)
	defer cancel()
	raw, err := (&net.Dialer{}).DialContext(ctx, "unix", s.socket)
	if err != nil {
		return bare(err)
	}
	end, _ := ctx.Deadline()
	_ = raw.SetDeadline(end) // all that follows, the authentication too, which has no context
	conn, err := dbus.DialUnix(raw.(*net.UnixConn))
	if err != nil {
		_ = raw.Close()
		return err
	}
	defer func() { _ = conn.Close() }()
	err = conn.Auth([]dbus.Auth{dbus.AuthExternal(strconv.Itoa(os.Geteuid()))})
	if err == nil {
		// Not conn.Hello, which waits for ever.
		err = conn.BusObject().CallWithContext(ctx, "org.freedesktop.DBus.Hello", 0).Err
	}
	if err == nil {
		err = f(ctx, conn)
	}
	if err != nil && !time.Now().Before(end) {
		return errNoAnswer // whichever of the two was first to notice
	}
	if op, ok := errors.AsType[*net.OpError](err); ok {
		err = op.Err // without the path
	}
	return err
}

// controlGroup is the cgroup that the service manager keeps its units in.
func (s systemd) controlGroup() (path string, err error) {
	err = s.talk(func(ctx context.Context, conn *dbus.Conn) error {
		var v dbus.Variant
		err := conn.Object(systemdName, systemdPath).CallWithContext(
			ctx, "org.freedesktop.DBus.Properties.Get", 0, systemdManager, "ControlGroup").Store(&v)
		if err == nil {
			err = v.Store(&path)
		}
		return err
	})
	return path, err
}

// property is one property of a unit, as D-Bus takes it.
type property struct {
	Name  string
	Value dbus.Variant
}

func set(name string, value any) property { return property{name, dbus.MakeVariant(value)} }

// errJob is a job of the service manager that did not end well.
type errJob string

func (e errJob) Error() string { return "the job ended with the result " + string(e) }

// startScope makes a transient scope of a process, and waits until it is there.
func (s systemd) startScope(name string, pid int, properties []property) error {
	properties = append([]property{set("PIDs", []uint32{uint32(pid)})}, properties...)
	return s.talk(func(ctx context.Context, conn *dbus.Conn) error {
		manager := conn.Object(systemdName, systemdPath)
		// A job may be over before the answer is here that names it.
		signals := make(chan *dbus.Signal, 64)
		conn.Signal(signals)
		match := []dbus.MatchOption{
			dbus.WithMatchObjectPath(systemdPath), dbus.WithMatchInterface(systemdManager), dbus.WithMatchMember("JobRemoved"),
		}
		if err := conn.AddMatchSignalContext(ctx, match...); err != nil {
			return err
		}
		if err := manager.CallWithContext(ctx, systemdManager+".Subscribe", 0).Err; err != nil {
			return err
		}
		var job dbus.ObjectPath
		type auxiliary struct {
			Name       string
			Properties []property
		}
		if err := manager.CallWithContext(ctx, systemdManager+".StartTransientUnit", 0, name, "fail", properties, []auxiliary{}).Store(&job); err != nil {
			return err
		}
		for {
			select {
			case sig, ok := <-signals:
				if !ok {
					return net.ErrClosed
				}
				var removed struct {
					ID     uint32
					Job    dbus.ObjectPath
					Unit   string
					Result string
				}
				if dbus.Store(sig.Body, &removed.ID, &removed.Job, &removed.Unit, &removed.Result) != nil || removed.Job != job {
					continue
				}
				if removed.Result != "done" {
					return errJob(removed.Result)
				}
				return nil
			case <-ctx.Done():
				return errNoAnswer
			}
		}
	})
}

// setProperties changes properties of a unit that runs.
func (s systemd) setProperties(name string, properties []property) error {
	return s.talk(func(ctx context.Context, conn *dbus.Conn) error {
		const runtimeOnly = true
		return conn.Object(systemdName, systemdPath).CallWithContext(
			ctx, systemdManager+".SetUnitProperties", 0, name, runtimeOnly, properties).Err
	})
}

// systemdRefusal sorts what went wrong with the service manager. Of what the bus says only the error's name is told.
func systemdRefusal(kind LimitKind, err error) *LimitError {
	e := &LimitError{Kind: kind, Reason: LimitSystemdRefused, Err: bare(err)}
	var refusal dbus.Error
	var job errJob
	switch {
	case errors.As(err, &refusal):
		e.Detail = "systemd refuses to make a scope for it: " + plainName(refusal.Name)
		e.Hint = "run it by systemd-run --scope -p Delegate=yes, with --user unless you are root"
		switch refusal.Name {
		case "org.freedesktop.DBus.Error.ServiceUnknown", "org.freedesktop.DBus.Error.NameHasNoOwner", "org.freedesktop.DBus.Error.Spawn.ChildExited":
			e.Reason, e.Detail = LimitSystemdUnavailable, "there is no systemd on the bus"
			e.Hint = "log in with a session of systemd (loginctl enable-linger)"
		case "org.freedesktop.DBus.Error.NoReply", "org.freedesktop.DBus.Error.Timeout", "org.freedesktop.DBus.Error.Disconnected":
			e.Reason, e.Detail = LimitSystemdUnavailable, "systemd did not answer"
		}
	case errors.As(err, &job):
		e.Detail = "systemd did not make a scope for it: " + job.Error()
		e.Hint = "see its journal (journalctl -n 20, with --user unless you are root)"
	default:
		e.Reason, e.Detail = LimitSystemdUnavailable, fmt.Sprintf("systemd cannot be talked to: %v", bare(err))
		e.Hint = "log in with a session of systemd (loginctl enable-linger)"
	}
	return e
}

// plainName is a D-Bus name if it is one, and no more of it than fits into a line.
func plainName(name string) string {
	for i, c := range name {
		if i >= 100 || !(c == '.' || c == '_' || c >= '0' && c <= '9' || c >= 'A' && c <= 'Z' || c >= 'a' && c <= 'z') {
			return "an error without a proper name"
		}
	}
	return name
}
