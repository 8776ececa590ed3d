// Package runner describes commands, runs them through one narrow seam, and returns how they ended as data.
package runner
