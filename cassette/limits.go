package cassette

// The caps of version 1. They bound what a file from somebody else can cost; a recording that passes one is refused
// when it is saved.
const (
	// MaxFile is the most bytes of a file.
	MaxFile = 256 << 20
	// MaxRun is the most bytes that one run takes in the file.
	MaxRun = 64 << 20
	// MaxLine is the most bytes of one line.
	MaxLine = 1 << 20
	// MaxRuns is the most runs of a file.
	MaxRuns = 100_000
)

// limits are the caps as the parser gets them, so that specs can reach them with small files.
type limits struct{ file, run, line, runs int }

var defaultLimits = limits{file: MaxFile, run: MaxRun, line: MaxLine, runs: MaxRuns}
