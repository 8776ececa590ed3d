// Package cassette records commands on files and replays them without a process.
package cassette
