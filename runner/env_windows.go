package runner

import "strings"

// envFold is the form of a name in which two names are compared: Windows ignores case.
func envFold(key string) string { return strings.ToUpper(key) }

// envAlways reports whether a variable is inherited even into a clean environment.
func envAlways(key string) bool { return envFold(key) == "SYSTEMROOT" }
