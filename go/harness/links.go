package harness

import (
	"errors"
	"fmt"
	"math"
	"os"
	"syscall"
)

// Link is a pair of descriptors that carries bytes. Both do not block: the runtime waits for them by epoll, and a
// goroutine that waits takes no thread.
type Link struct {
	Reader, Writer *os.File
}

// Links makes those of a chain.
type Links struct {
	transport *string
	tokens    *uint64
	payload   *Payload
	// sizes is how many pipes hold how many bytes.
	sizes map[uint64]uint64
}

// LinksFlags adds the flags of a chain over descriptors.
func (s *Session) LinksFlags() *Links {
	return &Links{
		transport: s.Flags.Choice("transport", "What a link is made of", "pipe", []Choice{
			{"pipe", "pipe(2)"},
			{"socketpair", "a connected pair of Unix stream sockets"},
		}),
		tokens: s.Flags.Number("tokens", "K", "How many tokens are in flight at once", "1", 1, math.MaxUint32),
		payload: s.PayloadFlag("The size of a token. Each task reads all of it before it writes any: part by part where a " +
			"link holds less"),
		sizes: map[uint64]uint64{},
	}
}

// Tokens is how many are in flight.
func (l *Links) Tokens() uint64 { return *l.tokens }

// Payload is the size of a token.
func (l *Links) Payload() *Payload { return l.payload }

// Demand is what N + 1 links need, each end of which is watched by epoll. A link that has carried a byte has two
// open files, an inode, and a page of buffer; and what the runtime knows of its ends.
func (l *Links) Demand() Demand {
	link := Need{Descriptors: 2, Memory: 10 << 10, AddressSpace: 2 << 10, Watches: 2}
	if *l.transport == "pipe" {
		link.Pipes = 1
	}
	return Demand{Fixed: link, PerTask: link}
}

// Make makes one link. Its ends close on exec, so that no child keeps a chain open.
func (l *Links) Make() (Link, error) {
	ends, err := l.ends()
	if err != nil {
		return Link{}, err
	}
	if *l.transport == "pipe" {
		const getPipeSize = 1032
		size, _, errno := syscall.Syscall(syscall.SYS_FCNTL, uintptr(ends[1]), getPipeSize, 0)
		if errno == 0 {
			l.sizes[uint64(size)]++
		}
	}
	return Link{Reader: os.NewFile(uintptr(ends[0]), *l.transport), Writer: os.NewFile(uintptr(ends[1]), *l.transport)}, nil
}

// ends are the descriptors of a link: to read from, to write to.
func (l *Links) ends() (ends [2]int, err error) {
	if *l.transport == "pipe" {
		err = syscall.Pipe2(ends[:], syscall.O_CLOEXEC|syscall.O_NONBLOCK)
		return ends, err
	}
	return syscall.Socketpair(syscall.AF_UNIX, syscall.SOCK_STREAM|syscall.SOCK_CLOEXEC|syscall.SOCK_NONBLOCK, 0)
}

// Sizes tells the session where pipes are smaller than usual.
func (l *Links) Sizes(session *Session) { session.smallPipes(l.sizes) }

// CheckRoom checks that the tokens in flight find room: the driver sends all of them before it takes the first
// one back, and with less room it could wait for ever. They find it in a single link, or one in each task.
func (l *Links) CheckRoom(tasks uint64) error {
	if *l.tokens == 1 {
		return nil
	}
	holds, err := l.capacity()
	if err != nil {
		return err
	}
	most, roomier := max(holds, tasks), ""
	if *l.transport == "socketpair" {
		roomier = ", or use --transport pipe, which holds more"
	}
	if *l.tokens > most {
		const holds = "is more than a link holds, and than there are tasks (at most"
		if size := l.payload.Size(); size > 1 {
			return BadUsagef("--tokens %d of --bytes %d %s %d): lower either", *l.tokens, size, holds, most)
		}
		return BadUsagef("--tokens %d %s %d): lower it%s", *l.tokens, holds, most, roomier)
	}
	return nil
}

// capacity is how many tokens a link holds, found by filling one: a pipe merges them into pages, and a socket
// keeps a buffer with its own overhead for each.
func (l *Links) capacity() (uint64, error) {
	ends, err := l.ends()
	if err != nil {
		return 0, fmt.Errorf("cannot make a link to learn its capacity: %s", errnoText(err))
	}
	defer syscall.Close(ends[0])
	defer syscall.Close(ends[1])
	token := make([]byte, l.payload.Size())
	for held := uint64(0); ; held++ {
		switch n, err := syscall.Write(ends[1], token); {
		case errors.Is(err, syscall.EAGAIN) || err == nil && n < len(token):
			return held, nil
		case err != nil:
			return 0, fmt.Errorf("cannot fill a link to learn its capacity: %s", errnoText(err))
		}
	}
}

// largestBuffer is what a pipe can hold at most by default, fs.pipe-max-size.
const largestBuffer = 1 << 20

// ReadBufferFlag adds --read-buffer.
func (s *Session) ReadBufferFlag() *uint64 {
	return s.Flags.Bytes("read-buffer", "How many bytes each read asks for, a token at least. Where several tokens wait in a "+
		"link one read may take them all; each is still passed on by a write of its own. (The runtime tries to read before "+
		"it waits, whatever the read before brought: a read that comes back short saves nothing here)", "1", func(size uint64) error {
		switch {
		case size == 0:
			return errors.New("a read of no bytes takes no token")
		case size > largestBuffer:
			return fmt.Errorf("no link holds so many tokens: at most %s", formatBytes(largestBuffer))
		}
		return nil
	})
}
