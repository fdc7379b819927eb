package recorder

import (
	"context"
	"runtime"
	"runtime/metrics"
	"slices"
	"sync"
	"time"
)

const (
	tickEvery   = 20 * time.Millisecond
	sampleEvery = time.Second
	// maxCPUSamples bounds the machine's busy shares kept: an hour of seconds; longer runs are thinned.
	maxCPUSamples = 3600
)

// health watches the generator itself: a generator that is late, short of file descriptors or busy collecting
// garbage measures itself instead of the server.
type health struct {
	lag histogram // how late the ticker fired

	mu       sync.Mutex
	begun    time.Time
	ended    time.Time
	cpu0     cpuTimes // machine
	cpu      cpuTimes
	own0     time.Duration
	own      time.Duration
	gc0, gc  float64 // CPU seconds spent on garbage collection
	busy     []float64
	every    int // a busy share is kept for each so many samples
	skipped  int
	peakRSS  uint64
	peakFDs  int
	fdLimit  int
	haveCPU  bool
	haveProc bool
}

func (h *health) begin() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.begun = time.Now()
	h.ended = h.begun
	h.every = 1
	h.gc0 = gcCPUSeconds()
	h.gc = h.gc0
	h.cpu0, h.haveCPU = machineCPU()
	h.cpu = h.cpu0
	h.own0, h.haveProc = processCPU()
	h.own = h.own0
	h.fdLimit = fdLimit()
}

// watch ticks until ctx ends. Its clock is the real one: what it measures is the process's own lag.
func (h *health) watch(ctx context.Context) {
	due := time.Now().Add(tickEvery)
	nextSample := time.Now().Add(sampleEvery)
	timer := time.NewTimer(tickEvery)
	defer timer.Stop()
	for {
		select {
		case <-ctx.Done():
			h.sample()
			return
		case <-timer.C:
		}
		now := time.Now()
		// A stall swallows ticks; each of them was late by what remained of it.
		for ; !due.After(now); due = due.Add(tickEvery) {
			h.lag.record(now.Sub(due))
		}
		if !nextSample.After(now) {
			h.sample()
			nextSample = time.Now().Add(sampleEvery)
		}
		timer.Reset(time.Until(due))
	}
}

// sample reads the counters of the operating system and of the Go runtime.
func (h *health) sample() {
	cpu, haveCPU := machineCPU()
	own, _ := processCPU()
	rss := peakRSS()
	fds := openFDs()
	gc := gcCPUSeconds()

	h.mu.Lock()
	defer h.mu.Unlock()
	h.ended = time.Now()
	if haveCPU {
		if share, ok := cpu.busySince(h.cpu); ok {
			h.keepBusy(share)
		}
		h.cpu = cpu
	}
	h.own, h.gc = own, gc
	h.peakRSS = max(h.peakRSS, rss)
	h.peakFDs = max(h.peakFDs, fds)
}

// keepBusy keeps an even sample of the busy shares: when there are too many, every other one goes.
func (h *health) keepBusy(share float64) {
	if h.skipped++; h.skipped < h.every {
		return
	}
	h.skipped = 0
	h.busy = append(h.busy, share)
	if len(h.busy) < maxCPUSamples {
		return
	}
	for i := range len(h.busy) / 2 {
		h.busy[i] = h.busy[2*i]
	}
	h.busy = h.busy[:len(h.busy)/2]
	h.every *= 2
}

// fill writes what was seen into a record's generator.
func (h *health) fill(g *Generator) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	g.Go = runtime.Version()
	g.PeakRSSBytes, g.PeakFDs, g.FDLimit = h.peakRSS, h.peakFDs, h.fdLimit
	lag, err := h.lag.export()
	if err != nil {
		return err
	}
	if n := h.lag.n.Load(); n > 0 {
		g.Ticks = n
		p99 := float64(lag.ValueAtQuantile(99)) / 1000
		g.TickerLagP99 = &p99
	}
	wall := h.ended.Sub(h.begun).Seconds()
	if h.begun.IsZero() || wall <= 0 {
		return nil
	}
	gc := max(h.gc-h.gc0, 0) / (wall * float64(runtime.GOMAXPROCS(0)))
	g.GCShare = &gc
	if h.haveProc {
		own := max(h.own-h.own0, 0).Seconds() / wall
		g.OwnCPU = &own
	}
	if h.haveCPU {
		if share, ok := h.cpu.busySince(h.cpu0); ok {
			g.MachineCPU = &share
		}
	}
	if len(h.busy) > 0 {
		sorted := slices.Sorted(slices.Values(h.busy))
		p95 := sorted[min(len(sorted)*95/100, len(sorted)-1)]
		g.MachineCPUP95 = &p95
	}
	return nil
}

// gcCPUSeconds is the CPU time that collecting garbage took from the program; what it did on idle processors is not
// counted.
func gcCPUSeconds() float64 {
	s := []metrics.Sample{
		{Name: "/cpu/classes/gc/total:cpu-seconds"},
		{Name: "/cpu/classes/gc/mark/idle:cpu-seconds"},
	}
	metrics.Read(s)
	if s[0].Value.Kind() != metrics.KindFloat64 || s[1].Value.Kind() != metrics.KindFloat64 {
		return 0
	}
	return s[0].Value.Float64() - s[1].Value.Float64()
}
