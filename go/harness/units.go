package harness

import (
	"fmt"
	"math"
	"strconv"
	"strings"
)

// Nanos is a span of time in ns, with a fraction where it is a mean.
type Nanos float64

// unit is how many ns the unit that suits the time has, and its name.
func (n Nanos) unit() (float64, string) {
	switch size := math.Abs(float64(n)); {
	// The bounds lie below the next unit by half of the last digit shown.
	case size < 999.95:
		return 1, "ns"
	case size < 999.95e3:
		return 1e3, "µs"
	case size < 999.95e6:
		return 1e6, "ms"
	default:
		return 1e9, "s"
	}
}

// String has four significant figures.
func (n Nanos) String() string {
	size, _ := n.unit()
	return n.decimals(significant(float64(n) / size))
}

// decimals is the time with so many decimals.
func (n Nanos) decimals(count int) string {
	size, name := n.unit()
	return fmt.Sprintf("%.*f%s", count, float64(n)/size, name)
}

// significant is how many decimals leave four significant figures.
func significant(value float64) int {
	switch size := math.Abs(value); {
	case size >= 999.95:
		return 0
	case size >= 99.995:
		return 1
	case size >= 9.9995:
		return 2
	default:
		return 3
	}
}

// formatBytes is a quantity of memory as people read it, in binary units.
func formatBytes(value float64) string {
	units := []string{"B", "KiB", "MiB", "GiB", "TiB"}
	size, unit := 1.0, 0
	for math.Abs(value) >= 1024*size && unit+1 < len(units) {
		size *= 1024
		unit++
	}
	decimals := significant(value / size)
	if unit == 0 && value == math.Trunc(value) {
		decimals = 0
	}
	return fmt.Sprintf("%.*f %s", decimals, value/size, units[unit])
}

// parseBytes reads 65536, 64k, 64KiB, 1M, 2GiB: all units are powers of 1024.
func parseBytes(text string) (uint64, error) {
	digits := strings.TrimRightFunc(text, isLetter)
	unit := strings.ToLower(text[len(digits):])
	shifts := map[string]uint{
		"": 0, "b": 0, "k": 10, "kib": 10, "m": 20, "mib": 20, "g": 30, "gib": 30, "t": 40, "tib": 40,
	}
	shift, known := shifts[unit]
	if !known {
		return 0, fmt.Errorf("unknown unit '%s': write bytes, or KiB, MiB, GiB", unit)
	}
	count, err := strconv.ParseUint(digits, 10, 64)
	if err != nil {
		return 0, fmt.Errorf("'%s' is not a whole number of bytes", digits)
	}
	if count > math.MaxUint64>>shift {
		return 0, fmt.Errorf("'%s' is more than 2^64 bytes", text)
	}
	return count << shift, nil
}

func isLetter(r rune) bool {
	return 'a' <= r && r <= 'z' || 'A' <= r && r <= 'Z'
}

// parseSpan reads 50ns, 50us, 50µs, 1.5ms, 1s into whole ns.
func parseSpan(text string) (uint64, error) {
	digits := strings.TrimRightFunc(text, func(r rune) bool { return (r < '0' || r > '9') && r != '.' })
	places := map[string]int{"ns": 0, "us": 3, "µs": 3, "μs": 3, "ms": 6, "s": 9}
	most, known := places[text[len(digits):]]
	if !known || digits == "" {
		return 0, fmt.Errorf("'%s' is not a time: write a number and its unit, such as 50us, 10ms or 1.5s", text)
	}
	whole, fraction, _ := strings.Cut(digits, ".")
	if whole == "" || strings.ContainsFunc(whole+fraction, func(r rune) bool { return r < '0' || r > '9' }) {
		return 0, fmt.Errorf("'%s' is not a time: write a number and its unit, such as 50us, 10ms or 1.5s", text)
	}
	if len(fraction) > most {
		return 0, fmt.Errorf("'%s' is not a whole number of ns", text)
	}
	ns, err := strconv.ParseUint(whole+fraction+strings.Repeat("0", most-len(fraction)), 10, 64)
	if err != nil {
		return 0, fmt.Errorf("'%s' is more than 2^64 ns", text)
	}
	return ns, nil
}

// satAdd adds, and stays at the largest number where the sum would be larger.
func satAdd(a, b uint64) uint64 {
	if a > math.MaxUint64-b {
		return math.MaxUint64
	}
	return a + b
}

// satSub subtracts, and stays at 0.
func satSub(a, b uint64) uint64 {
	if b > a {
		return 0
	}
	return a - b
}

// satMul multiplies, and stays at the largest number where the product would be larger.
func satMul(a, b uint64) uint64 {
	if a != 0 && b > math.MaxUint64/a {
		return math.MaxUint64
	}
	return a * b
}

// divCeil divides and rounds up.
func divCeil(a, b uint64) uint64 {
	return a/b + min(a%b, 1)
}
