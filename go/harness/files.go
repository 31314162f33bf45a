package harness

import (
	"bytes"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
)

// Files of the kernel are read by system calls, and not by package os: what a program has open must not
// depend on whether the runtime has begun to wait by epoll, and nothing is left for the collector.

// largestFile is more than any file read here holds on a sane system.
const largestFile = 64 << 20

// readFile is what a file holds.
func readFile(path string) ([]byte, error) {
	return readHead(path, largestFile)
}

// readHead is the beginning of a file.
func readHead(path string, most int) ([]byte, error) {
	fd, err := open(path, syscall.O_RDONLY|syscall.O_CLOEXEC)
	if err != nil {
		return nil, err
	}
	defer syscall.Close(fd)
	text := make([]byte, 0, 8192)
	for len(text) < most {
		if len(text) == cap(text) {
			text = append(text, make([]byte, len(text))...)[:len(text)]
		}
		n, err := syscall.Read(fd, text[len(text):min(cap(text), most)])
		if err == syscall.EINTR {
			continue
		}
		if err != nil {
			return nil, err
		}
		if n == 0 {
			break
		}
		text = text[:len(text)+n]
	}
	return text, nil
}

func open(path string, flags int) (int, error) {
	for {
		fd, err := syscall.Open(path, flags, 0)
		if err != syscall.EINTR {
			return fd, err
		}
	}
}

// names are the names in a folder.
func names(folder string) ([]string, error) {
	fd, err := open(folder, syscall.O_RDONLY|syscall.O_DIRECTORY|syscall.O_CLOEXEC)
	if err != nil {
		return nil, err
	}
	defer syscall.Close(fd)
	var found []string
	buffer := make([]byte, 32<<10)
	for {
		n, err := syscall.ReadDirent(fd, buffer)
		if err == syscall.EINTR {
			continue
		}
		if err != nil {
			return nil, err
		}
		if n <= 0 {
			return found, nil
		}
		_, _, found = syscall.ParseDirent(buffer[:n], -1, found)
	}
}

// source is the folder below which proc, sys and etc are looked for. A fact that is not there is null.
type source struct{ root string }

func (s source) path(path string) string { return filepath.Join(s.root, path) }

// text is a file's text without surrounding white space; nil if it is empty or cannot be read.
func (s source) text(path string) *string {
	return s.head(path, 1<<20)
}

// head is the first bytes of a file at most, cut at the end of a line if there is more.
func (s source) head(path string, most int) *string {
	read, err := readHead(s.path(path), most)
	if err != nil {
		return nil
	}
	if len(read) == most {
		end := bytes.LastIndexByte(read, '\n')
		if end < 0 {
			return nil
		}
		read = read[:end]
	}
	// Device-tree strings end in a NUL.
	text := strings.Trim(strings.ToValidUTF8(string(read), "\uFFFD"), " \t\r\n\v\f\x00")
	if text == "" {
		return nil
	}
	return &text
}

func (s source) number(path string) *uint64 {
	return parseNumber(s.text(path))
}

// flag is a file that holds 0 or 1.
func (s source) flag(path string) *bool {
	text := s.text(path)
	if text == nil || *text != "0" && *text != "1" {
		return nil
	}
	on := *text == "1"
	return &on
}

// chosen is the word in brackets among the choices that a file lists.
func (s source) chosen(path, left, right string) *string {
	text := s.text(path)
	if text == nil {
		return nil
	}
	for _, word := range strings.Fields(*text) {
		if strings.HasPrefix(word, left) && strings.HasSuffix(word, right) {
			word = strings.TrimSuffix(strings.TrimPrefix(word, left), right)
			return &word
		}
	}
	return nil
}

func (s source) exists(path string) bool {
	var stat syscall.Stat_t
	return syscall.Stat(s.path(path), &stat) == nil
}

func parseNumber(text *string) *uint64 {
	if text == nil {
		return nil
	}
	number, err := strconv.ParseUint(*text, 10, 64)
	if err != nil {
		return nil
	}
	return &number
}

// lineAfter is what follows a key on the line that begins with it.
func lineAfter(text, key string) *string {
	for line := range strings.Lines(text) {
		if rest, found := strings.CutPrefix(line, key); found {
			rest = strings.TrimSpace(rest)
			return &rest
		}
	}
	return nil
}

// wordAfter is the first word of it.
func wordAfter(text, key string) *string {
	line := lineAfter(text, key)
	if line == nil {
		return nil
	}
	words := strings.Fields(*line)
	if len(words) == 0 {
		return nil
	}
	return &words[0]
}

// numberAfter is that word as a number.
func numberAfter(text, key string) *uint64 {
	return parseNumber(wordAfter(text, key))
}

// cpuList is the CPUs of a list such as 0-3,8; nil if it is none.
func cpuList(text string) []int {
	var cpus []int
	for part := range strings.SplitSeq(strings.TrimSpace(text), ",") {
		first, last, isRange := strings.Cut(part, "-")
		if !isRange {
			last = first
		}
		from, err := strconv.ParseUint(first, 10, 32)
		if err != nil {
			return nil
		}
		to, err := strconv.ParseUint(last, 10, 32)
		if err != nil || from > to || to >= 8192 || len(cpus) > 8192 {
			return nil
		}
		for cpu := from; cpu <= to; cpu++ {
			cpus = append(cpus, int(cpu))
		}
	}
	return cpus
}

// listOf is CPUs in ascending order in the kernel's notation.
func listOf(cpus []int) string {
	var parts []string
	for i := 0; i < len(cpus); {
		j := i
		for j+1 < len(cpus) && cpus[j+1] == cpus[j]+1 {
			j++
		}
		part := strconv.Itoa(cpus[i])
		if j > i {
			part += "-" + strconv.Itoa(cpus[j])
		}
		parts = append(parts, part)
		i = j + 1
	}
	return strings.Join(parts, ",")
}
