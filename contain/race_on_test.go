//go:build race

package contain_test

// raceSlowness is how many times as much a start of this program takes.
const raceSlowness = 4
