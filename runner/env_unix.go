//go:build !windows

package runner

// envFold is the form of a name in which two names are compared.
func envFold(key string) string { return key }

// envAlways reports whether a variable is inherited even into a clean environment.
func envAlways(string) bool { return false }
