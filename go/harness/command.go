package harness

import (
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"unsafe"
)

// runCommand runs the user's --command and waits for it; a signal to this process ends it as well. It runs under
// the scheduling policy that this program was started with.
func runCommand(line, format string, before *scheduling) error {
	line = strings.ReplaceAll(line, "{pid}", strconv.Itoa(os.Getpid()))
	shell, err := exec.LookPath("sh")
	if err != nil {
		return fmt.Errorf("--command: cannot run sh: %w", err)
	}
	output := uintptr(1)
	if format == "json" {
		output = 2
	}
	// Somebody at a terminal may want to type into what they run.
	isOwnGroup := !isTerminal(0)
	// The thread that starts it must stay, since its end would be the command's (PR_SET_PDEATHSIG).
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	attr := syscall.ProcAttr{
		Env:   os.Environ(),
		Files: []uintptr{0, output, 2},
		Sys:   &syscall.SysProcAttr{Setpgid: isOwnGroup, Pdeathsig: syscall.SIGKILL},
	}
	pid, err := startUnder(before, shell, line, &attr)
	if err != nil {
		return fmt.Errorf("--command: cannot run sh: %s", errnoText(err))
	}
	target := int32(pid)
	if isOwnGroup {
		target = -target
	}
	child.Store(target)
	// The signal may have come while the child was being started.
	if taken.Load() != 0 {
		stop(target, syscall.SIGTERM)
	}
	awaitEnd(pid)
	child.Store(0)
	var status syscall.WaitStatus
	for {
		if _, err = syscall.Wait4(pid, &status, 0, nil); err != syscall.EINTR {
			break
		}
	}
	switch {
	case err != nil:
		return fmt.Errorf("--command: cannot wait for it: %s", errnoText(err))
	case status.ExitStatus() == 0:
		return nil
	case taken.Load() != 0:
		return fmt.Errorf("--command was interrupted: %s", line)
	case status.Signaled():
		return fmt.Errorf("--command ended with signal: %d (%s): %s", int(status.Signal()), signalName(status.Signal()), line)
	default:
		return fmt.Errorf("--command ended with exit status: %d: %s", status.ExitStatus(), line)
	}
}

func signalName(number syscall.Signal) string {
	known := map[syscall.Signal]string{
		syscall.SIGHUP: "SIGHUP", syscall.SIGINT: "SIGINT", syscall.SIGQUIT: "SIGQUIT", syscall.SIGABRT: "SIGABRT",
		syscall.SIGKILL: "SIGKILL", syscall.SIGSEGV: "SIGSEGV", syscall.SIGPIPE: "SIGPIPE", syscall.SIGTERM: "SIGTERM",
	}
	if name := known[number]; name != "" {
		return name
	}
	return number.String()
}

// startUnder starts the shell with a line, and with SIGPIPE as a program expects it: what is ignored here would be
// ignored there. Where it is to be under another policy, it waits until it is.
func startUnder(before *scheduling, shell, line string, attr *syscall.ProcAttr) (int, error) {
	pipe := make(chan os.Signal, 1)
	signal.Notify(pipe, syscall.SIGPIPE)
	defer signal.Ignore(syscall.SIGPIPE)
	if before == nil {
		return syscall.ForkExec(shell, []string{"sh", "-c", line}, attr)
	}
	var ends [2]int
	if err := syscall.Pipe2(ends[:], syscall.O_CLOEXEC); err != nil {
		return 0, err
	}
	// The end of file tells it to go on.
	defer syscall.Close(ends[1])
	defer syscall.Close(ends[0])
	attr.Files = append(attr.Files, uintptr(ends[0]))
	wait := `read -r go <&3; exec sh -c "$1" 3<&-`
	pid, err := syscall.ForkExec(shell, []string{"sh", "-c", wait, "sh", line}, attr)
	if err != nil {
		return 0, err
	}
	if err := before.applyTo(pid); err != nil {
		stop(int32(pid), syscall.SIGKILL)
		_, _ = syscall.Wait4(pid, nil, 0, nil)
		return 0, err
	}
	return pid, nil
}

// awaitEnd waits for the end of a child without taking its status: until that is taken, its number is nobody
// else's, and nothing is sent to it afterwards.
func awaitEnd(pid int) {
	const isPid, exited, noWait = 1, 4, 0x01000000
	for {
		_, _, errno := syscall.Syscall6(syscall.SYS_WAITID, isPid, uintptr(pid), 0, exited|noWait, 0, 0)
		if errno != syscall.EINTR {
			return
		}
	}
}

func isTerminal(fd int) bool {
	var settings [256]byte
	_, _, errno := syscall.Syscall(syscall.SYS_IOCTL, uintptr(fd), syscall.TCGETS, uintptr(unsafe.Pointer(&settings)))
	return errno == 0
}
