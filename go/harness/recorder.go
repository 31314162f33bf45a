package harness

import (
	"math"
	"math/big"
	"math/bits"
	"time"
)

// longest is the longest time that the histogram tells apart, in ns: one hour.
const longest = 3_600_000_000_000

// Up to so many samples are kept one by one; past that the series holds about so many batches.
const (
	keptSamples = 10_000
	keptBatches = 100
)

// precision is how many bits of a time the histogram keeps: three significant figures.
const precision = 11

// Recorder takes samples: every one in a histogram and in exact sums, and a series in their order. It
// allocates nothing once it is made.
type Recorder struct {
	counts       []uint64
	count        uint64
	sum, squares [2]uint64
	least, most  uint64
	series       series
	// filled is how many samples the last element of the series adds up so far.
	filled uint64
}

type series struct {
	Batch uint64   `json:"batch"`
	Sums  []uint64 `json:"sums"`
}

// summary is what the samples come to, in ns.
type summary struct {
	Count  uint64  `json:"count"`
	Mean   decimal `json:"mean"`
	Stddev decimal `json:"stddev"`
	Min    uint64  `json:"min"`
	P50    uint64  `json:"p50"`
	P90    uint64  `json:"p90"`
	P99    uint64  `json:"p99"`
	P999   uint64  `json:"p999"`
	Max    uint64  `json:"max"`
	Series series  `json:"series"`
}

// NewRecorder makes one for so many samples; more may come.
func NewRecorder(expected uint64) *Recorder {
	batch := uint64(1)
	if expected > keptSamples {
		batch = divCeil(expected, keptBatches)
	}
	return &Recorder{
		counts: make([]uint64, slot(longest)+1),
		least:  math.MaxUint64,
		series: series{Batch: batch, Sums: make([]uint64, 0, divCeil(expected, batch))},
	}
}

// slot is the place of a time in the histogram: by itself below 2^11, then by its first 11 bits.
func slot(ns uint64) int {
	shift := max(bits.Len64(ns)-precision, 0)
	return shift<<(precision-1) + int(ns>>shift)
}

// highest is the longest time that has its place there.
func highest(slot int) uint64 {
	const half = 1 << (precision - 1)
	shift := max(slot/half-1, 0)
	return uint64(slot-shift*half+1)<<shift - 1
}

// Record takes one sample.
func (r *Recorder) Record(sample time.Duration) {
	ns := uint64(max(sample, 0))
	r.counts[slot(min(ns, longest))]++
	r.count++
	var carry uint64
	r.sum[0], carry = bits.Add64(r.sum[0], ns, 0)
	r.sum[1] += carry
	high, low := bits.Mul64(ns, ns)
	r.squares[0], carry = bits.Add64(r.squares[0], low, 0)
	r.squares[1] += high + carry
	r.least, r.most = min(r.least, ns), max(r.most, ns)
	if r.filled == 0 || r.filled == r.series.Batch {
		r.series.Sums = append(r.series.Sums, ns)
		r.filled = 0
	} else {
		last := len(r.series.Sums) - 1
		r.series.Sums[last] = satAdd(r.series.Sums[last], ns)
	}
	r.filled++
}

// percentile is exact to three significant figures.
func (r *Recorder) percentile(q float64) uint64 {
	wanted := max(uint64(math.Ceil(q*float64(r.count))), 1)
	seen := uint64(0)
	for slot, count := range r.counts {
		if seen += count; seen >= wanted {
			return min(max(highest(slot), r.least), r.most)
		}
	}
	return r.most
}

// summary is what the samples come to; nil where there are none.
func (r *Recorder) summary() *summary {
	if r.count == 0 {
		return nil
	}
	n := new(big.Int).SetUint64(r.count)
	sum, squares := wide(r.sum), wide(r.squares)
	mean, _ := new(big.Rat).SetFrac(sum, n).Float64()
	// Population standard deviation, sqrt(n Σx² - (Σx)²) / n: in whole numbers the difference loses nothing.
	difference := new(big.Int).Sub(new(big.Int).Mul(n, squares), new(big.Int).Mul(sum, sum))
	spread, _ := new(big.Float).SetInt(difference).Float64()
	return &summary{
		Count:  r.count,
		Mean:   decimal(mean),
		Stddev: decimal(math.Sqrt(spread) / float64(r.count)),
		Min:    r.least,
		P50:    r.percentile(0.5),
		P90:    r.percentile(0.9),
		P99:    r.percentile(0.99),
		P999:   r.percentile(0.999),
		Max:    r.most,
		Series: r.series,
	}
}

func wide(words [2]uint64) *big.Int {
	high := new(big.Int).SetUint64(words[1])
	return high.Lsh(high, 64).Or(high, new(big.Int).SetUint64(words[0]))
}

// drift is the last third's mean over the first third's, less one, and whether the difference is within three
// standard errors, which are those of batch means; false where there is too little to tell.
func (s *summary) drift() (relative float64, isSteady, isKnown bool) {
	// A last batch that is not full would weigh like a full one.
	full := int(s.Count / s.Series.Batch)
	var values []float64
	for _, sum := range s.Series.Sums[:full] {
		values = append(values, float64(sum)/float64(s.Series.Batch))
	}
	third := len(values) / 3
	if third < 3 {
		return 0, false, false
	}
	first, firstError := meanAndError(batchMeans(values[:third]))
	last, lastError := meanAndError(batchMeans(values[len(values)-third:]))
	steady := math.Abs(last-first) <= 3*math.Hypot(firstError, lastError)
	return last/first - 1, steady, true
}

// batchMeans are the means of ten batches: neighbouring samples are alike, and these are more nearly
// independent.
func batchMeans(values []float64) []float64 {
	size := (len(values) + 9) / 10
	var means []float64
	for begin := 0; begin < len(values); begin += size {
		batch := values[begin:min(begin+size, len(values))]
		mean, _ := meanAndError(batch)
		means = append(means, mean)
	}
	return means
}

func meanAndError(values []float64) (mean, standardError float64) {
	n := float64(len(values))
	for _, value := range values {
		mean += value / n
	}
	variance := 0.0
	for _, value := range values {
		variance += (value - mean) * (value - mean) / (n - 1)
	}
	return mean, math.Sqrt(variance / n)
}
