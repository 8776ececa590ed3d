// Package fake scripts runs: canned replies and the engine that plays them, with no process.
package fake
