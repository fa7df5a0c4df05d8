package process

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// CPU returns the CPU time that the process has used since its start, in the
// kernel too, of threads that have ended too. It is the scheduler's own sum in
// nanoseconds: the clock of a process that POSIX has in clock_getcpuclockid.
// /proc/PID/stat counts in hundredths of a second, /proc/PID/schedstat holds the
// first thread alone.
func (p *Process) CPU() (time.Duration, error) {
	// The number of the clock is ^PID in the upper bits, and 2, the scheduler's
	// clock, in the lower three (linux/posix-timers_types.h).
	clock := int32(^p.PID()<<3 | 2)
	var t unix.Timespec
	if err := unix.ClockGettime(clock, &t); err != nil {
		return 0, fmt.Errorf("read the CPU clock of process %d: %w", p.PID(), err)
	}
	return time.Duration(t.Nano()), nil
}

// Memory returns how many bytes of the machine's memory the process holds now,
// and the most that it has held.
func (p *Process) Memory() (now, most int64, err error) {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", p.PID()))
	if err != nil {
		return 0, 0, err
	}
	for line := range strings.Lines(string(text)) {
		field := strings.Fields(line)
		if len(field) != 3 || field[2] != "kB" {
			continue
		}
		n, err := strconv.ParseInt(field[1], 10, 64)
		if err != nil {
			continue
		}
		switch field[0] {
		case "VmRSS:":
			now = n << 10
		case "VmHWM:":
			most = n << 10
		}
	}
	if now == 0 {
		return 0, 0, errors.New("no VmRSS in the status of the process")
	}
	return now, most, nil
}

// CPUs returns the CPUs that this process may use.
func CPUs() []int {
	var set unix.CPUSet
	if unix.SchedGetaffinity(0, &set) != nil {
		return nil
	}
	var cpus []int
	for cpu := range len(set) * 64 {
		if set.IsSet(cpu) {
			cpus = append(cpus, cpu)
		}
	}
	return cpus
}

// pinThread keeps the calling thread on one CPU, with the threads and processes
// that it starts.
func pinThread(cpu int) error {
	var set unix.CPUSet
	set.Set(cpu)
	return unix.SchedSetaffinity(0, &set)
}

// PinSelf starts this program anew on one CPU, in place of itself; env, KEY=VALUE,
// tells the new one that it is. It returns only where that fails.
func PinSelf(cpu int, env string) error {
	runtime.LockOSThread()
	if err := pinThread(cpu); err != nil {
		return err
	}
	return unix.Exec("/proc/self/exe", os.Args, append(os.Environ(), env))
}

// startOn starts cmd on one CPU, or anywhere with cpu < 0.
func startOn(cpu int, cmd *exec.Cmd) error {
	if cpu < 0 {
		return cmd.Start()
	}
	failed := make(chan error)
	go func() {
		// The thread that is locked here ends with the goroutine, and its
		// affinity with it.
		runtime.LockOSThread()
		if err := pinThread(cpu); err != nil {
			failed <- err
			return
		}
		failed <- cmd.Start()
	}()
	return <-failed
}
