package harness

import (
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"
)

// Choice is a value that a flag may have.
type Choice struct {
	Name string
	Help string
}

// flag is one flag of a program.
type flag struct {
	long, alias string
	short       byte
	// value is what stands for its value in the help; empty for a switch.
	value   string
	help    string
	choices []Choice
	// usual is its value where it is not given; empty where that is not a value to be typed.
	usual  string
	hidden bool
	// numeric is whether a value may begin with a minus sign, to be refused as a number.
	numeric bool
	set     func(text string) error
	// param is its value in the record.
	param func() any
	given bool
}

// Flags are the flags of a program. Each is in the help, in the record, and told by its name where its
// value cannot be followed.
type Flags struct {
	name, about string
	list        []*flag
}

func (f *Flags) add(one *flag) *flag {
	f.list = append(f.list, one)
	return one
}

func (f *Flags) find(long string) *flag {
	for _, one := range f.list {
		if one.long == long || one.alias == long && long != "" {
			return one
		}
	}
	return nil
}

// Given is whether a flag was typed.
func (f *Flags) Given(long string) bool {
	return f.find(long).given
}

// optional is a value that may be unknown: null in the record.
type optional[T any] struct {
	value T
	known bool
}

func (o *optional[T]) param() any {
	if !o.known {
		return nil
	}
	return o.value
}

// Number adds a flag for a number from least to most. usual is empty where there is no usual value.
func (f *Flags) Number(long, value, help, usual string, least, most uint64) *uint64 {
	return f.parsed(long, value, help, usual, func(text string) (uint64, error) {
		number, err := strconv.ParseUint(text, 10, 64)
		switch {
		case errors.Is(err, strconv.ErrRange):
			return 0, errors.New("number too large to fit in target type")
		case text == "":
			return 0, errors.New("cannot parse integer from empty string")
		case err != nil:
			return 0, errors.New("invalid digit found in string")
		case number < least || number > most:
			return 0, fmt.Errorf("%d is not in %d..=%d", number, least, most)
		}
		return number, nil
	})
}

// Bytes adds a flag for a size. check may refuse it.
func (f *Flags) Bytes(long, help, usual string, check func(uint64) error) *uint64 {
	return f.parsed(long, "BYTES", help, usual, func(text string) (uint64, error) {
		size, err := parseBytes(text)
		if err != nil {
			return 0, err
		}
		return size, check(size)
	})
}

// Span adds a flag for a span of time, in ns.
func (f *Flags) Span(long, help string, check func(uint64) error) *uint64 {
	return f.parsed(long, "TIME", help, "", func(text string) (uint64, error) {
		span, err := parseSpan(text)
		if err != nil {
			return 0, err
		}
		return span, check(span)
	})
}

func (f *Flags) parsed(long, value, help, usual string, parse func(string) (uint64, error)) *uint64 {
	held := &optional[uint64]{}
	set := func(text string) (err error) {
		held.value, err = parse(text)
		held.known = err == nil
		return err
	}
	f.add(&flag{long: long, value: value, help: help, usual: usual, numeric: true, set: set, param: held.param})
	if usual != "" && set(usual) != nil {
		panic("the usual value of --" + long + " is refused")
	}
	return &held.value
}

// Choice adds a flag for one of several words.
func (f *Flags) Choice(long, help, usual string, choices []Choice) *string {
	held := &optional[string]{value: usual, known: usual != ""}
	set := func(text string) error {
		for _, choice := range choices {
			if choice.Name == text {
				held.value, held.known = text, true
				return nil
			}
		}
		return errNoChoice
	}
	value := strings.ToUpper(strings.ReplaceAll(long, "-", "_"))
	f.add(&flag{long: long, value: value, help: help, usual: usual, choices: choices, set: set, param: held.param})
	return &held.value
}

var errNoChoice = errors.New("no such choice")

// Switch adds a flag without a value.
func (f *Flags) Switch(long string, short byte, help string) *bool {
	on := new(bool)
	set := func(string) error {
		*on = true
		return nil
	}
	f.add(&flag{long: long, short: short, help: help, set: set, param: func() any { return *on }})
	return on
}

// Text adds a flag that parse reads; its value in the record is what was typed, or as param has it.
func (f *Flags) Text(long, value, help string, parse func(string) error) *string {
	held := &optional[string]{}
	set := func(text string) error {
		if err := parse(text); err != nil {
			return err
		}
		held.value, held.known = text, true
		return nil
	}
	f.add(&flag{long: long, value: value, help: help, set: set, param: held.param})
	return &held.value
}

