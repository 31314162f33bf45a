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
	"os"
	"syscall"

	"switchcost/contract"
)

// The driver sends all tokens before it takes the first one back, and a pipe holds 64 KiB.
var brigade = contract.NewBrigade(1 << 16)

func main() { contract.Main("goroutine-brigade", 500, describe, measure) }

func describe(d *contract.Description) error {
	tokens := uint64(brigade.Tokens())
	d.Bytes = tokens
	// A goroutine with its results, and a link that has carried a byte: files, inode, a page.
	const goroutine, link = 6 << 10, 12 << 10
	d.Need("descriptors", 2, 2)
	d.Need("bytes", link+2*tokens, goroutine+link)
	return brigade.Describe(d)
}

func measure(run *contract.Run) error { return brigade.Measure(run, build) }

// build makes the links and the tasks between them.
func build(tasks uint64, chain *contract.Chain) (contract.Driver, error) {
	d := &driver{tasks: byte(tasks), received: make([]byte, brigade.Tokens()*brigade.Trips())}
	for k := range tasks + 1 {
		var ends [2]int
		if err := syscall.Pipe2(ends[:], syscall.O_CLOEXEC|syscall.O_NONBLOCK); err != nil {
			return nil, fmt.Errorf("cannot make a pipe: %w: lower --tasks, or see `switchcost limits "+
				"goroutine-brigade --tasks %d`", err, tasks)
		}
		from, to := d.last, os.NewFile(uintptr(ends[1]), "pipe")
		d.last = os.NewFile(uintptr(ends[0]), "pipe")
		if k == 0 {
			d.first = to
		} else {
			chain.Go(func() (uint64, error) { return passOn(from, to) })
		}
	}
	return d, nil
}

// passOn is a task of the chain: takes a token, adds one to it, hands it on, until the end of file.
func passOn(from, to *os.File) (passed uint64, err error) {
	defer from.Close()
	defer to.Close()
	token := make([]byte, 1)
	for {
		if _, err := from.Read(token); errors.Is(err, io.EOF) {
			return passed, nil
		} else if err != nil {
			return passed, err
		}
		token[0]++
		if _, err := to.Write(token); err != nil {
			return passed, err
		}
		passed++
	}
}

// driver has the ends of a chain.
type driver struct {
	first, last *os.File
	tasks       byte
	received    []byte
}

// MakeTrips sends the tokens in and takes them out, one round trip after the other.
func (d *driver) MakeTrips(iteration uint64) error {
	token, tokens := make([]byte, 1), brigade.Tokens()
	for trip := 0; trip < len(d.received); trip += tokens {
		for k := range tokens {
			token[0] = byte(int(iteration) + trip + k)
			if _, err := d.first.Write(token); err != nil {
				return err
			}
		}
		for k := range tokens {
			if _, err := d.last.Read(d.received[trip+k : trip+k+1]); err != nil {
				return fmt.Errorf("%w: %w", contract.ErrEnded, err)
			}
		}
	}
	return nil
}

// Verify checks the bytes that came out.
func (d *driver) Verify(iteration uint64) error {
	return contract.CheckTokens(d.received, byte(iteration), d.tasks)
}

// Close closes the driver's ends: the end of file runs along the chain.
func (d *driver) Close() {
	d.first.Close()
	d.last.Close()
}
