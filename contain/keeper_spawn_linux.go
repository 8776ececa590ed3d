package contain

import (
	"context"
	"errors"
	"math"
	"os"
	"runtime"
	"syscall"

	"golang.org/x/sys/unix"
)

// startOrder is what the spawner is to start.
type startOrder struct {
	tree  uint64 // its number
	spec  Spec
	cwd   int
	leaf  int // -1 for none
	files []int
	// processes is the cap on the tree by a user namespace of its own, 0 for none.
	processes int
	// user is whom the tree runs as, 0 for us.
	user uint32
}

type startOutcome struct {
	pid, pidfd int
	err        error
}

// youth is how long, in milliseconds, a tree must have lived until each death in it is heard of at once. It takes longer
// to hear of one than a short tree takes to die.
const youth = 5

// spawner forks all that this keeper starts, on a thread of its own.
func (k *keeperProcess) spawner(ready chan<- struct{}) {
	runtime.LockOSThread()
	k.siblings = openChildren()
	close(ready)
	orders := link{fd: keeperOrders}
	for {
		m, err := orders.receive()
		if err == nil {
			err = k.obey(m)
		}
		if err != nil {
			k.broken.Store(true)
			k.wake()
			select {} // without this thread its children would be another one's
		}
	}
}

func (k *keeperProcess) obey(m message) error {
	if m.kind == messageStart {
		body := unpacker{rest: m.body}
		order, ok := unpackOrder(&body, m.files)
		if !ok {
			closeAll(m.files)
			return errMalformed
		}
		return k.begin(order)
	}
	closeAll(m.files)
	if m.kind == messageRenew {
		return k.renew()
	}
	return errMalformed
}

// begin starts a tree, and stays with it until its first process has ended. The answer, and what is told of the end, go
// in one piece each: the main thread may be about to say something, too.
func (k *keeperProcess) begin(order startOrder) error {
	k.mu.Lock()
	free := !k.starting && k.leader == nil
	k.tree, k.user = order.tree, order.user
	doomed := k.doomed == order.tree
	k.starting = free && !doomed
	k.mu.Unlock()
	if !free {
		order.letGo()
		return errMalformed
	}
	if doomed {
		order.letGo()
		return k.link.send(startOutcome{err: syscall.ECANCELED}.message())
	}
	k.ear.close(young)
	out := order.start()
	k.mu.Lock()
	k.starting = false
	l := (*leader)(nil)
	if out.err == nil {
		// Our own child, which nobody else waits for, needs no pidfd but to be watched.
		l = newLeader(out.pid, -1)
		k.leader, k.told = l, false
	}
	k.mu.Unlock()
	err := k.link.send(out.message())
	if out.err != nil {
		return err
	}
	defer func() { _ = unix.Close(out.pidfd) }()
	if err != nil {
		return err
	}
	return k.follow(l, out.pidfd)
}

