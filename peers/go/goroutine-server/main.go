// Serves the tasks of `sparse-arrivals --server goroutine-server`, whose header says what is counted. A goroutine reads
// a byte for each task from standard input, and starts another one, which reads the clock, multiplies, and reads the
// clock. What they did stands in memory that both processes have (more/sparse-arrivals/src/window.rs).
//
// Not to be taken for goroutines that another one starts on its own thread: here each arrival comes from outside.
package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"runtime"
	"strings"
	"sync/atomic"
	"syscall"
	"unsafe"
)

// record is what a task did, in ns since the epoch.
type record struct {
	started, ended, product uint64
}

// window is what all tasks share.
type window struct {
	// ended is how many tasks have, in a cache line of its own before the records.
	ended   *atomic.Uint64
	records []record
	// work is how many multiplications a task makes.
	work int
	// epoch is a time by CLOCK_MONOTONIC, which two processes have in common, in ns.
	epoch int64
}

const cacheLine = 64

func main() {
	if len(os.Args) == 2 && os.Args[1] == "--runtime" {
		fmt.Println("go goroutines", runtime.Version())
		return
	}
	if err := serve(); err != nil {
		fmt.Fprintln(os.Stderr, "goroutine-server:", err)
		os.Exit(1)
	}
}

// serve says that it is ready, and starts tasks until the end of file.
func serve() error {
	var memory, workers, tasks, work int
	var epoch int64
	words := strings.Join(os.Args[1:], " ")
	if _, err := fmt.Sscan(words, &memory, &workers, &tasks, &work, &epoch); err != nil {
		return errors.New("no program by itself: sparse-arrivals --server starts it")
	}
	// A terminal sends signals to it too; it ends when sparse-arrivals does.
	signal.Ignore(syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP)
	runtime.GOMAXPROCS(workers)
	size := cacheLine + tasks*int(unsafe.Sizeof(record{}))
	bytes, err := syscall.Mmap(memory, 0, size, syscall.PROT_READ|syscall.PROT_WRITE, syscall.MAP_SHARED)
	if err != nil {
		return fmt.Errorf("cannot map the memory of the tasks: %w", err)
	}
	w := window{
		ended:   (*atomic.Uint64)(unsafe.Pointer(&bytes[0])),
		records: unsafe.Slice((*record)(unsafe.Pointer(&bytes[cacheLine])), tasks),
		work:    work,
		epoch:   epoch,
	}
	// A read is awaited by the runtime's event loop: in read(2) itself a thread would keep its worker.
	if err := syscall.SetNonblock(0, true); err != nil {
		return err
	}
	pipe, arrivals, place := os.NewFile(0, "pipe"), make([]byte, 4096), 0
	if _, err := os.Stdout.Write([]byte{1}); err != nil {
		return err
	}
	for {
		count, err := pipe.Read(arrivals)
		if errors.Is(err, io.EOF) {
			return nil
		} else if err != nil {
			return err
		}
		for range count {
			go w.run(place)
			place = (place + 1) % tasks
		}
	}
}

// run is a task.
func (w *window) run(place int) {
	started := nanotime()
	product := multiply(w.work)
	ended := nanotime()
	w.records[place] = record{uint64(started - w.epoch), uint64(ended - w.epoch), product}
	w.ended.Add(1)
}

// multiply takes as long as the loop in Rust that sparse-arrivals has calibrated.
func multiply(times int) uint64 {
	x := uint64(3)
	for range times {
		x = x*x + 5
	}
	return x
}

// nanotime is CLOCK_MONOTONIC in ns.
//
//go:linkname nanotime runtime.nanotime
func nanotime() int64
