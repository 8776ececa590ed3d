// Package failing is the failing twin of the other examples: with the build tag failing, each of its tests fails, with a
// message that docs/testing.md shows.
package failing
