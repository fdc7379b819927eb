package metrics

import "slices"

const (
	digitBits  = 11
	digits     = 1 << digitBits
	fewestKeys = 512 // below, comparing is as quick
)

// sortKeys sorts digit by digit, from the lowest up, as punched cards were. It's several times quicker than comparing
// for the thousands of keys that come at a time. The result may be another slice than the argument, whose content is
// lost.
func sortKeys(keys []uint64) []uint64 {
	if len(keys) < fewestKeys {
		slices.Sort(keys)
		return keys
	}
	var differing uint64 // bits that aren't the same in all keys
	for _, key := range keys {
		differing |= key ^ keys[0]
	}
	spare := make([]uint64, len(keys))
	for shift := 0; shift < 64 && differing>>shift != 0; shift += digitBits {
		if differing>>shift&(digits-1) == 0 {
			continue
		}
		var next [digits]int // first the number of keys with the digit, then the place of the next of them
		for _, key := range keys {
			next[key>>shift&(digits-1)]++
		}
		place := 0
		for digit, count := range next {
			next[digit] = place
			place += count
		}
		for _, key := range keys {
			digit := key >> shift & (digits - 1)
			spare[next[digit]] = key
			next[digit]++
		}
		keys, spare = spare, keys
	}
	return keys
}
