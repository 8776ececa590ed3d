//go:build !unix

package cassette_test

import "time"

func cpuTime() time.Duration { return 0 }
