package main

import (
	"fmt"
	"testing"
)

// FuzzParseSize checks that what is read is what was written, and that nothing else is read.
func FuzzParseSize(f *testing.F) {
	for _, seed := range []string{"1", "512MiB", "8mib", "1GB", "10K", "0", "-1", "1.5GiB", "9223372036854775807", "8388608TiB", "MiB", "1 MiB"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		n, err := parseSize(text)
		if err != nil {
			if n != 0 {
				t.Fatalf("%q: an error and %d", text, n)
			}
			return
		}
		if n <= 0 {
			t.Fatalf("%q: %d is not above 0", text, n)
		}
		again, err := parseSize(fmt.Sprint(int64(n)))
		if err != nil || again != n {
			t.Fatalf("%q: %d reads back as %d, %v", text, n, again, err)
		}
	})
}

// TestParseSize pins what the units mean.
func TestParseSize(t *testing.T) {
	for text, want := range map[string]size{
		"1": 1, "1B": 1, "1K": 1 << 10, "1KiB": 1 << 10, "1KB": 1000, "512MiB": 512 << 20, "8M": 8 << 20, "1GB": 1e9, "2TiB": 2 << 40,
	} {
		if got, err := parseSize(text); err != nil || got != want {
			t.Errorf("%q is %d, %v; want %d", text, got, err, want)
		}
	}
	for _, text := range []string{"", "0", "-1", "+1", "1.5G", "MiB", "1 MiB", "1iB", "1MiBB", "9999999TiB", "1e3", "0x10"} {
		if got, err := parseSize(text); err == nil {
			t.Errorf("%q is read as %d", text, got)
		}
	}
}