// Default changes the usual value of a flag.
func (f *Flags) Default(long, usual string) {
	one := f.find(long)
	one.usual = usual
	if !one.given && one.set(usual) != nil {
		panic("the usual value of --" + long + " is refused")
	}
}

// params are the values of all flags for the record.
func (f *Flags) params() map[string]any {
	params := map[string]any{}
	for _, one := range f.list {
		value := one.param()
		if one.hidden && value == nil {
			continue
		}
		params[strings.ReplaceAll(one.long, "-", "_")] = value
	}
	return params
}

// shown ends the parsing with a text for standard output.
type shown struct{ text string }

func (s shown) Error() string { return s.text }

// usage is a command line that cannot be followed, told as command-line parsers do.
type usage struct{ text string }

func (u usage) Error() string { return u.text }

func usageError(format string, args ...any) error {
	return usage{"error: " + fmt.Sprintf(format, args...) + "\n\nFor more information, try '--help'.\n"}
}

// parse follows a command line.
func (f *Flags) parse(args []string) error {
	for len(args) > 0 {
		arg := args[0]
		args = args[1:]
		var err error
		switch {
		case strings.HasPrefix(arg, "--") && len(arg) > 2:
			args, err = f.long(arg[2:], args)
		case strings.HasPrefix(arg, "-") && len(arg) > 1 && arg != "--":
			err = f.letters(arg[1:])
		case arg == "--" && len(args) == 0:
		case arg == "--":
			err = f.unexpected(args[0])
		default:
			err = f.unexpected(arg)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func (f *Flags) unexpected(arg string) error {
	tip := ""
	if long, isLong := strings.CutPrefix(arg, "--"); isLong {
		for _, one := range f.list {
			if !one.hidden && len(long) > 1 && strings.HasPrefix(one.long, long) {
				tip = fmt.Sprintf("\n\n  tip: a similar argument exists: '--%s'", one.long)
				break
			}
		}
	}
	return usageError("unexpected argument '%s' found%s\n\nUsage: %s [OPTIONS]", arg, tip, f.name)
}

func (f *Flags) letters(letters string) error {
	for _, letter := range []byte(letters) {
		switch one := f.byLetter(letter); {
		case letter == 'h':
			return shown{f.shortHelp()}
		case letter == 'V':
			return shown{f.version()}
		case one == nil:
			return f.unexpected("-" + string(rune(letter)))
		default:
			if err := f.take(one, ""); err != nil {
				return err
			}
		}
	}
	return nil
}

func (f *Flags) byLetter(letter byte) *flag {
	for _, one := range f.list {
		if one.short == letter && letter != 0 {
			return one
		}
	}
	return nil
}

func (f *Flags) long(text string, rest []string) ([]string, error) {
	name, value, inline := strings.Cut(text, "=")
	if name == "help" {
		return nil, shown{f.longHelp()}
	}
	if name == "version" {
		return nil, shown{f.version()}
	}
	one := f.find(name)
	if one == nil {
		return nil, f.unexpected("--" + name)
	}
	if one.value == "" {
		if inline {
			return nil, usageError("unexpected value '%s' for '--%s' found; no more were expected\n\nUsage: %s --%s",
				value, one.long, f.name, one.long)
		}
		return rest, f.take(one, "")
	}
	if !inline {
		if len(rest) == 0 || isFlag(rest[0], one.numeric) {
			return nil, f.noValue(one)
		}
		value, rest = rest[0], rest[1:]
	}
	return rest, f.take(one, value)
}

// isFlag is whether the word after a flag is another one, and not its value.
func isFlag(word string, numeric bool) bool {
	if !strings.HasPrefix(word, "-") || word == "-" {
		return false
	}
	return !numeric || word[1] < '0' || word[1] > '9'
}

func (f *Flags) noValue(one *flag) error {
	return usageError("a value is required for '--%s <%s>' but none was supplied%s", one.long, one.value, one.listed())
}

func (one *flag) listed() string {
	if len(one.choices) == 0 {
		return ""
	}
	return "\n  [possible values: " + one.names() + "]"
}

func (one *flag) names() string {
	var names []string
	for _, choice := range one.choices {
		names = append(names, choice.Name)
	}
	return strings.Join(names, ", ")
}

func (f *Flags) take(one *flag, value string) error {
	shown := "--" + one.long
	if one.value != "" {
		shown += " <" + one.value + ">"
	}
	if one.given {
		return usageError("the argument '%s' cannot be used multiple times\n\nUsage: %s [OPTIONS]", shown, f.name)
	}
	one.given = true
	var bad *BadUsage
	switch err := one.set(value); {
	case err == nil:
		return nil
	case errors.As(err, &bad):
		return err
	case errors.Is(err, errNoChoice):
		return usageError("invalid value '%s' for '%s'%s", value, shown, one.listed())
	case errors.Is(err, errEmpty):
		return f.noValue(one)
	default:
		return usageError("invalid value '%s' for '%s': %v", value, shown, err)
	}
}

var errEmpty = errors.New("nothing is there")

func (f *Flags) version() string {
	return f.name + " " + Version + "\n"
}

// width is how long a line of the help may be.
const width = 100

// longHelp is what --help prints. It lists values as command-line parsers do: scripts read them.
func (f *Flags) longHelp() string {
	var text strings.Builder
	indent := strings.Repeat(" ", 10)
	fmt.Fprintf(&text, "%s\n\nUsage: %s [OPTIONS]\n\nOptions:\n", f.about, f.name)
	for _, one := range f.visible() {
		fmt.Fprintf(&text, "%s\n", one.heading())
		paragraph(&text, indent, len(indent), one.help)
		if len(one.choices) > 0 {
			text.WriteString("\n          Possible values:\n")
		}
		for _, choice := range one.choices {
			label := fmt.Sprintf("- %-*s ", one.longestChoice()+1, choice.Name+":")
			paragraph(&text, indent+label, len(indent)+2, choice.Help)
		}
		if one.usual != "" || one.alias != "" {
			text.WriteString("          \n")
		}
		if one.usual != "" {
			fmt.Fprintf(&text, "          [default: %s]\n", one.usual)
		}
		if one.alias != "" {
			fmt.Fprintf(&text, "          [alias: --%s]\n", one.alias)
		}
		text.WriteString("\n")
	}
	return strings.TrimSuffix(text.String(), "\n")
}

// shortHelp is what -h prints.
func (f *Flags) shortHelp() string {
	var text strings.Builder
	fmt.Fprintf(&text, "%s\n\nUsage: %s [OPTIONS]\n\nOptions:\n", f.about, f.name)
	longest := 0
	for _, one := range f.visible() {
		longest = max(longest, len(one.heading()))
	}
	for _, one := range f.visible() {
		help := one.help
		if one.usual != "" {
			help += " [default: " + one.usual + "]"
		}
		if len(one.choices) > 0 {
			help += " [possible values: " + one.names() + "]"
		}
		if one.alias != "" {
			help += " [alias: --" + one.alias + "]"
		}
		paragraph(&text, fmt.Sprintf("%-*s", longest+2, one.heading()), longest+2, help)
	}
	return text.String()
}

func (f *Flags) visible() []*flag {
	var visible []*flag
	for _, one := range f.list {
		if !one.hidden {
			visible = append(visible, one)
		}
	}
	return append(visible,
		&flag{long: "help", short: 'h', help: "Print help (see a summary with '-h')"},
		&flag{long: "version", short: 'V', help: "Print version"})
}

func (one *flag) heading() string {
	text := "      --" + one.long
	if one.short != 0 {
		text = "  -" + string(rune(one.short)) + ", --" + one.long
	}
	if one.value != "" {
		text += " <" + one.value + ">"
	}
	return text
}

func (one *flag) longestChoice() int {
	longest := 0
	for _, choice := range one.choices {
		longest = max(longest, len(choice.Name))
	}
	return longest
}

// paragraph writes words in lines: the first begins with what is given, the others are indented.
func paragraph(text *strings.Builder, first string, indent int, words string) {
	line, isEmpty := first, true
	for _, word := range strings.Fields(words) {
		if !isEmpty && len(line)+1+len(word) > width {
			text.WriteString(line + "\n")
			line, isEmpty = strings.Repeat(" ", indent), true
		}
		if !isEmpty {
			line += " "
		}
		line += word
		isEmpty = false
	}
	text.WriteString(line + "\n")
}

// anyNumber is the largest of a flag that may be any number.
const anyNumber = math.MaxUint64
