package harness

import (
	"errors"
	"fmt"
)

// Payload is the size of a token, and the bytes that it is made of: a window on a sequence in which each byte
// tells its place, so that what is lost, doubled or swapped on the way is seen. Byte 0 is the token's number,
// to which each task adds one.
type Payload struct {
	bytes    *uint64
	sequence []byte
}

// PayloadFlag adds --bytes.
func (s *Session) PayloadFlag(help string) *Payload {
	return &Payload{bytes: s.Flags.Bytes("bytes", help, "1", func(size uint64) error {
		switch {
		case size == 0:
			return errors.New("a token of no bytes says nothing")
		case size > 1<<30:
			return errors.New("at most 1 GiB")
		}
		return nil
	})}
}

// Size is how many bytes a token has.
func (p *Payload) Size() uint64 { return *p.bytes }

// Of is how many bytes so many tokens have.
func (p *Payload) Of(tokens uint64) uint64 { return satMul(tokens, *p.bytes) }

// Make makes the sequence: P[j] = (j + H(j / 256)) mod 256, where H is the top byte of j / 256 times 2654435761.
func (p *Payload) Make() {
	p.sequence = make([]byte, 255+*p.bytes)
	for j := range p.sequence {
		p.sequence[j] = byte(uint32(j) + uint32(j>>8)*2654435761>>24)
	}
}

// Token is the token of a number as it sets out.
func (p *Payload) Token(number byte) []byte {
	return p.sequence[number : uint64(number)+*p.bytes]
}

// Verify checks every byte of token k, which set out with a number and was passed on by so many tasks.
func (p *Payload) Verify(k uint64, token []byte, number byte, tasks uint64) error {
	expected := p.Token(number)
	if wanted := expected[0] + byte(tasks); token[0] != wanted {
		return fmt.Errorf("token %d came out as %d, expected %d: it did not visit each of the %d tasks once",
			k, token[0], wanted, tasks)
	}
	for j := 1; j < len(token); j++ {
		if token[j] != expected[j] {
			return fmt.Errorf("byte %d of token %d came out as %d, expected %d: bytes were lost, doubled or swapped on the way",
				j, k, token[j], expected[j])
		}
	}
	return nil
}

// Demand is the memory of tokens that each have a buffer of their own, and of the sequence.
func (p *Payload) Demand(tokens uint64) Demand {
	need := heapNeed(satAdd(satMul(tokens, *p.bytes+24), 255+*p.bytes))
	flag := "--tokens"
	if *p.bytes > 64 {
		flag = "--bytes"
	}
	return DemandOfFlag(flag, need, Need{})
}