// follow waits for the end of a first process, and tells the owner.
func (k *keeperProcess) follow(l *leader, pidfd int) error {
	set := []unix.PollFd{{Fd: int32(pidfd), Events: unix.POLLIN}}
	for timeout := youth; ; {
		n, err := unix.Poll(set, timeout)
		if n > 0 {
			break
		}
		if err == nil {
			k.hear()
			timeout = -1
		} else if !errors.Is(err, unix.EINTR) {
			return err
		}
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.leader != l || k.told {
		return nil // the main thread was first
	}
	alone, err := k.tell(k.solitary)
	if !alone {
		k.hear()
	}
	return err
}

// hear lets the main thread hear of deaths, and of those that there were.
func (k *keeperProcess) hear() {
	k.ear.open(young)
	k.wake()
}

// renew makes the keeper fit for the next tree, after one of which nobody was left.
func (k *keeperProcess) renew() error {
	k.mu.Lock()
	if k.starting || k.leader == nil || !k.told {
		k.mu.Unlock()
		return errMalformed
	}
	k.intruded = !k.clear()
	intruded := k.intruded
	k.mu.Unlock()
	if intruded {
		k.wake()
		<-k.cleared
	}
	return nil
}

// message is what the owner is told of a start.
func (out startOutcome) message() message {
	m := message{kind: messageStart}
	step, errno := StartStep(""), syscall.Errno(0)
	if out.err == nil {
		m.files = []int{out.pidfd}
	} else {
		step, errno = StepExec, syscall.EINVAL
		if e, ok := errors.AsType[*StartError](out.err); ok {
			step = e.Step
		}
		_ = errors.As(out.err, &errno)
	}
	(*packed)(&m.body).text(string(step))
	(*packed)(&m.body).number(uint64(errno))
	return m
}

func (o startOrder) start() (out startOutcome) {
	// The owner's working directory, for as long as the start takes: a relative path and a relative directory are meant
	// from there.
	defer o.letGo()
	if err := unix.Fchdir(o.cwd); err != nil {
		return startOutcome{err: &StartError{Step: StepDir, Err: err}}
	}
	defer func() { _ = unix.Chdir("/") }()
	attr := &syscall.SysProcAttr{PidFD: &out.pidfd}
	o.spec.inSession(attr)
	if o.leaf >= 0 {
		attr.UseCgroupFD, attr.CgroupFD = true, o.leaf
	}
	if o.user != 0 {
		// This thread has it from now on, and so has whatever it starts: a keeper of such trees has no others.
		if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
			return startOutcome{err: &StartError{Step: StepConfine, Err: err}}
		}
		attr.Credential = &syscall.Credential{Uid: o.user, Gid: o.user}
	}
	if o.processes == 0 {
		out.pid, out.err = fork(context.Background(), o.spec, attr)
		return out
	}
	attr.Cloneflags, attr.Ptrace = unix.CLONE_NEWUSER, true
	if out.pid, out.err = fork(context.Background(), o.spec, attr); out.err == nil {
		if err := countTree(out.pid, out.pidfd, o.processes); err != nil {
			discardTraced(out.pid, out.pidfd)
			out.err = &StartError{Step: StepTree, Err: bare(err)}
		}
	}
	return out
}

// unpackOrder takes the descriptors over, if it reports true.
func unpackOrder(body *unpacker, files []int) (o startOrder, ok bool) {
	o = startOrder{files: files, leaf: -1}
	var leaf bool
	o.spec, leaf, ok = unpackSpec(body)
	processes := body.number()
	o.tree = body.number()
	user := body.number()
	ok = ok && !body.bad && processes <= maxProcesses && user <= math.MaxUint32
	o.user = uint32(user)
	first := 1
	if leaf {
		first = 2
	}
	if !ok || len(files) < first+3 {
		return startOrder{}, false
	}
	o.cwd, o.processes = files[0], int(processes)
	if leaf {
		o.leaf = files[1]
	}
	o.files = files[:first]
	var streams []*os.File
	for _, fd := range files[first:] {
		streams = append(streams, os.NewFile(uintptr(fd), "stream"))
	}
	o.spec.Stdin, o.spec.Stdout, o.spec.Stderr, o.spec.Files = streams[0], streams[1], streams[2], streams[3:]
	return o, true
}

// letGo closes what was only lent: a keeper never holds a pipe of a run.
func (o startOrder) letGo() {
	closeAll(o.files)
	for _, f := range append([]*os.File{o.spec.Stdin, o.spec.Stdout, o.spec.Stderr}, o.spec.Files...) {
		_ = f.Close()
	}
}

// packOrder writes what of a start is not descriptors; unpackSpec reads it.
func packOrder(spec Spec, leaf bool) (body packed) {
	body.text(spec.Path)
	body.list(spec.Argv.Reveal())
	body.list(spec.Env.Reveal())
	body.text(spec.Dir)
	body.number(truth(spec.NewSession))
	body.number(truth(spec.Terminal))
	body.number(truth(leaf))
	return body
}

func unpackSpec(body *unpacker) (spec Spec, leaf, ok bool) {
	spec.Path = body.text()
	spec.Argv = Seal(body.list()...)
	spec.Env = Seal(body.list()...)
	spec.Dir = body.text()
	spec.NewSession = body.number() != 0
	spec.Terminal = body.number() != 0
	leaf = body.number() != 0
	return spec, leaf, !body.bad
}
