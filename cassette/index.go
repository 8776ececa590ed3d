package cassette

// index finds the runs of a key, first recorded first, and knows which are played.
type index struct {
	runs []runText
	// matchers say what does not matter.
	matchers []programMatcher
	// head is the first unplayed run of a hash, and next the one after each run, both counted from 1.
	head map[uint64]int32
	next []int32
	// first is a run before which all are done.
	first int
	// played is at which call each run was played last, 0 for never, and times how often it was.
	played, times []int32
}

func newIndex(runs []runText, matchers []programMatcher) *index {
	x := &index{
		runs: runs, matchers: matchers,
		head: make(map[uint64]int32, len(runs)), next: make([]int32, len(runs)), played: make([]int32, len(runs)), times: make([]int32, len(runs)),
	}
	for i := len(runs) - 1; i >= 0; i-- {
		h := x.hash(i)
		x.next[i] = x.head[h]
		x.head[h] = int32(i + 1)
	}
	return x
}

func (x *index) hash(i int) uint64 {
	if key := x.runs[i].key; key != 0 && len(x.matchers) == 0 {
		return key
	}
	if len(x.matchers) == 0 {
		return x.runs[i].hash()
	}
	c := x.call(i)
	return c.hash()
}

// call is what a run is compared by.
func (x *index) call(i int) call { return adapt(x.matchers, x.runs[i].call()) }

// answers reports whether a run is to be compared equal to c, to which the matchers are applied.
func (x *index) answers(i int, c *call) bool {
	if len(x.matchers) == 0 {
		return x.runs[i].answers(c)
	}
	recorded := x.call(i)
	return recorded.equal(c)
}

// claim takes the first run that answers c, is not spent, and is accepted by serves (nil accepts all), or returns -1.
func (x *index) claim(c *call, hash uint64, serves func(int) bool, number int) int {
	before := int32(0)
	for at := x.head[hash]; at != 0; before, at = at, x.next[at-1] {
		if !x.answers(int(at-1), c) || serves != nil && !serves(int(at-1)) {
			continue
		}
		x.played[at-1] = int32(number)
		x.times[at-1]++
		if !x.spent(int(at - 1)) {
			return int(at - 1)
		}
		if after := x.next[at-1]; before == 0 {
			x.head[hash] = after
		} else {
			x.next[before-1] = after
		}
		return int(at - 1)
	}
	return -1
}

// spent reports whether a run answers no further call.
func (x *index) spent(i int) bool {
	repeat := x.runs[i].repeat
	return repeat >= 0 && x.times[i] >= max(repeat, 1)
}

// done reports whether a run was played as often as it must be.
func (x *index) done(i int) bool {
	r := &x.runs[i]
	return x.times[i] >= max(r.repeat, 1) || r.optional && x.times[i] == 0
}

// due reports whether nothing before a run has still to be played.
func (x *index) due(i int) bool {
	for ; x.first < i && x.done(x.first); x.first++ {
	}
	return x.first >= i
}

// left counts the runs that are still to be played, and finds the first, counted from 1.
func (x *index) left() (count, first int) {
	for i := range x.runs {
		if x.done(i) {
			continue
		}
		if count++; first == 0 {
			first = i + 1
		}
	}
	return count, first
}
