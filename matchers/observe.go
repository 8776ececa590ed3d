package matchers

import (
	"context"
	"errors"
	"fmt"
	"reflect"

	"github.com/boombox-go/boombox/contain"
	"github.com/boombox-go/boombox/runner"
)

// Run is what can tell the Result of a run when it is over: a [*runner.Process], or a handle of your own.
type Run interface {
	Result() (*runner.Result, bool)
}

// Tree is what can list the processes it holds: a [*contain.Group].
type Tree interface {
	Members() ([]contain.Member, error)
	Mechanism() contain.Mechanism
}

// observation is one look at an actual value. Exactly one of its parts is set.
type observation struct {
	result  *runner.Result
	tree    Tree
	members func() ([]contain.Member, error)
}

const (
	acceptsRun  = "*runner.Result, *runner.Process or another Run, or an error that holds a *runner.ExitError or *runner.CancelError"
	acceptsTree = "*contain.Group or another Tree"
	acceptsList = "[]contain.Member, or a func() ([]contain.Member, error), also with a context.Context"
)

// observe looks at actual once. It is the one place that knows the accepted types. It fails on a nil pointer, on a type
// that it does not know, and with a [*NotSettledError] on a run that is not over.
func observe(actual any) (*observation, error) {
	if err := rejectNil(actual); err != nil {
		return nil, err
	}
	switch a := actual.(type) {
	case *runner.Result:
		return &observation{result: a}, nil
	case Run:
		result, settled := a.Result()
		if !settled {
			return nil, notSettled(a)
		}
		if result == nil {
			return nil, fmt.Errorf("matchers: the %T is over and has a nil Result", actual)
		}
		return &observation{result: result}, nil
	case error:
		return observeError(a)
	case Tree:
		return &observation{tree: a, members: a.Members}, nil
	case []contain.Member:
		return &observation{members: func() ([]contain.Member, error) { return a, nil }}, nil
	case func() ([]contain.Member, error):
		return &observation{members: a}, nil
	case func(context.Context) ([]contain.Member, error):
		return &observation{members: func() ([]contain.Member, error) { return a(context.Background()) }}, nil
	}
	return nil, errUnknown
}

// rejectNil refuses a nil pointer: it is what a failed call returned next to its error.
func rejectNil(actual any) error {
	if v := reflect.ValueOf(actual); v.Kind() == reflect.Pointer && v.IsNil() {
		return fmt.Errorf("matchers: the actual value is a nil %T (was there an error before?)", actual)
	}
	return nil
}

// errUnknown is replaced by an error that names what the matcher at hand accepts.
var errUnknown = errors.New("matchers: unknown type")

func observeError(err error) (*observation, error) {
	var result *runner.Result
	var exit *runner.ExitError
	var cancel *runner.CancelError
	switch {
	case errors.As(err, &exit):
		result = exit.Result()
	case errors.As(err, &cancel):
		result = cancel.Result()
	default:
		return nil, errUnknown
	}
	if result == nil {
		return nil, fmt.Errorf("matchers: the %T holds no Result: the run was over before it started", err)
	}
	return &observation{result: result}, nil
}

// wrongType names what matcher accepts. It tells the type of the actual value and nothing of its content.
func wrongType(matcher, accepts string, actual any) error {
	if actual == nil {
		return fmt.Errorf("matchers: %s got nil; it takes %s", matcher, accepts)
	}
	return fmt.Errorf("matchers: %s cannot judge a %T; it takes %s", matcher, actual, accepts)
}

// observeRun is observe for matchers that are about a run alone.
func observeRun(matcher string, actual any) (*runner.Result, error) {
	o, err := observe(actual)
	if err == errUnknown || err == nil && o.result == nil {
		return nil, wrongType(matcher, acceptsRun, actual)
	}
	if err != nil {
		return nil, err
	}
	return o.result, nil
}

// settled reports whether actual is a run that is over: nothing about it will change.
func settled(actual any) bool {
	o, err := observe(actual)
	return err == nil && o.result != nil
}
