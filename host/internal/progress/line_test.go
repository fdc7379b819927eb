package progress

import (
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/stretchr/testify/assert"
)

func TestRenderAlignsTheLines(t *testing.T) {
	t.Parallel()
	lines := []Line{
		{Name: "first", Status: Done, Fraction: 1, Right: []string{"2 VUs", "00m00.1s/10m0s", "4/4 shared iters"}},
		{Name: "x", Status: Waiting, Right: []string{"waiting 1.0s"}},
	}
	assert.Equal(t, strings.Join([]string{
		"first ✓ [ 100% ] 2 VUs         00m00.1s/10m0s  4/4 shared iters",
		"x     • [   0% ] waiting 1.0s",
		"",
	}, "\n"), Render(lines, false, 0))
	assert.Contains(t, Render(lines[:1], false, 0), "first ✓ [ 100% ] 2 VUs  00m00.1s/10m0s  4/4 shared iters\n")
}

func TestRenderKeepsToTheWidth(t *testing.T) {
	t.Parallel()
	text := Render([]Line{{Name: "name", Status: Running, Fraction: 0.5, Right: []string{"2 VUs", "10s"}}}, true, 30)
	assert.Equal(t, 31, utf8.RuneCountInString(text), "30 cells and the end of the line")
}

func TestBarsNeverLeaveTheirWidth(t *testing.T) {
	t.Parallel()
	for _, f := range []float64{-1, 0, 0.01, 0.5, 0.999, 1, 7} {
		line := Line{Status: Running, Fraction: f}.text(0, nil, true)
		assert.Len(t, line, len("   ")+barWidth+len("[]"), "%v", f)
	}
	assert.Contains(t, bar(0.5), "  50% ")
	assert.Contains(t, Line{Status: Running, Fraction: 0.999}.text(0, nil, false), "[  99% ]", "not done is never 100%")
}

func TestClock(t *testing.T) {
	t.Parallel()
	assert.Equal(t, "00m00.1s", Clock(123*time.Millisecond, 10*time.Minute))
	assert.Equal(t, "1h02m03.4s", Clock(time.Hour+2*time.Minute+3490*time.Millisecond, 0))
	assert.Equal(t, "0h00m01.0s", Clock(time.Second, 2*time.Hour))
	assert.Equal(t, "01.5s", Clock(1500*time.Millisecond, 30*time.Second))
	assert.Equal(t, "1.5s", Clock(1500*time.Millisecond, 2*time.Second))
	assert.Equal(t, "00m01.5s", RunClock(1500*time.Millisecond, 2*time.Second))
	assert.Equal(t, "0.0s", Clock(-time.Second, 0))
	assert.Equal(t, "03", Count(3, 10))
}
