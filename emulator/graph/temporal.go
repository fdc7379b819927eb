package graph

import (
	"strconv"
	"strings"
	"time"

	"github.com/mitodl/xk6-omnigraph/emulator/schema"
)

// Dates count days since 1970, dates with a time milliseconds.

const (
	secondsPerDay = 24 * 60 * 60
	// The years that the server's calendar has.
	firstYear, lastYear = -262143, 262142
)

func dateTimeValue(t time.Time) Value {
	return Value{kind: kindDateTime, num: uint64(t.UnixMilli())} // #nosec G115 -- bits, not a number
}

// parseTemporal reads a date, or a date with a time, in the forms that the server takes: for a date YYYY-MM-DD with or
// without leading zeros, YYYYMMDD, or years of any length behind a sign; for a time HH:MM:SS or HHMMSS with a fraction,
// and behind it nothing, Z, an offset or the name of a time zone.
func parseTemporal(kind schema.Kind, text string) (Value, error) {
	t, leap, ok := parseInstant(text)
	if !ok && (kind == schema.Date || len(text) < len(time.DateOnly)) {
		t, ok = parseDay(text)
	}
	switch {
	case !ok:
		return Value{}, badRequest("invalid %s literal '%s'", kind, text)
	case kind == schema.Date:
		days := t.Unix() / secondsPerDay
		if t.Unix()%secondsPerDay < 0 {
			days--
		}
		return Value{kind: kindDate, num: uint64(days)}, nil // #nosec G115 -- bits, not a number
	}
	return dateTimeValue(t.Add(leap)), nil
}

// digits reads a number of only digits.
func digits(text string) (int, bool) {
	if text == "" || strings.ContainsFunc(text, func(r rune) bool { return r < '0' || r > '9' }) {
		return 0, false
	}
	n, err := strconv.Atoi(text)
	return n, err == nil
}

// day is a day of the calendar, and false where there is no such day.
func day(year, month, dayOfMonth int) (time.Time, bool) {
	t := time.Date(year, time.Month(month), dayOfMonth, 0, 0, 0, 0, time.UTC)
	return t, year >= firstYear && year <= lastYear && int(t.Month()) == month && t.Day() == dayOfMonth
}

// parseDay reads a date alone.
func parseDay(text string) (time.Time, bool) {
	rest, negative := strings.CutPrefix(text, "-")
	signed := negative
	if !negative {
		rest, signed = strings.CutPrefix(text, "+")
	}
	var parts [3]string
	switch {
	case !signed && len(rest) == 8 && strings.IndexByte(rest, '-') < 0:
		parts = [3]string{rest[:4], rest[4:6], rest[6:]}
	default:
		list := strings.Split(rest, "-")
		if len(list) != 3 || len(list[0]) < 4 || (!signed && len(list[0]) > 4) || len(list[0]) > 6 || len(list[1]) > 2 || len(list[2]) > 2 {
			return time.Time{}, false
		}
		parts = [3]string(list)
	}
	year, ok1 := digits(parts[0])
	month, ok2 := digits(parts[1])
	dayOfMonth, ok3 := digits(parts[2])
	if negative {
		year = -year
	}
	t, ok := day(year, month, dayOfMonth)
	return t, ok && ok1 && ok2 && ok3
}

// parseInstant reads YYYY-MM-DD, with or without a time behind it. A minute's 61st second is its 60th and a leap: to
// the same day as ever, to the next minute as a time.
func parseInstant(text string) (t time.Time, leap time.Duration, ok bool) {
	n := len(time.DateOnly)
	if len(text) < n || text[4] != '-' || text[7] != '-' {
		return time.Time{}, 0, false
	}
	date, ok := parseDay(text[:n])
	if !ok || len(text) == n {
		return date, 0, ok
	}
	if strings.IndexByte("Tt ", text[n]) < 0 {
		return time.Time{}, 0, false
	}
	sinceMidnight, leap, rest, ok := parseClock(text[n+1:])
	if !ok {
		return time.Time{}, 0, false
	}
	t, ok = inZone(date.Add(sinceMidnight), rest)
	return t, leap, ok
}

// parseClock reads a time of day and returns what stands behind it.
func parseClock(text string) (sinceMidnight, leap time.Duration, rest string, ok bool) {
	var clock string
	switch {
	case len(text) >= 8 && text[2] == ':' && text[5] == ':':
		clock, rest = text[:2]+text[3:5]+text[6:8], text[8:]
	case len(text) >= 6:
		clock, rest = text[:6], text[6:]
	default:
		return 0, 0, "", false
	}
	if _, ok := digits(clock); !ok {
		return 0, 0, "", false
	}
	hour, _ := digits(clock[:2])
	minute, _ := digits(clock[2:4])
	second, _ := digits(clock[4:])
	if hour > 23 || minute > 59 || second > 60 {
		return 0, 0, "", false
	}
	if second == 60 {
		second, leap = 59, time.Second
	}
	sinceMidnight = time.Duration(hour)*time.Hour + time.Duration(minute)*time.Minute + time.Duration(second)*time.Second
	fraction, found := strings.CutPrefix(rest, ".")
	if !found {
		return sinceMidnight, leap, rest, true
	}
	unit := time.Second
	i := 0
	for ; i < len(fraction) && fraction[i] >= '0' && fraction[i] <= '9'; i++ {
		unit /= 10
		sinceMidnight += time.Duration(fraction[i]-'0') * unit
	}
	return sinceMidnight, leap, fraction[i:], i > 0
}

// inZone takes t for the time on a clock in the given zone.
func inZone(t time.Time, zone string) (time.Time, bool) {
	switch zone {
	case "", "Z", "z":
		return t, true
	}
	zone = strings.TrimLeft(zone, " ")
	if zone == "" || zone == "Local" {
		return time.Time{}, false
	}
	if zone[0] == '+' || zone[0] == '-' {
		offset, ok := parseOffset(zone[1:])
		if zone[0] == '+' {
			offset = -offset
		}
		return t.Add(offset), ok
	}
	loc, err := time.LoadLocation(zone)
	if err != nil {
		return time.Time{}, false
	}
	return time.Date(t.Year(), t.Month(), t.Day(), t.Hour(), t.Minute(), t.Second(), t.Nanosecond(), loc).UTC(), true
}

// parseOffset reads HH:MM, HHMM or HH, less than a day.
func parseOffset(text string) (time.Duration, bool) {
	if len(text) == 5 && text[2] == ':' {
		text = text[:2] + text[3:]
	}
	if len(text) == 2 {
		text += "00"
	}
	n, ok := digits(text)
	if len(text) != 4 || !ok {
		return 0, false
	}
	offset := time.Duration(n/100)*time.Hour + time.Duration(n%100)*time.Minute
	return offset, offset < 24*time.Hour
}

// appendDate appends a day as YYYY-MM-DD; years beyond four digits carry their sign.
func appendDate(dst []byte, t time.Time) []byte {
	year := t.Year()
	switch {
	case year < 0:
		dst = append(dst, '-')
		year = -year
	case year > 9999:
		dst = append(dst, '+')
	}
	for bound := 1000; bound > 1 && year < bound; bound /= 10 {
		dst = append(dst, '0')
	}
	dst = strconv.AppendInt(dst, int64(year), 10)
	return t.AppendFormat(dst, "-01-02")
}
