// Package contain owns process trees: it starts commands in a group that they cannot leave, and ends the whole group.
//
// Ask for guarantees, not for mechanisms. [New] gives a [Group] that has what [Options.Require] names, or refuses with
// an [*UnsupportedError] before anything starts; [Host] says beforehand what this host has, and why not more.
//
//	g, err := contain.New(contain.Options{Require: contain.KillTree})
//	if err != nil {
//		return err
//	}
//	defer g.Close() // kill, drain, verify empty, remove
//
//	child, err := g.Start(ctx, contain.Spec{
//		Path: "/usr/bin/make", Argv: contain.Seal("make", "test"), Env: contain.Seal(os.Environ()...),
//		Stdout: os.Stdout, Stderr: os.Stderr,
//	})
//	if err != nil {
//		return err
//	}
//	<-child.Exited() // the first process; its descendants may live
//	status, _ := child.Poll()
//
// # What a group does
//
// Each start has a tree of its own. [Child.Exited] tells when its first process has ended, whatever descendants and
// pipes do. Kill and Close end a tree: they kill, wait until it is seen empty, and kill again, at most for [KillBound];
// then a [*DrainError] names the survivors. The first process is reaped last of all, in [Child.Close]: until then its
// process id, which is that of its process group too, cannot be a stranger's. A group that was killed can start again,
// and Close can be tried again after an error. Signals go by pidfd where there are any, and otherwise only while the id
// is known to be the member's.
//
// [Group.Signal] sends to all members, and names those whom the system refuses. [Group.Stop] asks first and then kills,
// and reports both; [Group.Ask] asks alone. [Group.Freeze] makes all members stand still, where the kernel freezes cgroups;
// a frozen group refuses starts, which would block, and can be killed and closed like any other.
//
// [Group.Adopt] takes in a process that exists, pinned by its id and start time, with its descendants.
//
// No error, printer or report of this package shows a path, an argument, an environment entry or a working directory.
//
// # Mechanisms
//
// [New] takes the first mechanism of this list that is to be had and gives all that is required, but for one that only
// those get who name it. With nothing required that is the first that is to be had, which the program that runs sees least
// of.
//
// [Cgroup2] (Linux 5.14 and later, where the program's own cgroup v2 is writable; no controller is needed) gives
// [KillTree], [KillForkBomb] and [KillOnOwnerDeath]: the child is born in a fresh cgroup, setsid, setpgid, double
// forks and cgroups of its own making included, and the kernel kills all of it at once. It finds cgroup2 on hybrid
// hosts, through mounts of a subtree and in cgroup namespaces. The cgroups are directories named boombox-... below the
// program's own. When the program dies, its warden, a helper process, kills and removes them; what is left if the
// warden was killed too, the next program sweeps that makes a group there. See [Group.Guarantees] for when there is a
// warden.
//
// [Cgroup2PIDNamespace] and [PIDNamespace] (Linux, as root, or within a user namespace where users may make one) give
// these and [ResistSameUID]: nobody leaves a pid namespace, and nobody in it sees or signals a process outside. The
// child's parent is a keeper, a helper process which is the namespace's first process: the child is not, so signals
// mean to it what they always mean. The child has other process ids than we see. In a user namespace it is the only
// user there is: programs that change the user, sudo say, do not work, and other users' files belong to nobody.
//
// [Subreaper] (Linux 5.3, everybody) gives [KillTree] and [KillOnOwnerDeath]: all orphans of the tree come to the
// keeper, which looks for members, kills and reaps them until none is left. A fork bomb may outrun it; then the
// survivors are named. A member of our own user may kill the keeper; then Close says that members may be left. With
// [Spec.NoNewPrivileges] it can neither signal nor trace the keeper, us, or anybody else outside of its tree (Landlock, Linux
// 6.12 and later). That is a shield and not [ResistSameUID]: who has our user may still set the keeper's resource limits,
// by which the kernel kills or blinds it. Without it no child is shielded, because a shield takes set-user-ID programs away.
//
// [ThrowawayUser] (Linux, root, only if [Options.Mechanism] names it) gives what [PIDNamespace] gives where neither
// namespaces nor cgroups are to be had, as in a default container: below such a keeper each tree runs as a user of its own,
// without groups or privileges and with no way to gain any, and a child of the keeper, for one moment that user, kills
// all of them with one system call. The number of the user is a random one that nobody has, two thousand million and more, or in the
// upper half of those that are mapped where these are not. It shows: the program can read and write what everybody can.
// Files that it made stay when it is gone, and are nobody's. Programs like this one do not take each other's users as far as
// they see each other's processes, or are in the same network namespace.
//
// [JobObject] (Windows) gives what Cgroup2 gives. Not verified: it compiles, and has not run on Windows.
//
// [ProcessGroup] (Linux, macOS, BSD) guarantees nothing: a child that calls setsid or setpgid leaves it. It ends the
// trees of programs that do not mean to leave. On macOS and BSD it is not verified: it compiles, and has not run
// there; on BSD only the first process can be listed. If something else in the program waits for our child (wait4 with
// -1, or an ignored SIGCHLD), the group's number is not safe any more, and what is left of it is reported, not killed.
//
// # Helper processes
//
// Warden and keeper are this program itself, executed again as boombox-keeper through /proc/self/exe; the
// initialisation of this package turns such a process into a helper before main runs, if it inherits the right socket
// as well. [Options.Keeper] names another program that links this package to be executed in its place. They hold a pidfd
// of the program and go when it dies; so does the holder, which is all that is in a scope of systemd beside the group. A
// keeper is started with the group, for its first start, and serves the next one once its tree is verified empty, unless
// somebody has changed its resource limits. While it kills, for 50 ms at a time, it runs before other programs where the system
// allows that (SCHED_FIFO): hundreds who fork or die would keep it from a processor. An
// idle one goes after one to two seconds, and so does the warden after the last group. A keeper has the umask, the
// priority and the resource limits that the program had when it started the keeper, no terminal, and a session of its
// own, and so have its children.
//
// # What a child is born with
//
// A [Spec] says whom the child runs as, with what umask, resource limits, priorities and processors, in a session of its own
// or not, without new privileges or core dumps, and which descriptors it has: 0 to 2, those given on purpose, and no
// other. All of it is there when the program begins, whatever holds the tree, and a step that fails is named by a
// [*StartError]; the program never runs then. What a system or our own privileges do not allow is refused before anything
// starts, and [Spec.Unsupported] predicts it.
//
// Go lets nobody act between fork and exec. So a child that is to be born with more than the fork itself gives is born
// as a stage, this very program in another role, which becomes what is asked for and then executes the program. Plain
// starts have none.
//
// # Caps
//
// [Options.Limits] cap all trees of a group together. [Cgroup2] enforces them where the controllers are to be had. On
// cgroup v2 they are had in the first of these places: the parent that is given ([Options.Parent]); the root of all
// cgroups; our own cgroup, if its children have the controllers already; the cgroup above, if it is delegated to us; our
// own, after we have moved into a child of it ([Options.Migrate]); a scope that systemd makes for the group, the user's
// own or, for root, the system's. Controllers that sit on cgroup v1 hierarchies are used there, below our own cgroup of
// each: the thread that starts a child goes through the group's v1 cgroups, so that the child is born in them. A cap that
// cannot be enforced is a [*LimitError] with the reason and what would help, before anything starts; [Rung.Refused]
// predicts it.
//
// A scope is named boombox-....scope. It has the caps too, a little wider, and a bound on its life ([Options.Lifetime]);
// it is gone with the group, and when we die.
//
// Who is over a cap on memory is killed by the kernel: the whole group on v2, one member after the other on v1. Who forks
// beyond a cap on processes is refused, and so is [Group.Start], with a [*LimitHit]. Who has used its processor time waits.
// [Group.Evidence] says which cap was hit, by the kernel's counters alone, and [Group.Stats] what was used. A cap further
// up, or the host, may be tighter: [LimitEvidence.Effective] and [Evidence.OutsideKills]. [Group.UpdateLimits] changes the
// values while the trees live. A program that is spared when memory is short (oom_score_adj) does not hand that on to the
// members of a capped group.
//
// A cap on processes alone can be had without a cgroup, by [PIDNamespace] where we are not root and have a user namespace
// (Linux 5.14): each child gets one of its own, in which the kernel holds it and its descendants to RLIMIT_NPROC. They
// cannot raise it, nor get around it by another user or namespace. The group's whole cap goes to one tree: as long as it
// lives, another start is refused with a [*LimitHit]. What the kernel refuses to members it does not count here, so
// [LimitEvidence.Tripped] is unknown, unless a start was refused; and the value cannot be changed.
//
// # What is not guaranteed
//
// By [KillTree] a child may not mean harm with privileges: one that runs as root, or under our own uid where the
// cgroups belong to it, can write itself into another cgroup, which [ResistSameUID] forbids. That in turn covers
// signals, sessions, cgroups and whatever else a user may do; a child that is root outside of any user namespace can
// write into any process's memory, and no mechanism holds that. Work that is handed to a daemon outside of the tree is
// not followed: a container engine, a service manager, cron, an ssh session. A member in uninterruptible sleep
// outlives every kill until it wakes.
package contain
