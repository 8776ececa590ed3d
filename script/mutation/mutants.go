package main

// mutants are the promises that are tried.
var mutants = []mutant{
	{
		name: "containment", about: "no kill does anything, and every tree is said to be empty",
		edits: []edit{
			{file: "contain/child.go", place: "func (c *Child) kill(deadline time.Time) error {", first: "return nil"},
			{file: "contain/child.go", place: "func (c *Child) close(deadline time.Time) error {", first: "return nil"},
			{file: "contain/child.go", place: "func (c *Child) strike() {", first: "return"},
			{file: "contain/group.go", place: "func (g *Group) close(deadline time.Time) error {", first: "return nil"},
		},
		suites: []suiteRun{
			{
				"./contain", `a tree of .* dies with its group|a fork bomb is killed while it grows`,
				`a tree of setsid dies with its group|a fork bomb is killed while it grows \(cgroup2\)`,
			},
			{".", `what a child leaves behind .* dies$|a tree that forks while it is killed .* (is gone|dies)$`, `what a child leaves behind .* by escapees, dies$`},
			// Each of these waits a minute for streams that survivors hold.
			{".", `the end of a run takes the escapees along.* the group closed$`, `the end of a run takes the escapees along, by cgroup2: the group closed$`},
			{".", `the end of a run takes the escapees along.* the process closed$`, none},
			{".", `the end of a run takes the escapees along.* the process killed$`, none},
			{".", `the end of a run takes the escapees along.* the run cancelled$`, none},
			{".", `the end of a run takes the escapees along.* (the child ended by a signal|at a timeout, on time|when the context of Run ends)$`, none},
		},
	},
	{
		name: "redaction", about: "printers and messages show arguments, environment, input and output",
		edits: []edit{
			{file: "internal/sealed/sealed.go", place: "func (s Strings) String() string {", instead: "func (s Strings) String() string { return fmt.Sprint(s.view()) }\n\nfunc (s Strings) was() string {"},
			{file: "contain/spawn.go", place: "func bare(err error) error {", first: "if err != nil {\n\t\treturn err\n\t}"},
			{file: "runner/cmd.go", place: "func programName(name string) string {", instead: "func programName(name string) string { return name }\n\nfunc wasProgramName(name string) string {"},
			{file: "runner/cmd.go", place: "return &Cmd{program: programName(name),", instead: `return &Cmd{program: programName(strings.Join(append([]string{name}, args...), " ")),`},
			{file: "runner/cmd.go", place: "func (c Cmd) describe() string {", first: "if c.Dir != \"\" || true {\n\t\treturn fmt.Sprint(c.argv.Reveal(), c.Dir, c.Env, c.Stdin)\n\t}"},
			{file: "runner/env.go", place: "func (e Env) describe() string {", first: "if e.open != nil {\n\t\treturn strings.Join(e.Reveal(), \" \")\n\t}"},
			{file: "runner/stdin.go", place: `func (s Stdin) describe() string { return s.Kind().String() + " stdin" }`, instead: "func (s Stdin) describe() string { return string(s.source().data) }"},
			{file: "runner/result.go", place: "func (r Result) describe() string {", first: "if r.open != nil {\n\t\treturn r.open().program + string(r.open().stdout.bytes()) + string(r.open().stderr.bytes())\n\t}"},
			{file: "runner/errors.go", place: "func (e *ExitError) Error() string {", first: "if e.result.open != nil {\n\t\treturn e.result.describe()\n\t}"},
			{file: "fake/printers.go", place: "func (c Chunk) describe() string {", first: "if c.Data != nil {\n\t\treturn string(c.Data)\n\t}"},
			{file: "cassette/program.go", place: "func describeCall(argv []string) string {", first: "if len(argv) > 0 {\n\t\treturn fmt.Sprint(argv)\n\t}"},
			{file: "matchers/called.go", place: `ticked(argv[0]), plaintext.Count(len(argv)-1, "argument"))`, instead: `fmt.Sprint(argv), "")`},
			{file: "matchers/facts.go", place: "func amounts(r *runner.Result) string {", first: "if r.StdoutTotal() > 0 {\n\t\treturn string(r.Stdout()) + string(r.Stderr())\n\t}"},
		},
		suites: []suiteRun{
			{"./contain", `shows nothing secret when it is printed$`, ""},
			{"./runner", `no printer shows what |no printer shows what a command is given or says`, ""},
			{"./fake", `shows no argument, directory, input or output to any printer|no printer shows what a command is given or says`, ""},
			{"./cassette", `Secrets are shown by no printer|no printer shows what a command is given or says`, ""},
			{"./matchers", `shows? no argument|messages show output where|messages show lines of output unless`, ""},
			{"./matchers/specs", `adds what is no secret to reports`, ""},
			// A refusal and a signal are told by no message that could name a program: "reports" is for those.
			{"./cmd/boombox", `secrets are in no message and in no report of (a missing|a directory|a timeout|an idle|too much)`, ""},
		},
	},
	{
		name: "reports", about: "the report of a run shows the command line",
		edits: []edit{
			{file: "cmd/boombox/report.go", place: "text, err := json.Marshal(r)", instead: "text, err := json.Marshal(struct {\n\t\treport\n\t\tArgv []string\n\t}{r, os.Args})"},
		},
		suites: []suiteRun{{"./cmd/boombox", `secrets are in no message and in no report`, ""}},
	},
}
