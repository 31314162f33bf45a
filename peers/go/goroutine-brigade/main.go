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
// With --chains C there are C such chains, each with a driver of its own, and with --trips R each makes R round
// trips in an iteration. The drivers start together; timed is from the first one's start to the last one's end.
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

	"switchcost/contract"
)

// The driver sends all tokens before it takes the first one back, and a pipe holds 64 KiB.
var tokens = contract.Number("tokens", 1, 1, 1<<16, "`K` tokens in flight at once")

var idle = contract.Number("idle", 0, 0, math.MaxInt32, "`N` further goroutines that wait on links of their own that carry no token")

var together = contract.NewTogether()

func main() { contract.Main("goroutine-brigade", 500, describe, measure) }

func describe(d *contract.Description) error {
	d.Tokens, d.Bytes, d.Hops = *tokens, *tokens, (d.Tasks+1)**tokens
	// A goroutine with its results, and a link that has carried a byte: files, inode, a page.
	const goroutine, link = 6 << 10, 12 << 10
	d.Need("descriptors", 2, 2)
	d.Need("bytes", link+2**tokens, goroutine+link)
	d.Beside(*idle)
	return together.Describe(d)
}

func measure(run *contract.Run) error {
	buildIdle := func(chain *contract.Chain) (func(), error) {
		first, last, err := build(*idle, chain)
		return func() { first.Close(); last.Close() }, err
	}
	return contract.BesideIdle(*idle, buildIdle, func() error { return brigade(run) })
}

func brigade(run *contract.Run) error {
	if !together.IsOne() {
		return together.Drive(run, func(chain *contract.Chain) (contract.ChainDriver, error) {
			first, last, err := build(run.Tasks, chain)
			return &driver{first, last, byte(run.Tasks), make([]byte, *tokens*together.Trips())}, err
		})
	}
	chain := contract.NewChain(run.Tasks)
	first, last, err := build(run.Tasks, chain)
	if err != nil {
		return err
	}
	chain.Started.Wait()
	err = drive(run, first, last)
	// The end of file runs along the chain.
	first.Close()
	last.Close()
	return chain.Result(err, run.Begun**tokens)
}

// build makes the links and the tasks between them, and returns the driver's ends.
func build(tasks uint64, chain *contract.Chain) (first, last *os.File, err error) {
	for k := range tasks + 1 {
		var ends [2]int
		if err := syscall.Pipe2(ends[:], syscall.O_CLOEXEC|syscall.O_NONBLOCK); err != nil {
			return first, last, fmt.Errorf("cannot make a pipe: %w: lower --tasks, or see `switchcost limits "+
				"goroutine-brigade --tasks %d`", err, tasks)
		}
		from, to := os.NewFile(uintptr(ends[0]), "pipe"), os.NewFile(uintptr(ends[1]), "pipe")
		if k == 0 {
			first = to
		} else {
			go passOn(last, to, chain, k-1)
		}
		last = from
	}
	return first, last, nil
}

// passOn is a task of the chain: takes a token, adds one to it, hands it on, until the end of file.
func passOn(from, to *os.File, chain *contract.Chain, place uint64) {
	passed, token := uint64(0), make([]byte, 1)
	var err error
	defer func() {
		from.Close()
		to.Close()
		chain.Ended(place, passed, err)
	}()
	chain.Started.Done()
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
			start := byte(run.Begun)

			clock := time.Now()
			for k := range *tokens {
				token[0] = start + byte(k)
				if _, err := first.Write(token); err != nil {
					return err
				}
			}
			for k := range received {
				if _, err := last.Read(received[k : k+1]); err != nil {
					return fmt.Errorf("%w: %w", contract.ErrEnded, err)
				}
			}
			run.Record(time.Since(clock))

			for k, came := range received {
				if err := contract.CheckToken(k, came, start+byte(k)+byte(run.Tasks)); err != nil {
					return err
				}
			}
		}
	}
	return run.Err
}

// driver is that of one chain among several.
type driver struct {
	first, last *os.File
	tasks       byte
	received    []byte
}

// MakeTrips sends the tokens in and takes them out, one round trip after the other.
func (d *driver) MakeTrips(iteration uint64) error {
	token := make([]byte, 1)
	for trip := uint64(0); trip < uint64(len(d.received)); trip += *tokens {
		for k := range *tokens {
			token[0] = byte(iteration + trip + k)
			if _, err := d.first.Write(token); err != nil {
				return err
			}
		}
		for k := range *tokens {
			if _, err := d.last.Read(d.received[trip+k : trip+k+1]); err != nil {
				return fmt.Errorf("%w: %w", contract.ErrEnded, err)
			}
		}
	}
	return nil
}

// Verify checks the bytes that came out.
func (d *driver) Verify(iteration uint64) error {
	for k, came := range d.received {
		if err := contract.CheckToken(k, came, byte(iteration)+byte(k)+d.tasks); err != nil {
			return err
		}
	}
	return nil
}

// Close closes the driver's ends: the end of file runs along the chain.
func (d *driver) Close() {
	d.first.Close()
	d.last.Close()
}
