// A token travels through N goroutines chained by pipes.
//
// One iteration: the driver writes a byte into the first link; each goroutine reads it, adds one, and
// writes it into the next link; the driver reads it from the last link: N + 1 hops. The driver is a
// goroutine like the others.
//
// Timed: each hop's system calls and the Go runtime's part in them: a write, two reads (the first finds
// nothing, and the goroutine is parked until epoll reports the link), and epoll_wait, which may serve
// several hops. Left out: creating and awaiting the goroutines, and the check of the bytes.
//
// Not to be taken for a switch between goroutines, which needs no system call: goroutine-mem-brigade
// measures that, and one-thread-brigade --nonblocking such system calls without tasks.
package main

import (
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"syscall"
	"time"

	"switchcost/chain"
	"switchcost/contract"
)

var (
	transport = contract.Choice("transport", "kind of the links", "pipe", "socketpair")
	tokens    = contract.Number("tokens", 1, 1, math.MaxUint32, "`K` tokens in flight at once")
	fault     = chain.FaultFlag()
)

func main() {
	contract.Main(contract.Program{
		Name: "goroutine-brigade", About: "Pass a byte through a chain of goroutines joined by pipes, and time it",
		Tasks: 500, Iters: 10000, Warmup: 100, Describe: describe, Measure: measure,
	})
}

func describe(d *contract.Description) error {
	d.Tokens, d.Bytes, d.Hops = *tokens, *tokens, (d.Tasks+1)**tokens
	// A goroutine with its results, and a link that has carried a byte: files, inode, a page.
	const goroutine, link = 6 << 10, 12 << 10
	d.Need("descriptors", 2, 2)
	d.Need("bytes", link+2**tokens, goroutine+link)
	if err := fault.Check(d.Tasks); err != nil || *tokens == 1 {
		return err
	}
	return checkRoom(d.Tasks)
}

// checkRoom checks that the tokens in flight find room, in a link or one in each task: the driver sends
// all of them before it takes the first one back.
func checkRoom(tasks uint64) error {
	ends, err := link()
	if err != nil {
		return fmt.Errorf("cannot make a link to learn what it holds: %w", err)
	}
	defer syscall.Close(ends[0])
	defer syscall.Close(ends[1])
	holds := uint64(0)
	for ; err == nil; holds++ {
		_, err = syscall.Write(ends[1], []byte{0})
	}
	if most := max(holds-1, tasks); *tokens > most {
		return fmt.Errorf("--tokens %d is more than a link holds, and than there are tasks (at most %d): lower it", *tokens, most)
	}
	return nil
}

// link has a descriptor to read from and one to write to, neither of which blocks.
func link() (ends [2]int, err error) {
	if *transport == "pipe" {
		err = syscall.Pipe2(ends[:], syscall.O_CLOEXEC|syscall.O_NONBLOCK)
		return ends, err
	}
	return syscall.Socketpair(syscall.AF_UNIX, syscall.SOCK_STREAM|syscall.SOCK_CLOEXEC|syscall.SOCK_NONBLOCK, 0)
}

func measure(run *contract.Run) error {
	tasks := chain.New(run.Tasks)
	first, last, err := build(run, tasks)
	if err == nil {
		tasks.AwaitStart()
		err = drive(run, first, last)
	}
	// The end of file runs along the chain.
	first.Close()
	last.Close()
	return tasks.Result(err, run.Begun()**tokens)
}

// build makes the links and the tasks between them, and returns the driver's ends.
func build(run *contract.Run, tasks *chain.Chain) (first, last *os.File, err error) {
	for k := range run.Tasks + 1 {
		ends, err := link()
		if err != nil {
			return first, last, fmt.Errorf("cannot make a link: %w: lower --tasks, or see `switchcost limits "+
				"goroutine-brigade --tasks %d`", err, run.Tasks)
		}
		from, to := os.NewFile(uintptr(ends[0]), *transport), os.NewFile(uintptr(ends[1]), *transport)
		switch {
		case k == 0:
			first = to
		case fault.IsOf(k - 1):
			go passOn(&faultyLink{File: last}, to, tasks.Task(k-1))
		default:
			go passOn(last, to, tasks.Task(k-1))
		}
		last = from
	}
	return first, last, nil
}

// passOn is a task of the chain: takes a token, adds one to it, hands it on, until the end of file.
func passOn(from io.ReadCloser, to *os.File, task chain.Task) {
	passed, token := uint64(0), make([]byte, 1)
	var err error
	defer func() {
		panicked := recover()
		from.Close()
		to.Close()
		task.Leave(passed, err, panicked)
	}()
	task.Started()
	for {
		if _, err = from.Read(token); err != nil {
			if errors.Is(err, io.EOF) {
				err = nil
			}
			return
		}
		token[0]++
		if _, err = to.Write(token); err != nil {
			return
		}
		passed++
	}
}

// drive sends the tokens in, takes them out, and times that.
func drive(run *contract.Run, first, last *os.File) error {
	token, received := make([]byte, 1), make([]byte, *tokens)
	for run.Next() {
		for run.Iterate() {
			start := byte(run.Iteration())

			clock := time.Now()
			for k := range *tokens {
				token[0] = start + byte(k)
				if _, err := first.Write(token); err != nil {
					return err
				}
			}
			for k := range received {
				if _, err := last.Read(received[k : k+1]); err != nil {
					return fmt.Errorf("%w: %w", chain.ErrEnded, err)
				}
			}
			run.Record(time.Since(clock))

			for k, came := range received {
				if expected := start + byte(k) + byte(run.Tasks); came != expected {
					return fmt.Errorf("token %d came out as %d, expected %d: it did not visit each task once", k, came, expected)
				}
			}
		}
	}
	return run.Err()
}

// faultyLink is one for tests.
type faultyLink struct {
	*os.File
	served int
}

func (f *faultyLink) Read(token []byte) (int, error) {
	if f.served++; f.served <= chain.ServedBefore {
		return f.File.Read(token)
	}
	if err := fault.Strike(); err != nil {
		return 0, err
	}
	n, err := f.File.Read(token)
	token[0] = ^token[0]
	return n, err
}
