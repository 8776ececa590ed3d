// Package contain owns process trees: it starts commands in a group that they cannot leave, and ends the whole group.
package contain
