package cassette

import "hash/maphash"

// index finds the runs of a key, first recorded first, and knows which are played.
type index struct {
	runs []runText
	seed maphash.Seed
	// head is the first unplayed run of a hash, and next the one after each run, both counted from 1.
	head map[uint64]int32
	next []int32
	// played is at which call each run was played, 0 for never.
	played []int32
}

func newIndex(runs []runText) *index {
	x := &index{
		runs: runs, seed: maphash.MakeSeed(),
		head: make(map[uint64]int32, len(runs)), next: make([]int32, len(runs)), played: make([]int32, len(runs)),
	}
	for i := len(runs) - 1; i >= 0; i-- {
		c := runs[i].call()
		h := c.hash(x.seed)
		x.next[i] = x.head[h]
		x.head[h] = int32(i + 1)
	}
	return x
}

// claim takes the first unplayed run that answers c and that serves accepts, or returns -1.
func (x *index) claim(c *call, hash uint64, serves func(*runText) bool, number int) int {
	before := int32(0)
	for at := x.head[hash]; at != 0; before, at = at, x.next[at-1] {
		if r := &x.runs[at-1]; !r.answers(c) || !serves(r) {
			continue
		}
		if after := x.next[at-1]; before == 0 {
			x.head[hash] = after
		} else {
			x.next[before-1] = after
		}
		x.played[at-1] = int32(number)
		return int(at - 1)
	}
	return -1
}

// left counts the runs that are not played yet, and finds the first, counted from 1.
func (x *index) left() (count, first int) {
	for i, at := range x.played {
		if at != 0 {
			continue
		}
		if count++; first == 0 {
			first = i + 1
		}
	}
	return count, first
}
