package cassette

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

const cassetteExt = ".cassette"

// WithVariant names a variant of the cassette: the platform, the locale, the version of a tool, whatever makes the same calls behave in another way. It
// has a file of its own, NAME.VARIANT.cassette beside NAME.cassette, which [Open] and [ForTest] record to. They replay it where it is there,
// and NAME.cassette where it is not. By default there is none. A name is made of a to z, 0 to 9 and -, at most 32 of them.
//
//	deck := cassette.ForTest(t, cassette.WithVariant(runtime.GOOS))
func WithVariant(name string) Option {
	return func(o *options) error {
		if !variantName(name) {
			return fmt.Errorf("cassette: %s is no name of a variant: it takes a to z, 0 to 9 and -, at most 32 of them", showName(name))
		}
		o.variant = name
		return nil
	}
}

func variantName(name string) bool {
	return name != "" && len(name) <= 32 && strings.Trim(name, "abcdefghijklmnopqrstuvwxyz0123456789-") == ""
}

// variantPath is the file of a variant.
func variantPath(path, variant string) string {
	return strings.TrimSuffix(path, cassetteExt) + "." + variant + cassetteExt
}

// fileFor is the file that is opened for the cassette at path.
func (o options) fileFor(path string, mode Mode) string {
	if o.variant == "" {
		return path
	}
	own := variantPath(path, o.variant)
	if mode == Record || exists(own) || mode == Once && !exists(path) {
		return own
	}
	return path
}

// exists reports whether there is anything at path, readable or not.
func exists(path string) bool {
	_, err := os.Lstat(path)
	return err == nil
}

// variantsOf are the variants that there are of the cassette at path.
func variantsOf(path string) (names []string) {
	entries, err := os.ReadDir(filepath.Dir(path))
	if path == "" || err != nil {
		return nil
	}
	stem := strings.TrimSuffix(filepath.Base(path), cassetteExt) + "."
	for _, e := range entries {
		name, found := strings.CutPrefix(e.Name(), stem)
		name, is := strings.CutSuffix(name, cassetteExt)
		if found && is && variantName(name) {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}

// describeVariants says in a miss which variants there are, "" for none.
func describeVariants(asked string, names []string) string {
	switch {
	case len(names) == 0 && asked == "":
		return ""
	case len(names) == 0:
		return fmt.Sprintf("; variant %s was asked for, and there is none", asked)
	}
	text := "; there are the variants " + strings.Join(names, ", ")
	if asked == "" {
		return text + ", and none was asked for"
	}
	return text + ", and " + asked + " was asked for"
}
