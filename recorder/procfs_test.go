package recorder

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
)

func TestProcFilesAreParsed(t *testing.T) {
	cpu, ok := parseStat([]byte("cpu  100 1 50 800 20 5 4 20 7 0\ncpu0 1 2 3 4\n"))
	assert.True(t, ok)
	assert.Equal(t, cpuTimes{busy: 180, total: 1000}, cpu)
	share, ok := cpuTimes{busy: 280, total: 1200}.busySince(cpu)
	assert.True(t, ok)
	assert.InDelta(t, 0.5, share, 1e-12)
	_, ok = cpu.busySince(cpu)
	assert.False(t, ok, "no time passed")

	took, ok := parseProcessStat([]byte("12 (a) b (c)) S 1 1 1 0 -1 4 1 0 0 0 150 50 9 9 20 0"))
	assert.True(t, ok)
	assert.Equal(t, 2*time.Second, took)
	assert.EqualValues(t, 2048*1024, parseKilobytes([]byte("Name:\tk6\nVmHWM:\t    2048 kB\n"), "VmHWM"))
	assert.Equal(t, 1024, parseFDLimit([]byte("Limit  Soft\nMax open files            1024                 4096                 files\n")))
	assert.Zero(t, parseFDLimit([]byte("Max open files            unlimited            unlimited            files\n")))
	assert.Equal(t, "AMD EPYC", parseCPUModel([]byte("processor\t: 0\nmodel name\t: AMD EPYC\n")))
}

func FuzzProcFiles(f *testing.F) {
	for _, seed := range []string{"cpu  1 2 3 4 5\n", "1 (x) S 1", "VmHWM:", "Max open files", "model name:", "cpu x", ")"} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(_ *testing.T, data []byte) {
		parseStat(data)
		parseProcessStat(data)
		parseKilobytes(data, "VmHWM")
		parseFDLimit(data)
		parseCPUModel(data)
	})
}
