package chart

import (
	"math"
	"slices"
	"strconv"
)

// scale maps values to coordinates.
type scale struct {
	log      bool
	lo, hi   float64
	from, to float64
	ticks    []Tick
}

// largest bounds what can be drawn: no latency, rate or count comes near it, and the arithmetic of scales stays within
// what floating-point numbers hold.
const largest = 1e15

// newScale fits a scale to the values; nil if there are none that it can show.
func newScale(a Axis, values []float64, from, to float64) *scale {
	values = slices.DeleteFunc(slices.Clone(values), func(v float64) bool {
		return math.Abs(v) > largest || a.Log && v < 1/largest
	})
	if len(values) == 0 {
		return nil
	}
	s := &scale{log: a.Log, lo: slices.Min(values), hi: slices.Max(values), from: from, to: to}
	if a.Zero && !a.Log {
		s.lo = math.Min(s.lo, 0)
	}
	s.widen()
	switch {
	case len(a.Ticks) > 0:
		for _, t := range a.Ticks {
			if s.holds(t.At) {
				s.ticks = append(s.ticks, t)
			}
		}
	case a.Log:
		s.ticks = logTicks(s.lo, s.hi)
	default:
		s.ticks = linearTicks(s.lo, s.hi)
	}
	return s
}

// widen leaves air around the values, and gives a single value some room.
func (s *scale) widen() {
	if s.log {
		if s.hi/s.lo < 1.05 {
			s.lo, s.hi = s.lo/1.5, s.hi*1.5
			return
		}
		f := math.Pow(s.hi/s.lo, 0.04)
		s.lo, s.hi = s.lo/f, s.hi*f
		return
	}
	span := s.hi - s.lo
	if span <= math.Abs(s.hi)*1e-9 {
		span = math.Max(math.Abs(s.hi), 1)
	}
	if s.lo != 0 {
		s.lo -= span * 0.04
	}
	s.hi += span * 0.04
}

func (s *scale) holds(v float64) bool { return !math.IsNaN(v) && v >= s.lo && v <= s.hi }

func (s *scale) at(v float64) float64 {
	share := (v - s.lo) / (s.hi - s.lo)
	if s.log {
		share = math.Log(v/s.lo) / math.Log(s.hi/s.lo)
	}
	return s.from + share*(s.to-s.from)
}

// linearTicks are four to nine multiples of 1, 2 or 5 times a power of ten.
func linearTicks(lo, hi float64) []Tick {
	raw := (hi - lo) / 6
	power := math.Pow(10, math.Floor(math.Log10(raw)))
	step := 10 * power
	for _, m := range []float64{1, 2, 5} {
		if m*power >= raw {
			step = m * power
			break
		}
	}
	if !(step > 0) || math.IsInf(step, 0) {
		return nil
	}
	var ticks []Tick
	for i := math.Ceil(lo / step); i*step <= hi && len(ticks) < 12; i++ {
		ticks = append(ticks, Tick{i * step, number(i*step + 0)}) // + 0 makes a plain zero of a negative one
	}
	return ticks
}

// logTicks are powers of ten, with 2 and 5 times them where there are few.
func logTicks(lo, hi float64) []Tick {
	multiples := []float64{1}
	if decades := math.Log10(hi / lo); decades < 1.2 {
		multiples = []float64{1, 1.5, 2, 3, 4, 5, 6, 8}
	} else if decades < 3.5 {
		multiples = []float64{1, 2, 5}
	}
	var ticks []Tick
	for e := math.Floor(math.Log10(lo)); e <= math.Ceil(math.Log10(hi)); e++ {
		for _, m := range multiples {
			if v := m * math.Pow(10, e); v >= lo && v <= hi {
				ticks = append(ticks, Tick{v, number(v)})
			}
		}
	}
	return ticks
}

// number writes a tick in at most six characters where it can: the room beside an axis is narrow.
func number(v float64) string {
	a := math.Abs(v)
	for _, unit := range []struct {
		from float64
		name string
	}{{1e9, "G"}, {1e6, "M"}, {1e4, "k"}} {
		if a >= unit.from && a < 1e12 {
			scale := unit.from
			if unit.name == "k" {
				scale = 1e3
			}
			return strconv.FormatFloat(math.Round(v/scale*1e3)/1e3, 'f', -1, 64) + unit.name
		}
	}
	if a >= 1e12 || a > 0 && a < 1e-3 {
		return strconv.FormatFloat(v, 'g', 3, 64)
	}
	return strconv.FormatFloat(math.Round(v*1e6)/1e6, 'f', -1, 64)
}
