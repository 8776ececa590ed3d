package contain

import (
	"context"
	"errors"
	"os"
	"runtime"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// answerBound is how long a keeper may take to answer, which is a matter of microseconds unless somebody has stopped it;
// one that nobody has stopped is waited for a few times as long, because on a crowded machine it, or we, may not have had
// a processor.
const (
	answerBound = 2 * time.Second
	answerTries = 3
)

// What a keeper's owner is left with when it is not to be asked any more.
var (
	errDead = errors.New("the helper program that holds the tree is dead")
	errMute = errors.New("the helper program that holds the tree does not answer")
)

// keeper is a running keeper, as its owner sees it.
type keeper struct {
	*helper
	// orders leads to its spawner.
	orders     link
	namespaced bool
	// trees counts those that it was to hold.
	trees atomic.Uint64

	sending sync.Mutex // held for one message
	asking  sync.Mutex // held for one question and its answer
	answers chan message
	// mute is closed when the keeper is not to be asked any more.
	mute     chan struct{}
	muteOnce sync.Once
	// died says that it is mute because it hung up. The kernel closes its socket a moment before it is to be waited for.
	died atomic.Bool

	// spoilt says that it is of no use any more.
	spoilt atomic.Bool

	mu sync.Mutex // held for moments
	// asked: an answer is awaited.
	asked bool
	// alone: the first process has ended, nobody else was left, and so nobody listens any more.
	alone bool
}

// startKeeper starts a keeper, or a relay that makes one. program is [Options.Keeper].
func startKeeper(program, role string, flags uintptr, namespaced bool) (*keeper, error) {
	orders, theirs, err := helperSockets(false)
	if err != nil {
		return nil, err
	}
	defer func() { _ = theirs.Close() }()
	h, err := startHelper(program, role, nil, flags, theirs)
	if err != nil {
		_ = orders.file.Close()
		return nil, err
	}
	return &keeper{
		helper: h, orders: orders, namespaced: namespaced, answers: make(chan message, 1), mute: make(chan struct{}),
	}, nil
}

// end kills the keeper without asking it; see helper.end.
func (k *keeper) end() {
	k.helper.end()
	_ = k.orders.file.Close()
}

// fail notes an error of the socket.
func (k *keeper) fail(err error) {
	if errors.Is(err, errHangUp) || errors.Is(err, unix.EPIPE) || errors.Is(err, unix.ECONNRESET) {
		k.died.Store(true)
	}
	k.silence()
}

func (k *keeper) silence() { k.muteOnce.Do(func() { close(k.mute) }) }

func (k *keeper) isMute() bool {
	select {
	case <-k.mute:
		return true
	default:
		return false
	}
}

// listen hears what the keeper says of one tree, until the tree is released or the keeper is gone.
func (k *keeper) listen(l *keptLeader) {
	for {
		m, err := k.link.receive()
		if err != nil {
			k.fail(err)
			l.orphaned()
			return
		}
		if m.kind == messageExit {
			status, alone := unpackExit(m.body)
			if k.over(l, status, alone) {
				return
			}
			continue
		}
		k.heard()
		done := m.kind == messageRelease && (&unpacker{rest: m.body}).number() != unreleased
		select {
		case k.answers <- m:
		case <-k.mute:
			closeAll(m.files)
		}
		if done {
			return
		}
	}
}

// over settles how the first process ended. If nobody else was left, and no answer is awaited, there is nothing more to listen to: who acts on
// either of them learns of both.
func (k *keeper) over(l *keptLeader, status ExitStatus, alone bool) (quiet bool) {
	k.mu.Lock()
	defer k.mu.Unlock()
	l.settle(status)
	k.alone = alone && !k.asked
	return k.alone
}

// heard notes that the answer has come.
func (k *keeper) heard() {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.asked = false
}

// asks notes that an answer is awaited, unless the keeper is alone: then it need not be asked.
func (k *keeper) asks() (alone bool) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.asked = !k.alone
	return k.alone
}

// strike tells the keeper to kill all of a tree. It must not have to wait for a processor to hear that.
func (k *keeper) strike(tree uint64) error {
	_ = k.process.pinned(func(pid int) error {
		hurry(pid)
		return nil
	})
	return k.say(numbered(messageStrike, tree))
}

// isAlone reports whether it has said that nobody is left.
func (k *keeper) isAlone() bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.alone
}

// renew makes a keeper that is alone fit for the next tree. It does not wait: whatever it is told next, it hears after that.
func (k *keeper) renew() {
	k.mu.Lock()
	k.alone = false
	k.mu.Unlock()
	_ = k.say(message{kind: messageRenew}) // one that does not hear is not used again
}

// unpackExit reads how the first process ended, and whether nobody else was left.
func unpackExit(body []byte) (s ExitStatus, alone bool) {
	u := unpacker{rest: body}
	s = ExitStatus{Code: int(u.number()), Signal: syscall.Signal(u.number()), Core: u.number() == 1, Lost: u.number() == 1}
	s.CPU = time.Duration(u.number())
	alone = u.number() == 1
	return s, alone && !u.bad
}

// lost is why the keeper is not to be asked any more.
func (k *keeper) lost() error {
	if k.died.Load() {
		return errDead
	}
	return errMute
}

// stopped reports whether somebody has stopped the keeper, or it is dead.
func (k *keeper) stopped() bool {
	switch lookMember(k.process.pid).State {
	case 'T', 't', 'Z', 'X':
		return true
	}
	return false
}

