package cliclient

import (
	"os"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestParseHighWater(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name, status string
		want         int64
	}{
		{"as the kernel writes it", "Name:\tomnigraph\nVmPeak:\t  9000 kB\nVmHWM:\t   27648 kB\nVmRSS:\t   100 kB\n", 27648 * 1024},
		{"last line, cut off", "Name:\tx\nVmHWM:\t12 kB", 12 * 1024},
		{"zombie", "Name:\tomnigraph\nState:\tZ (zombie)\n", 0},
		{"empty", "", 0},
		{"other unit", "a\nVmHWM:\t12 MB\n", 0},
		{"no number", "a\nVmHWM:\tx kB\n", 0},
		{"negative", "a\nVmHWM:\t-1 kB\n", 0},
		{"overflow", "a\nVmHWM:\t9223372036854775807 kB\n", 0},
		{"name that looks like it", "Name:\tVmHWM: 5 kB\n", 0},
	}
	for _, test := range tests {
		require.Equal(t, test.want, parseHighWater([]byte(test.status)), test.name)
	}
}

func FuzzParseHighWater(f *testing.F) {
	f.Add([]byte("Name:\tx\nVmHWM:\t12 kB\n"))
	f.Add([]byte("\nVmHWM:"))
	f.Fuzz(func(t *testing.T, status []byte) {
		if n := parseHighWater(status); n < 0 || n%1024 != 0 {
			t.Fatalf("%d from %q", n, status)
		}
	})
}

func TestPeakOfThisProcess(t *testing.T) {
	t.Parallel()
	p := openPeak(os.Getpid())
	require.Positive(t, p.read())
	p.close()
	require.Zero(t, p.read())
	p.close()

	gone := openPeak(1 << 30)
	require.Zero(t, gone.read())
	gone.close()
}
