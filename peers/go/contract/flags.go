// Package contract is what a measured program and its runner say to each other: docs/CONTRACT.md.
package contract

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"unicode"
)

// Flags are those of the program, which adds its own before it calls Main.
var Flags = flag.NewFlagSet("", flag.ContinueOnError)

var (
	workers    = Number("workers", 0, 0, 32768, "`N` threads that run goroutines; 0 is GOMAXPROCS, or one for each CPU")
	describe   = Flags.Bool("describe", false, "print what this command line would build and need, as one line of JSON")
	controlled = Flags.Bool("controlled", false, "obey requests on standard input, answer in lines of JSON")
)

// Number adds a flag with a whole number.
func Number(name string, usual, least, most uint64, help string) *uint64 {
	value := usual
	Flags.Func(name, fmt.Sprintf("%s [default: %d]", help, usual), func(text string) error {
		read, err := strconv.ParseUint(text, 10, 64)
		if err != nil || read < least || read > most {
			return fmt.Errorf("write a number from %d to %d", least, most)
		}
		value = read
		return nil
	})
	return &value
}

// Choice adds a flag with one of some values, the usual one first.
func Choice(name, help string, choices ...string) *string {
	value, all := choices[0], strings.Join(choices, " or ")
	Flags.Func(name, help+": "+all, func(text string) error {
		if !slices.Contains(choices, text) {
			return errors.New("write " + all)
		}
		value = text
		return nil
	})
	return &value
}

// parse reads the command line, and fixes the number of workers.
func parse() error {
	Flags.SetOutput(io.Discard)
	if err := Flags.Parse(os.Args[1:]); err != nil {
		return err
	}
	if Flags.NArg() > 0 {
		return fmt.Errorf("%q is no flag: see --help", Flags.Arg(0))
	}
	if *describe && *controlled {
		return errors.New("--describe builds nothing: drop it, or --controlled")
	}
	if *workers == 0 {
		*workers = uint64(runtime.GOMAXPROCS(0))
	}
	// Set once more, or the runtime follows a quota of CPU time that changes in mid-run.
	runtime.GOMAXPROCS(int(*workers))
	return nil
}

func help(about string) string {
	text := about + "\n\n"
	Flags.VisitAll(func(f *flag.Flag) {
		// One without a text is for tests.
		if value, usage := flag.UnquoteUsage(f); usage != "" {
			text += fmt.Sprintf("  %-18s %s\n", strings.TrimSpace("--"+f.Name+" "+value), usage)
		}
	})
	return text
}

// complain says what went wrong, in a line that fills no screen.
func complain(name string, err error) {
	line := strings.Map(func(r rune) rune {
		if unicode.IsGraphic(r) {
			return r
		}
		return '?'
	}, err.Error())
	fmt.Fprintf(os.Stderr, "%s: %.400s\n", name, line)
}
