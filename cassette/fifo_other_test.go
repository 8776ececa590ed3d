//go:build !unix

package cassette_test

func mkfifo(string) bool { return false }
