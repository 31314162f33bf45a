package main

import "testing"

// The same as of sparse-arrivals: none grows, nor one in a hundred; one in five does.
func TestBacklogGrows(t *testing.T) {
	due, ends := make([]int64, 8000), make([]int64, 8000)
	for each, expected := range map[int64]int{40_000: 0, 40_400: 0, 50_000: 1601} {
		for k := range due {
			due[k], ends[k] = int64(k)*40_000, int64(k)*each+20_000
		}
		if backlog := growingBacklog(due, ends); backlog != expected {
			t.Errorf("%d: %d, expected %d", each, backlog, expected)
		}
	}
	if backlog := growingBacklog(due[:enough-1], ends[:enough-1]); backlog != 0 {
		t.Errorf("%d of too few", backlog)
	}
}
