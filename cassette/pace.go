package cassette

import (
	"fmt"
	"strconv"
	"strings"
	"time"
)

// Pace says how fast a cassette plays. The zero value is [Instant].
type Pace struct{ speed float64 }

// The paces without a factor; [Scaled] makes the others.
var (
	// Instant plays without any wait: a run is over when it has started.
	Instant = Pace{}
	// RealTime keeps the recorded intervals, to the millisecond.
	RealTime = Pace{speed: 1}
)

// Scaled plays speed times as fast as it was recorded: 2 takes half the time, 0.5 twice as long. It panics if speed is
// not a positive, finite number.
func Scaled(speed float64) Pace {
	if !(speed > 0) || speed > 1e9 {
		panic("cassette: the speed of a pace must be positive and finite")
	}
	return Pace{speed: speed}
}

// ParsePace reads what [Pace.String] writes: instant, real, or a factor such as 2x.
func ParsePace(text string) (Pace, error) {
	switch text {
	case "instant":
		return Instant, nil
	case "real":
		return RealTime, nil
	}
	factor, found := strings.CutSuffix(text, "x")
	speed, err := strconv.ParseFloat(factor, 64)
	if !found || err != nil || !(speed > 0) || speed > 1e9 {
		return Pace{}, fmt.Errorf("cassette: unknown pace %q (known: instant, real, and factors such as 2x)", text)
	}
	return Pace{speed: speed}, nil
}

// String is instant, real, or the factor.
func (p Pace) String() string {
	switch p {
	case Instant:
		return "instant"
	case RealTime:
		return "real"
	}
	return strconv.FormatFloat(p.speed, 'g', -1, 64) + "x"
}

// wait is what a recorded interval becomes.
func (p Pace) wait(d time.Duration) time.Duration {
	if p.speed == 0 {
		return 0
	}
	return time.Duration(min(float64(d)/p.speed, float64(maxWait)))
}
