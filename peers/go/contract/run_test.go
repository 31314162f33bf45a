package contract

import "testing"

func TestSummary(t *testing.T) {
	// The usual example of a standard deviation that is whole; percentiles by nearest rank, counted by hand.
	expected := distribution{Count: 8, Mean: 5, Stddev: 2, Min: 2, P50: 4, P90: 9, P99: 9, Max: 9}
	if found := summary([]uint64{9, 2, 4, 5, 4, 5, 7, 4}); found != expected {
		t.Errorf("found %+v, expected %+v", found, expected)
	}
}
