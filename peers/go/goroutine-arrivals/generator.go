package main

import (
	"encoding/gob"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"os/signal"
	"runtime"
	"syscall"
	"time"
	"unsafe"
)

// generator is the process that says when a task arrives: a goroutine that spins would keep one of the runtime's
// workers, and the runtime would preempt it.
type generator struct {
	command *exec.Cmd
	// pipe has a byte for each arrival.
	pipe   *os.File
	input  io.Closer
	asked  *gob.Encoder
	answer *gob.Decoder
}

// request of arrivals, with a mean gap in ns. The generator spins between them, or else sleeps.
type request struct {
	Gap   float64
	Count int
	Spins bool
}

// arrivals are when each was due, and by how much it was late, in ns by CLOCK_MONOTONIC.
type arrivals struct {
	Due, Late []int64
}

// start starts it on a CPU, or with none on those that serve.
func start(cpus cpus) (*generator, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, fmt.Errorf("cannot find this executable: %w", err)
	}
	reader, writer, err := os.Pipe()
	if err != nil {
		return nil, fmt.Errorf("cannot make a pipe: %w", err)
	}
	defer writer.Close()
	command := exec.Command(self, "generate")
	command.ExtraFiles = []*os.File{writer}
	command.Stderr = os.Stderr
	input, err := command.StdinPipe()
	if err != nil {
		return nil, err
	}
	output, err := command.StdoutPipe()
	if err != nil {
		return nil, err
	}
	// A process begins on the CPUs of the thread that starts it.
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	if cpus.generator >= 0 {
		err = restrict([]int{cpus.generator})
	}
	if err = errors.Join(err, command.Start(), restrict(cpus.serving)); err != nil {
		return nil, fmt.Errorf("cannot start the generator: %w", err)
	}
	return &generator{command, reader, input, gob.NewEncoder(input), gob.NewDecoder(output)}, nil
}

// end ends it: at the end of its input.
func (g *generator) end() error {
	g.input.Close()
	g.pipe.Close()
	return g.command.Wait()
}

// generate is the other process: it ends with its input.
func generate() {
	// A terminal sends signals to it too; it ends when the program does.
	signal.Ignore(syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP)
	asked, answer := gob.NewDecoder(os.Stdin), gob.NewEncoder(os.Stdout)
	for {
		var r request
		if asked.Decode(&r) != nil || answer.Encode(r.arrive()) != nil {
			return
		}
	}
}

// arrive writes a byte at each arrival, with exponential gaps, until nobody reads.
func (r request) arrive() arrivals {
	came := arrivals{make([]int64, 0, r.Count), make([]int64, 0, r.Count)}
	due, arrival := float64(nanotime()), []byte{0}
	for range r.Count {
		due += r.Gap * rand.ExpFloat64()
		late := nanotime() - int64(due)
		for ; late < 0; late = nanotime() - int64(due) {
			if !r.Spins {
				time.Sleep(time.Duration(-late))
			}
		}
		if _, err := syscall.Write(3, arrival); err != nil {
			break
		}
		came.Due, came.Late = append(came.Due, int64(due)), append(came.Late, late)
	}
	return came
}

// nanotime is CLOCK_MONOTONIC, which two processes have in common, in ns.
//
//go:linkname nanotime runtime.nanotime
func nanotime() int64

// cpuSet is as large as any kernel's.
type cpuSet [128]uint64

// cpus are the generator's, which is -1 if there is only one, and those of what serves.
type cpus struct {
	generator int
	serving   []int
}

// ownCPU is the variable that tells a process, and what it executes, that this CPU is the generator's.
const ownCPU = "GENERATOR_CPU"

// allowed returns the CPUs that this process may use. The generator's is the last of several.
func allowed() (cpus, error) {
	var set cpuSet
	_, _, errno := syscall.RawSyscall(syscall.SYS_SCHED_GETAFFINITY, 0, unsafe.Sizeof(set), uintptr(unsafe.Pointer(&set)))
	if errno != 0 {
		return cpus{}, fmt.Errorf("cannot read the CPU affinity: %w", errno)
	}
	c := cpus{generator: -1}
	for cpu := range len(set) * 64 {
		if set[cpu/64]>>(cpu%64)&1 == 1 {
			c.serving = append(c.serving, cpu)
		}
	}
	if _, err := fmt.Sscan(os.Getenv(ownCPU), &c.generator); err != nil && len(c.serving) > 1 {
		last := len(c.serving) - 1
		c.generator, c.serving = c.serving[last], c.serving[:last]
	}
	return c, nil
}

// keepOff keeps all threads of the process off the generator's CPU. It executes itself anew, since the runtime has
// started threads already, and new ones are made by any of them.
func (c cpus) keepOff() error {
	if c.generator < 0 || os.Getenv(ownCPU) != "" {
		return nil
	}
	runtime.LockOSThread()
	self, err := os.Executable()
	if err = errors.Join(err, restrict(c.serving)); err != nil {
		return err
	}
	os.Setenv(ownCPU, fmt.Sprint(c.generator))
	os.Setenv("GOMAXPROCS", fmt.Sprint(runtime.GOMAXPROCS(0)))
	return fmt.Errorf("cannot execute %s anew: %w", self, syscall.Exec(self, os.Args, os.Environ()))
}

// restrict restricts this thread to CPUs.
func restrict(cpus []int) error {
	var set cpuSet
	for _, cpu := range cpus {
		set[cpu/64] |= 1 << (cpu % 64)
	}
	_, _, errno := syscall.RawSyscall(
		syscall.SYS_SCHED_SETAFFINITY, 0, unsafe.Sizeof(set), uintptr(unsafe.Pointer(&set)))
	if errno != 0 {
		return fmt.Errorf("cannot restrict a thread to the CPUs %v: %w", cpus, errno)
	}
	return nil
}
