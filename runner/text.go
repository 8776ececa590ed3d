package runner

import "github.com/boombox-go/boombox/internal/plaintext"

// maxShown bounds any foreign text that goes into one of our messages, in bytes.
const maxShown = 200

// plain makes foreign text fit for a message.
func plain(s string) string { return plaintext.Bounded(s, maxShown) }
