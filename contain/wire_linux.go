package contain

import (
	"encoding/binary"
	"errors"
	"os"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// What a program and its helpers say to each other goes through a socket pair that keeps messages apart. A message is a
// head with a kind and descriptors, and as many pieces as its body needs: one message of the kernel's would have to fit
// into a socket buffer, and an argument vector may be larger.

// message is one message between a program and its helper.
type message struct {
	kind  byte
	body  []byte
	files []int // descriptors that travel with it
}

// numbered is a message that holds numbers and nothing else.
func numbered(kind byte, numbers ...uint64) message {
	m := message{kind: kind}
	for _, n := range numbers {
		(*packed)(&m.body).number(n)
	}
	return m
}

// wireVersion is told by a helper before anything else, because it may be another program, which was built from another
// version of this package: raise it with every change of what is said.
const wireVersion = 4

const (
	pieceSize = 32 << 10
	headSize  = 5
	// maxBody is more than the kernel lets a program have of arguments and environment together, so that what is too much
	// for it is told by it.
	maxBody = 64 << 20
	// maxPassed is how many descriptors the kernel lets one message carry.
	maxPassed = 253
)

var (
	errMalformed = errors.New("malformed message")
	errHangUp    = errors.New("the other side has closed the socket")
)

// link is one end of the socket. Each function is called with its descriptor, again and again until it does not return
// EAGAIN.
type link struct {
	fd   int      // a blocking descriptor, if file is nil
	file *os.File // a descriptor that does not block
	// unpolled: the runtime does not poll it. It is only written to: the poller would be woken whenever the other side has
	// read.
	unpolled bool
}

func (l link) read(f func(fd int) error) error { return l.do(f, syscall.RawConn.Read) }

// write gives up when there was no room for a while, because nobody reads. The time runs only while there is none: who
// writes may have to wait for a processor before that, on a crowded machine.
func (l link) write(f func(fd int) error) error {
	if l.unpolled {
		return l.push(f)
	}
	waiting := false
	return l.do(func(fd int) error {
		err := f(fd)
		switch {
		case l.file == nil:
		case errors.Is(err, unix.EAGAIN) && !waiting:
			waiting = true
			_ = l.file.SetWriteDeadline(time.Now().Add(writeBound))
		case err == nil && waiting:
			_ = l.file.SetWriteDeadline(time.Time{})
		}
		return err
	}, syscall.RawConn.Write)
}

// writeBound is how long the other side may take to make room.
const writeBound = 2 * time.Second

// push is write without the poller.
func (l link) push(f func(fd int) error) error {
	conn, err := l.file.SyscallConn()
	if err != nil {
		return err
	}
	ctlErr := conn.Control(func(fd uintptr) {
		room := []unix.PollFd{{Fd: int32(fd), Events: unix.POLLOUT}}
		for {
			if err = ignoringEINTR(func() error { return f(int(fd)) }); !errors.Is(err, unix.EAGAIN) {
				return
			}
			if n, pollErr := unix.Poll(room, int(writeBound/time.Millisecond)); n == 0 && pollErr == nil {
				err = os.ErrDeadlineExceeded
				return
			}
		}
	})
	if ctlErr != nil {
		return ctlErr
	}
	return err
}

func (l link) do(f func(fd int) error, polling func(syscall.RawConn, func(uintptr) bool) error) error {
	if l.file == nil {
		return ignoringEINTR(func() error { return f(l.fd) })
	}
	conn, err := l.file.SyscallConn()
	if err != nil {
		return err
	}
	var ferr error
	err = polling(conn, func(fd uintptr) bool {
		ferr = ignoringEINTR(func() error { return f(int(fd)) })
		return !errors.Is(ferr, unix.EAGAIN)
	})
	if err != nil {
		return err // the deadline, or the end of the file: ferr is that there was nothing yet
	}
	return ferr
}

// send sends a message. One sender at a time.
func (l link) send(m message) error {
	if len(m.body) > maxBody {
		return unix.E2BIG
	}
	if len(m.files) > maxPassed {
		return unix.EMFILE
	}
	head := binary.LittleEndian.AppendUint32([]byte{m.kind}, uint32(len(m.body)))
	var rights []byte
	if len(m.files) > 0 {
		rights = unix.UnixRights(m.files...)
	}
	first := min(len(m.body), pieceSize-headSize)
	piece, rest := append(head, m.body[:first]...), m.body[first:]
	for {
		err := l.write(func(fd int) error { return unix.Sendmsg(fd, piece, rights, nil, unix.MSG_NOSIGNAL) })
		if err != nil || len(rest) == 0 {
			return err
		}
		n := min(len(rest), pieceSize)
		piece, rest, rights = rest[:n], rest[n:], nil
	}
}

// buffer is what a piece is received into.
type buffer struct{ piece, rights []byte }

// buffers are kept from one message to the next: fresh memory costs more than what is mostly read into it, and a helper
// collects seldom.
var buffers = sync.Pool{New: func() any {
	return &buffer{make([]byte, pieceSize), make([]byte, unix.CmsgSpace(4*maxPassed))}
}}

// receive receives a message, whose descriptors are the caller's to close. One receiver at a time.
func (l link) receive() (message, error) {
	var b *buffer // none while there is nothing to read
	n, m := 0, message{}
	err := l.read(func(fd int) error {
		b = buffers.Get().(*buffer)
		got, gotRights, _, _, err := unix.Recvmsg(fd, b.piece, b.rights, unix.MSG_CMSG_CLOEXEC)
		if err != nil {
			buffers.Put(b)
			return err
		}
		n = got
		m.files = receivedFiles(b.rights[:gotRights])
		return nil
	})
	if err != nil {
		return message{}, err
	}
	defer buffers.Put(b)
	if n == 0 {
		return message{}, errHangUp
	}
	size := uint32(0)
	if n >= headSize {
		m.kind, size = b.piece[0], binary.LittleEndian.Uint32(b.piece[1:])
	}
	if n < headSize || size > maxBody || n-headSize > int(size) {
		closeAll(m.files)
		return message{}, errMalformed
	}
	m.body = append(make([]byte, 0, size), b.piece[headSize:n]...)
	for len(m.body) < int(size) {
		err := l.read(func(fd int) error {
			got, err := unix.Read(fd, b.piece)
			n = got
			return err
		})
		if err == nil && (n == 0 || len(m.body)+n > int(size)) {
			err = errMalformed
		}
		if err != nil {
			closeAll(m.files)
			return message{}, err
		}
		m.body = append(m.body, b.piece[:n]...)
	}
	return m, nil
}

func receivedFiles(room []byte) (files []int) {
	list, err := unix.ParseSocketControlMessage(room)
	if err != nil {
		return nil
	}
	for i := range list {
		if fds, err := unix.ParseUnixRights(&list[i]); err == nil {
			files = append(files, fds...)
		}
	}
	return files
}

func closeAll(fds []int) {
	for _, fd := range fds {
		_ = unix.Close(fd)
	}
}

// packed is a message's body as it is written.
type packed []byte

func (p *packed) number(n uint64) { *p = binary.AppendUvarint(*p, n) }
func (p *packed) text(s string)   { p.number(uint64(len(s))); *p = append(*p, s...) }
func (p *packed) list(ss []string) {
	p.number(uint64(len(ss)))
	for _, s := range ss {
		p.text(s)
	}
}

// unpacker reads a body in the order in which it was written. What cannot be read sets bad and reads as nothing.
type unpacker struct {
	rest []byte
	bad  bool
}

func (u *unpacker) number() uint64 {
	n, size := binary.Uvarint(u.rest)
	if size <= 0 {
		u.rest, u.bad = nil, true
		return 0
	}
	u.rest = u.rest[size:]
	return n
}

func (u *unpacker) text() string {
	n := u.number()
	if n > uint64(len(u.rest)) {
		u.rest, u.bad = nil, true
		return ""
	}
	s := string(u.rest[:n])
	u.rest = u.rest[n:]
	return s
}

func (u *unpacker) list() []string {
	n := u.number()
	if n > uint64(len(u.rest)) { // each text takes a byte at least
		u.rest, u.bad = nil, true
		return nil
	}
	list := make([]string, 0, n)
	for range n {
		list = append(list, u.text())
	}
	return list
}
