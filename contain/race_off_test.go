//go:build !race

package contain_test

const raceSlowness = 1