func (k *keeper) say(m message) error {
	if k.isMute() {
		return k.lost()
	}
	to := k.link
	if m.kind == messageStart || m.kind == messageRenew {
		to = k.orders
	}
	k.sending.Lock()
	defer k.sending.Unlock()
	err := to.send(m)
	if err != nil && !errors.Is(err, unix.E2BIG) && !errors.Is(err, unix.EMFILE) {
		k.fail(err) // half a message may be sent
		return k.lost()
	}
	return err
}

// ask says something and waits for the answer, which listen hears. asking is held.
func (k *keeper) ask(m message) (message, error) {
	if err := k.say(m); err != nil {
		return message{}, err
	}
	timer := time.NewTimer(answerBound)
	defer timer.Stop()
	for tries := answerTries; ; {
		select {
		case answer := <-k.answers:
			if answer.kind == m.kind {
				return answer, nil
			}
			closeAll(answer.files)
			k.silence()
			return message{}, errMalformed
		case <-k.mute:
			return message{}, k.lost()
		case <-timer.C:
			if tries--; tries > 0 && !k.stopped() {
				timer.Reset(answerBound)
				continue
			}
			k.silence()
			return message{}, k.lost()
		}
	}
}

// order gives an order and waits for its answer, for as long as the keeper is not stopped: a start may take its time. If ctx
// ends meanwhile, interrupt is called once, and the answer has to come within about [KillBound]. It hears the answer itself,
// which spares a goroutine to be woken; nobody listens yet. asking is held.
func (k *keeper) order(ctx context.Context, m message, l *keptLeader, interrupt func()) (message, error) {
	if err := k.say(m); err != nil {
		return message{}, err
	}
	var over atomic.Int64 // when ctx was, 0 if it is not
	stop := context.AfterFunc(ctx, func() {
		over.Store(time.Now().UnixNano())
		interrupt()
	})
	defer func() {
		stop()
		_ = k.link.file.SetReadDeadline(time.Time{})
	}()
	for {
		_ = k.link.file.SetReadDeadline(time.Now().Add(answerBound))
		answer, err := k.link.receive()
		since := over.Load()
		switch {
		case errors.Is(err, os.ErrDeadlineExceeded) && !k.isMute() && !k.stopped() && (since == 0 || time.Since(time.Unix(0, since)) < KillBound):
		case err != nil:
			k.fail(err)
			return message{}, k.lost()
		case answer.kind == messageExit: // the main thread was quicker than the spawner
			status, alone := unpackExit(answer.body)
			k.over(l, status, alone)
		case answer.kind == m.kind:
			return answer, nil
		default:
			closeAll(answer.files)
			k.silence()
			return message{}, errMalformed
		}
	}
}

// isEmpty asks whether nobody is alive. Of a keeper that is alone it is known.
func (k *keeper) isEmpty() (bool, error) {
	k.asking.Lock()
	defer k.asking.Unlock()
	if k.asks() {
		return true, nil
	}
	answer, err := k.question(messageEmpty)
	return answer == 1, err
}

// release asks the keeper to reap everybody, and reports whether nobody is left.
func (k *keeper) release() (bool, error) {
	k.asking.Lock()
	defer k.asking.Unlock()
	if k.asks() {
		k.renew()
		return true, nil
	}
	answer, err := k.question(messageRelease)
	k.spoilt.Store(answer == releasedSpoilt)
	return answer == released || answer == releasedSpoilt, err
}

// question asks what is answered with a number.
func (k *keeper) question(kind byte) (uint64, error) {
	m, err := k.ask(message{kind: kind})
	if err != nil {
		return 0, err
	}
	closeAll(m.files)
	return (&unpacker{rest: m.body}).number(), nil
}

// start starts the first process of the tree with this number. leaf is the cgroup that it is born into, -1 for none,
// processes the cap on the tree by a user namespace of its own, 0 for none, and user whom the tree runs as, 0 for us.
func (k *keeper) start(ctx context.Context, tree uint64, spec Spec, leaf, processes int, user uint32) (*keptLeader, error) {
	l := &keptLeader{ended: make(chan struct{})}
	defer func() { go k.listen(l) }()

	files, null, err := spec.descriptors()
	if err != nil {
		return l, &StartError{Step: StepExec, Err: bare(err)}
	}
	if null != nil {
		defer func() { _ = null.Close() }()
	}
	cwd, err := openat(unix.AT_FDCWD, ".", unix.O_PATH|unix.O_DIRECTORY)
	if err != nil {
		return l, &StartError{Step: StepDir, Err: err}
	}
	defer func() { _ = unix.Close(cwd) }()
	m := message{kind: messageStart, files: []int{cwd}}
	if leaf >= 0 {
		m.files = append(m.files, leaf)
	}
	for _, f := range files {
		m.files = append(m.files, int(f.Fd()))
	}
	body := packOrder(spec, leaf >= 0)
	body.number(uint64(processes))
	body.number(tree)
	body.number(uint64(user))
	m.body = body

	k.asking.Lock()
	defer k.asking.Unlock()
	k.asks()
	answer, err := k.order(ctx, m, l, func() { _ = k.strike(tree) })
	k.heard()
	runtime.KeepAlive(files)
	if errors.Is(err, unix.E2BIG) || errors.Is(err, unix.EMFILE) {
		return l, &StartError{Step: StepExec, Err: bare(err)}
	}
	if err != nil {
		return l, &StartError{Step: StepTree, Err: err}
	}
	u := unpacker{rest: answer.body}
	step, errno := u.text(), syscall.Errno(u.number())
	if errno != 0 || len(answer.files) != 1 {
		closeAll(answer.files)
		return l, &StartError{Step: StartStep(step), Err: errno}
	}
	return l, l.identify(answer.files[0])
}
