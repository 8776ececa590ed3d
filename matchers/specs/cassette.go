package specs

import (
	"fmt"
	"regexp"
	"strings"
	"sync"
	"time"

	"github.com/onsi/ginkgo/v2"

	"github.com/boombox-go/boombox/cassette"
)

// Runner opens the cassette of this spec, at [CassettePath]: it replays, or records where BOOMBOX_CASSETTE says so; see
// cassette.Open. A recording is saved if the spec passed. In replay the spec fails if a call found no run, or a run was
// not called for, whatever the code under test made of it. Each try of a spec that is retried opens it anew.
//
// Record with BOOMBOX_CASSETTE=record; a miss tells the command for its spec.
func Runner(opts ...cassette.Option) *cassette.Deck {
	ginkgo.GinkgoHelper()
	path := CassettePath()
	opts = append([]cassette.Option{cassette.WithHint(hint(ginkgo.CurrentSpecReport().FullText()))}, opts...)
	return cassette.OpenForTest(ginkgo.GinkgoT(), path, opts...)
}

// hint is the command that records one spec anew.
func hint(text string) string {
	// Ginkgo puts the suite's name before the text.
	focus := strings.ReplaceAll(" "+regexp.QuoteMeta(text)+"$", "'", `'\''`)
	return fmt.Sprintf("%s=record go test -count=1 -ginkgo.focus='%s'", cassette.EnvMode, focus)
}

// CassettePath is where the cassette of this spec lies: cassette.PathFor of its full text, below the folder of its
// package. It knows no line number, so that a spec may move. A second spec that has the same text, as the entries of a
// table may, fails with the places of both: they would share a file. So it is too where ginkgo -p runs the two in two
// processes.
func CassettePath() string {
	ginkgo.GinkgoHelper()
	report := ginkgo.CurrentSpecReport()
	path := cassette.PathFor(report.FullText())
	me := user{report.StartTime, report.LeafNodeLocation.String()}
	holder, known := users.LoadOrStore(path, me)
	if config, _ := ginkgo.GinkgoConfiguration(); !known && config.ParallelTotal > 1 {
		switch location, err := claim(path, me.location); {
		case err != nil:
			ginkgo.Fail("this spec's cassette could not be claimed among the processes of ginkgo -p: " + err.Error())
		case location != "":
			holder = user{location: location}
			users.Store(path, holder) // for the next try of this spec
		}
	}
	if other := holder.(user); other != me {
		ginkgo.Fail(fmt.Sprintf("two specs have the text %q, and so the same cassette: give one another text\n%s\n%s",
			report.FullText(), other.location, me.location))
	}
	return path
}

// user is a spec that asked for a path. All tries of one spec have one start time, which no other spec of the process has;
// a spec of another process has none.
type user struct {
	started  time.Time
	location string
}

// users are the specs that have asked for a path. Ginkgo runs one suite in a process, and keeps its own state in
// package variables too.
var users sync.Map
