// Package cassette records commands to a file and replays them with no process at all.
//
//	deck, err := cassette.Open("testdata/session.cassette")
//	if err != nil { ... }
//	defer deck.Close()
//	out, err := runner.Output(ctx, deck, runner.Command("git", "log", "-1"))
//	...
//	err = deck.Check() // every call found its run, and every run was called for
//
// Record it first, with one environment variable, and again whenever the tool has changed:
//
//	BOOMBOX_CASSETTE=record go test ./... -run TestSession -count=1
//
// where the test calls deck.Save when it has passed; [ForTest] does all of that for a test of package testing or Ginkgo, at a path
// of its own. A [Deck] is a [runner.Runner]: the code under test does not see whether its commands run, are recorded, or are
// replayed.
//
// # The file
//
// A cassette is text, made to be reviewed: one argument a line, one line of output a line, every byte kept. FORMAT.md beside
// this package is its norm.
//
//	cassette 1
//	run
//	  argv "git"
//	  argv "rev-parse"
//	  argv "HEAD~1"
//	  err "fatal: Needed a single revision\n"
//	  exit 128
//	  tape 2e32 1x
//	end 1 sha256:...
//
// What was written and when it came are kept apart: the tape line alone holds times. When a recording is made again and a
// run has the same key, content and outcome, it keeps its old text, so that a diff shows what changed and nothing else;
// and a file that would not change is not touched. Extension lines (x-note and the like) are yours, and are kept.
//
// Recorded are arguments, directory, input, output and outcome. Of the environment only the names of the
// variables that the command sets or removes are kept: no value, no digest of one.
//
// # Secrets
//
// What looks like a secret does not reach the file: <redacted:rule:1> stands in its place, in arguments, directory, input, output and
// start errors. The recorded caller sees the real output. Looked for are the values of environment variables whose names say
// that they are secret, ours and the command's; what [WithSecret] registers, as it is and in base64, in hexadecimal, and escaped for URLs,
// JSON, HTML, Go and shells; and what the rules of [RuleSet] know: tokens of forges, clouds and registries, JWTs, private keys,
// passwords in URLs, Authorization and Cookie headers, .netrc, values behind --password, --token and the like, and what
// base64 holds of all that. Output is looked at as a whole, so that a secret cut by chunks is found. [WithHooks] has your own rules,
// [WithLengthsKept] suits protocols that count bytes, [WithoutRule] and [WithoutRedaction] waive.
//
// Replay treats the call in the same way, so the same call with another secret is answered. A secret that no rule knows must be
// registered there too.
//
// At last the finished file is scanned, fields and bytes, by the same rules. A finding refuses the save with a [*SecretError] that names rule,
// run and place. A line "x-allow RULE PLACE" in the run accepts a false alarm. [Tape.Scan] and [Tape.Scrub] do both to files that
// exist. What no rule knows, what is compressed or encrypted, and what a child writes elsewhere is not found: look before you
// commit.
//
// # Modes
//
// [Replay] answers from the file and holds no runner: it cannot start a process. [Record] runs every command and replaces the whole
// file. [Once] records when there is no file. The environment variable [EnvMode] beats [WithMode] in code, and [WithReplayOnly]
// beats both. [Verify] runs every command for real and tells what differs from the file. Where the variable CI is set nothing is recorded, unless the mode is spelled record!ci or once!ci. Every error of
// Open names the mode and where it came from. [NewRecorder] and [NewPlayer] are the two halves, without a look at the environment.
//
// # What is matched
//
// A call is answered by the first unplayed run with the same program (its base name, without ".exe"), arguments, input and
// directory, where one is set. Environment, timeouts and output policies do not matter. Each run is played once: a loop that asks
// once too often is told so; a line "repeat 3", "repeat *" or "optional" in the run says otherwise, and [WithOrder] wants the order of the file. Inputs that differ each time are registered with [WithToken], when recording and when
// replaying; in the file they are tokens, and in replayed output they are the live values.
//
// [WithVariant] keeps a cassette apart for a platform, a locale or a version of a tool, in a file of its own beside the plain one.
//
// # Misses
//
// A call without a run is a [*MissError], which matches [ErrMiss] and never an error that code takes for "not installed". Its message
// shows class, numbers and lengths; its Explain method shows the nearest runs and what differs, arguments and all, for a person. The
// player keeps every miss: a test that ends with [Deck.Check] fails even if the code under test swallowed the error. Check
// reports the runs that nobody called for as well.
//
// # What a replay is
//
// Replayed runs go through the same policies, tees and errors as live ones; package runner/runnertest holds all of them to
// one set of specs. By default a run is over when it has started. [RealTime], [Scaled] and [WithStepper], whose clock a test moves on, keep the recorded pace: then the
// command's timeouts, its context, Kill and Signal are obeyed on the way, timeouts included that ended the run when it was
// recorded (at a scaled pace their results tell the scaled deadline, and the status behind them is that of a kill). A run that was
// recorded as cancelled plays until its caller gives up again. What a command did besides does not happen, but for files that [WithEffects]
// declares: they are kept when it is recorded, and restored when it is replayed. What else it changed in its directory is counted and told.
//
// [WithChunking] cuts output in other pieces than were recorded, to shake parsers, and [Tape.Derive] makes failures of true recordings:
// another exit, a kill midway, a stream cut short, a delay, a start that fails.
//
// Input is read to its end before a command is started or replayed. Of a stream that is longer than
// its command keeps, a cassette may hold only the part that was kept; a command that wants more is a miss.
//
// # Large files
//
// Binary streams of more than 64 KiB and text of more than 1 MiB stand in side files: in the folder NAME.blobs beside NAME.cassette, named by
// their digests. One that is missing or altered is a [*SideFileError]. [WithLimits] sets other caps than those of the format.
//
// [Open] plays a file of 4 MiB or more before all of it is read: its runs are found, and what they are matched by; a run is checked when
// it is played, and the whole file, checksum included, beside the first plays. What only that finds fails every later call, and the check
// of the test: [Player.Check] and [Player.Close] wait for it. [Load] and [Parse] check all of it first, as Open does with smaller files.
//
// # Conversations
//
// A command with runner.StdinPipe is recorded with what was written to it, between which output. At replay the output that followed an
// input comes when that input is written, however it is cut into writes; at the recorded pace, so long after. Input that differs, goes on,
// or ends too early ends the run with a miss of class [MissInput], which names the place and shows no input; [MissError.Explain] does,
// without secrets. Where the file has a placeholder, and with [WithMatchers], lines are compared instead of bytes: another password is
// fine, and JSON may be spelled in another way. Waiting for output that was not there before the next input was written waits for ever:
// record a test again when it has learned to wait.
//
// # Terminals
//
// A command with a runner.PTY is recorded with the size of its terminal, and what it wrote as one stream, verbatim. Size and terminal are matched:
// a call with another size, or with pipes, is a miss that says so, and [IgnoreSize] waives the size. runner.Process.Resize is a turn as input is: at replay what
// followed comes when the terminal is given that size, and another size, or one more, ends the run with a miss of class [MissInput]. So does one that is left out
// keep the run waiting, as an input does. An instant replay without turns is over when it has started, and cannot be resized any more. No terminal is needed to replay:
// it works on every system.
//
// # Saving
//
// Save writes a temporary file (0600), sees it onto the disk and renames it: a crash at any instant leaves the old file or
// the new one. Nothing is written through a symbolic or a hard link, and nothing that is not a sound cassette is recorded over. While a recorder is open
// nobody else can record to its file. Close does not save.
//
// # Where it is proven
//
// The specs of this package hold the words above: "What is written" every byte and outcome, "Reading a file" strictness, "A
// recorder", "A player", "A miss", "Tokens" and "Open" what their names say, "A conversation" turns and divergence, "A terminal" sizes and what is matched of them, "A variant" which file is played, "Redaction" the rules, the canaries and the final scan, "Saving" privacy, links, locks and kills at random instants
// (with an in-place writer that does lose files, as the control), "A large file" what is found when, "A side file" its rule and its faults, "Files of a command" what is restored and what is not, "Secrets" the printers, "Conformance" that recording and replaying
// pass the specs of runner/runnertest.
package cassette
