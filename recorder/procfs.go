package recorder

import (
	"bufio"
	"bytes"
	"os"
	"runtime"
	"strconv"
	"strings"
	"time"
)

// clockTick is the unit of the times in /proc, 1/100 s on every Linux that Go runs on.
const clockTick = 10 * time.Millisecond

// cpuTimes are the machine's CPU times since boot, in ticks.
type cpuTimes struct{ busy, total uint64 }

// busySince is the busy share of the time between two readings; false if no time passed.
func (c cpuTimes) busySince(before cpuTimes) (float64, bool) {
	if c.total <= before.total || c.busy < before.busy {
		return 0, false
	}
	return float64(c.busy-before.busy) / float64(c.total-before.total), true
}

// machineCPU reads the first line of /proc/stat; false where there is none.
func machineCPU() (cpuTimes, bool) {
	data, err := os.ReadFile("/proc/stat")
	if err != nil {
		return cpuTimes{}, false
	}
	return parseStat(data)
}

// parseStat takes "cpu user nice system idle iowait irq softirq steal guest guest_nice". Guest time is in user time
// already; waiting for disks is idle, stolen time is not ours but not free either.
func parseStat(data []byte) (cpuTimes, bool) {
	line, _, _ := bytes.Cut(data, []byte("\n"))
	fields := strings.Fields(string(line))
	if len(fields) < 5 || fields[0] != "cpu" {
		return cpuTimes{}, false
	}
	var c cpuTimes
	for i, f := range fields[1:min(len(fields), 9)] {
		v, err := strconv.ParseUint(f, 10, 64)
		if err != nil {
			return cpuTimes{}, false
		}
		c.total += v
		if i != 3 && i != 4 {
			c.busy += v
		}
	}
	return c, true
}

// processCPU is this process's own user and system time; false where /proc does not tell.
func processCPU() (time.Duration, bool) {
	data, err := os.ReadFile("/proc/self/stat")
	if err != nil {
		return 0, false
	}
	return parseProcessStat(data)
}

// parseProcessStat counts fields after the command's name, which may itself hold spaces and parentheses.
func parseProcessStat(data []byte) (time.Duration, bool) {
	end := bytes.LastIndexByte(data, ')')
	if end < 0 {
		return 0, false
	}
	fields := strings.Fields(string(data[end+1:]))
	const utime, stime = 11, 12
	if len(fields) <= stime {
		return 0, false
	}
	user, err1 := strconv.ParseInt(fields[utime], 10, 64)
	system, err2 := strconv.ParseInt(fields[stime], 10, 64)
	if err1 != nil || err2 != nil {
		return 0, false
	}
	return time.Duration(user+system) * clockTick, true
}

// peakRSS is the most memory this process had, 0 if not known.
func peakRSS() uint64 {
	data, err := os.ReadFile("/proc/self/status")
	if err != nil {
		return 0
	}
	return parseKilobytes(data, "VmHWM")
}

// parseKilobytes takes a line such as "VmHWM:   1234 kB".
func parseKilobytes(data []byte, name string) uint64 {
	for line := range strings.Lines(string(data)) {
		key, value, ok := strings.Cut(line, ":")
		if !ok || key != name {
			continue
		}
		fields := strings.Fields(value)
		if len(fields) == 0 {
			return 0
		}
		kb, err := strconv.ParseUint(fields[0], 10, 54)
		if err != nil {
			return 0
		}
		return kb * 1024
	}
	return 0
}

// openFDs counts this process's open file descriptors, 0 if not known.
func openFDs() int {
	dir, err := os.Open("/proc/self/fd")
	if err != nil {
		return 0
	}
	names, err := dir.Readdirnames(-1)
	if closeErr := dir.Close(); err != nil || closeErr != nil || len(names) == 0 {
		return 0
	}
	return len(names) - 1 // without the one that reads the folder
}

// fdLimit is the soft limit of open files, 0 if not known or unlimited.
func fdLimit() int {
	data, err := os.ReadFile("/proc/self/limits")
	if err != nil {
		return 0
	}
	return parseFDLimit(data)
}

func parseFDLimit(data []byte) int {
	for line := range strings.Lines(string(data)) {
		rest, ok := strings.CutPrefix(line, "Max open files")
		if !ok {
			continue
		}
		fields := strings.Fields(rest)
		if len(fields) == 0 {
			return 0
		}
		n, err := strconv.Atoi(fields[0])
		if err != nil || n < 0 {
			return 0
		}
		return n
	}
	return 0
}

// thisMachine describes the machine; what can't be read stays empty.
func thisMachine() Machine {
	m := Machine{CPUs: runtime.NumCPU(), OS: runtime.GOOS, Arch: runtime.GOARCH}
	if data, err := os.ReadFile("/proc/cpuinfo"); err == nil {
		m.CPUModel = parseCPUModel(data)
	}
	if data, err := os.ReadFile("/proc/meminfo"); err == nil {
		m.MemoryBytes = parseKilobytes(data, "MemTotal")
	}
	if data, err := os.ReadFile("/proc/sys/kernel/osrelease"); err == nil {
		m.Kernel = strings.TrimSpace(string(data))
	}
	return m
}

func parseCPUModel(data []byte) string {
	lines := bufio.NewScanner(bytes.NewReader(data))
	for lines.Scan() {
		key, value, ok := strings.Cut(lines.Text(), ":")
		if ok && strings.TrimSpace(key) == "model name" {
			return strings.TrimSpace(value)
		}
	}
	return ""
}
