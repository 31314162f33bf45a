package harness

import (
	"errors"
	"fmt"
	"os"
	"strings"
	"syscall"
	"unicode"
)

// descriptor1 is what fcntl(2) said of descriptor 1 before the runtime began: see entry_amd64.s. It is 0 where
// the program was linked without that.
var descriptor1 int64

// Exit statuses, as all programs of the project have them.
const (
	couldNotMeasure = 1
	badUsage        = 2
)

// BadUsage is a command line that cannot be followed. It ends the program with status 2.
type BadUsage struct{ text string }

// BadUsagef makes one. The message names the flag, the limit and the remedy.
func BadUsagef(format string, args ...any) error {
	return &BadUsage{fmt.Sprintf(format, args...)}
}

func (b *BadUsage) Error() string { return b.text }

// errInterrupted is that a signal ended the run before its first sample.
var errInterrupted = errors.New("interrupted before the first iteration")

// errClosed is that there is no standard output.
var errClosed = errors.New("standard output is closed: redirect it to a file or a pipe")

// print writes to standard output in one go. A reader that has gone away is no error.
func print(text string) error {
	if text == "" {
		return nil
	}
	if descriptor1 == -int64(syscall.EBADF) {
		return errClosed
	}
	_, err := os.Stdout.WriteString(text)
	if errors.Is(err, syscall.EPIPE) {
		return nil
	}
	if err != nil {
		return errors.New(errnoText(err))
	}
	return nil
}

// say says something on standard error. Where nobody listens any more, nothing is left to be done.
func say(format string, args ...any) {
	os.Stderr.WriteString(plain(fmt.Sprintf(format, args...)) + "\n")
}

// plain is a text with every character that a terminal would obey written out.
func plain(text string) string {
	var shown strings.Builder
	for _, r := range text {
		isTurn := r == 0x200e || r == 0x200f || 0x202a <= r && r <= 0x202e || 0x2066 <= r && r <= 0x2069
		if (unicode.IsControl(r) || isTurn) && r != '\n' && r != '\t' {
			fmt.Fprintf(&shown, "\\u{%x}", r)
			continue
		}
		shown.WriteRune(r)
	}
	return shown.String()
}

// complain says what went wrong, and returns the exit status.
func complain(name string, err error) int {
	say("%s: %v", name, err)
	var bad *BadUsage
	if errors.As(err, &bad) {
		return badUsage
	}
	return couldNotMeasure
}
