package cassette

import (
	"fmt"
	"os"
	"path/filepath"
)

// EnvIndex is the environment variable that names a file to which every opened cassette adds its path, a line each, quoted as Go
// quotes strings. After a run of all tests, the cassettes that are not in it belong to no test: boombox prune finds them.
const EnvIndex = "BOOMBOX_CASSETTE_INDEX"

// noteUse adds path, and those of its variants, to the index, if one is asked for. Test processes run side by side: a line is written in one piece.
func noteUse(path string, variants []string) error {
	index, set := os.LookupEnv(EnvIndex)
	if !set || index == "" {
		return nil
	}
	abs, err := filepath.Abs(path)
	if err != nil {
		return fmt.Errorf("cassette: %w", err)
	}
	f, err := os.OpenFile(index, os.O_WRONLY|os.O_APPEND|os.O_CREATE, 0o600)
	if err != nil {
		return fmt.Errorf("cassette: noting the use of a cassette (%s): %w", EnvIndex, err)
	}
	defer f.Close()
	lines := fmt.Appendf(nil, "%q\n", abs)
	for _, v := range variants { // those that others play are of this test, too
		lines = fmt.Appendf(lines, "%q\n", variantPath(abs, v))
	}
	if _, err := f.Write(lines); err != nil {
		return fmt.Errorf("cassette: noting the use of a cassette (%s): %w", EnvIndex, err)
	}
	return nil
}
