package runner

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"net"
	"net/url"
	"os"
	"strings"
)

// WaitForPort waits until a TCP connection to addr, such as "127.0.0.1:8080", is accepted; it is closed at once. That
// tells that somebody listens there, not that this run does. See [Process.WaitForLine] for what all waits promise.
func (p *Process) WaitForPort(ctx context.Context, addr string) error {
	return p.poll(ctx, "port "+addr, func(ctx context.Context) error { return dial(ctx, "tcp", addr) })
}

// WaitForSocket is [Process.WaitForPort] for the Unix domain socket at path, relative to our own working directory.
func (p *Process) WaitForSocket(ctx context.Context, path string) error {
	return p.poll(ctx, "socket", func(ctx context.Context) error { return dial(ctx, "unix", path) })
}

// WaitForFile waits until there is something at path, of whatever kind, relative to our own working directory. A file
// that is there may not be whole: let the program rename it into place, or wait for a line. See [Process.WaitForLine]
// for what all waits promise.
func (p *Process) WaitForFile(ctx context.Context, path string) error {
	return p.poll(ctx, "file", func(context.Context) error {
		_, err := os.Stat(path)
		return bare(err)
	})
}

// WaitForHTTP waits until a GET of the http URL is answered with a status of 200 to 399. It speaks HTTP/1.1 without
// encryption, follows no redirection and uses no proxy; for anything else use [Process.WaitFor] with a client of yours.
// A URL that is not such a one is a [*NotReadyError] at once. See [Process.WaitForLine] for what all waits promise.
func (p *Process) WaitForHTTP(ctx context.Context, rawURL string) error {
	u, err := url.Parse(rawURL)
	if err != nil || u.Scheme != "http" || u.Host == "" || strings.ContainsAny(u.Host, "\r\n ") {
		return &NotReadyError{Program: p.Program(), For: "HTTP answer", Err: errBadURL}
	}
	return p.poll(ctx, "HTTP answer of "+u.Host, func(ctx context.Context) error { return get(ctx, u) })
}

var errBadURL = errors.New("not an http URL")

func dial(ctx context.Context, network, addr string) error {
	conn, err := (&net.Dialer{}).DialContext(ctx, network, addr)
	if err != nil {
		return plainDial(err)
	}
	return conn.Close()
}

// plainDial strips addresses, which may be paths.
func plainDial(err error) error {
	if op, ok := errors.AsType[*net.OpError](err); ok && op.Err != nil {
		err = op.Err
	}
	return bare(err)
}

func get(ctx context.Context, u *url.URL) error {
	addr := u.Host
	if u.Port() == "" {
		addr = net.JoinHostPort(u.Hostname(), "80")
	}
	conn, err := (&net.Dialer{}).DialContext(ctx, "tcp", addr)
	if err != nil {
		return plainDial(err)
	}
	defer func() { _ = conn.Close() }()
	stop := context.AfterFunc(ctx, func() { _ = conn.SetDeadline(longAgo) })
	defer stop()
	request := "GET " + u.RequestURI() + " HTTP/1.1\r\nHost: " + u.Host + "\r\nUser-Agent: boombox\r\nConnection: close\r\n\r\n"
	if _, err := conn.Write([]byte(request)); err != nil {
		return plainDial(err)
	}
	var major, minor, status int
	answer, err := bufio.NewReaderSize(conn, 1<<10).ReadSlice('\n')
	if _, bad := fmt.Sscanf(string(answer), "HTTP/%1d.%1d %3d", &major, &minor, &status); bad != nil {
		if err != nil {
			return plainDial(err)
		}
		return errNotHTTP
	}
	if status < 200 || status >= 400 {
		return fmt.Errorf("answered with status %d", status)
	}
	return nil
}

var errNotHTTP = errors.New("answered with something that is not HTTP")
