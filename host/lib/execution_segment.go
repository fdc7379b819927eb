package lib

import (
	"encoding/json"
	"errors"
	"fmt"
	"math/big"
	"strings"
)

// ExecutionSegment is the part of a test that one of several processes runs: an interval within 0 and 1.
type ExecutionSegment struct {
	from, to *big.Rat
}

var (
	errSegmentOrder = errors.New("segment start value must be less than its end value")
	errSegmentRange = errors.New("segment values must lie between 0 and 1")
)

// NewExecutionSegment returns the segment, which has to lie within 0 and 1 and not be empty.
func NewExecutionSegment(from, to *big.Rat) (*ExecutionSegment, error) {
	if from.Sign() < 0 || to.Cmp(big.NewRat(1, 1)) > 0 {
		return nil, fmt.Errorf("%w: %s:%s", errSegmentRange, from.RatString(), to.RatString())
	}
	if from.Cmp(to) >= 0 {
		return nil, fmt.Errorf("%w: %s:%s", errSegmentOrder, from.RatString(), to.RatString())
	}
	return &ExecutionSegment{from: from, to: to}, nil
}

// NewExecutionSegmentFromString reads "1/4:1/2"; each end may be a fraction, a decimal or a percentage, and a lone
// value is the end of a segment from 0.
func NewExecutionSegmentFromString(s string) (*ExecutionSegment, error) {
	fromText, toText, hasFrom := strings.Cut(strings.TrimSpace(s), ":")
	if !hasFrom {
		fromText, toText = "0", fromText
	}
	from, err := parseShare(fromText)
	if err != nil {
		return nil, fmt.Errorf("invalid execution segment '%s': %w", s, err)
	}
	to, err := parseShare(toText)
	if err != nil {
		return nil, fmt.Errorf("invalid execution segment '%s': %w", s, err)
	}
	segment, err := NewExecutionSegment(from, to)
	if err != nil {
		return nil, fmt.Errorf("invalid execution segment '%s': %w", s, err)
	}
	return segment, nil
}

// maxShareText bounds what is handed to the number parser, since a huge exponent makes a huge number.
const maxShareText = 64

func parseShare(s string) (*big.Rat, error) {
	s = strings.TrimSpace(s)
	number, isPercentage := strings.CutSuffix(s, "%")
	if len(s) > maxShareText || strings.ContainsAny(number, "eEpPxX_") {
		return nil, fmt.Errorf("'%s' is not a fraction, a decimal or a percentage", s)
	}
	share, ok := new(big.Rat).SetString(number)
	if !ok {
		return nil, fmt.Errorf("'%s' is not a fraction, a decimal or a percentage", s)
	}
	if isPercentage {
		share.Quo(share, big.NewRat(100, 1))
	}
	return share, nil
}

func fullSegment() *ExecutionSegment {
	return &ExecutionSegment{from: new(big.Rat), to: big.NewRat(1, 1)}
}

func (es *ExecutionSegment) length() *big.Rat { return new(big.Rat).Sub(es.to, es.from) }

func (es *ExecutionSegment) equal(other *ExecutionSegment) bool {
	return es.from.Cmp(other.from) == 0 && es.to.Cmp(other.to) == 0
}

// String returns the text form, such as "1/4:1/2"; a nil segment is the whole test, "0:1".
func (es *ExecutionSegment) String() string {
	if es == nil {
		return "0:1"
	}
	return es.from.RatString() + ":" + es.to.RatString()
}

// MarshalText writes the text form.
func (es *ExecutionSegment) MarshalText() ([]byte, error) {
	if es == nil {
		return nil, nil
	}
	return []byte(es.String()), nil
}

// UnmarshalText reads the text form.
func (es *ExecutionSegment) UnmarshalText(text []byte) error {
	segment, err := NewExecutionSegmentFromString(string(text))
	if err != nil {
		return err
	}
	*es = *segment
	return nil
}

// ExecutionSegmentSequence is a partition of the test into segments: each starts where the one before ends.
type ExecutionSegmentSequence struct {
	segments []*ExecutionSegment
}

// NewExecutionSegmentSequenceFromString reads "0,1/4,1/2,3/4,1", the borders of the segments. An empty text is an
// empty sequence.
func NewExecutionSegmentSequenceFromString(s string) (*ExecutionSegmentSequence, error) {
	sequence := &ExecutionSegmentSequence{}
	if strings.TrimSpace(s) == "" {
		return sequence, nil
	}
	var previous *big.Rat
	for text := range strings.SplitSeq(s, ",") {
		border, err := parseShare(text)
		if err != nil {
			return nil, fmt.Errorf("invalid execution segment sequence '%s': %w", s, err)
		}
		if previous != nil {
			segment, err := NewExecutionSegment(previous, border)
			if err != nil {
				return nil, fmt.Errorf("invalid execution segment sequence '%s': %w", s, err)
			}
			sequence.segments = append(sequence.segments, segment)
		}
		previous = border
	}
	if len(sequence.segments) == 0 {
		return nil, fmt.Errorf("invalid execution segment sequence '%s': it needs at least two borders", s)
	}
	return sequence, nil
}

// IsEmpty says whether there is no segment.
func (ess *ExecutionSegmentSequence) IsEmpty() bool { return ess == nil || len(ess.segments) == 0 }

// String returns the text form, "" for an empty or nil sequence.
func (ess *ExecutionSegmentSequence) String() string {
	if ess.IsEmpty() {
		return ""
	}
	var text strings.Builder
	text.WriteString(ess.segments[0].from.RatString())
	for _, segment := range ess.segments {
		text.WriteString("," + segment.to.RatString())
	}
	return text.String()
}

// MarshalText writes the text form.
func (ess *ExecutionSegmentSequence) MarshalText() ([]byte, error) {
	if ess == nil {
		return nil, nil
	}
	return []byte(ess.String()), nil
}

// UnmarshalText reads the text form.
func (ess *ExecutionSegmentSequence) UnmarshalText(text []byte) error {
	sequence, err := NewExecutionSegmentSequenceFromString(string(text))
	if err != nil {
		return err
	}
	*ess = *sequence
	return nil
}

// UnmarshalJSON reads the text form.
func (ess *ExecutionSegmentSequence) UnmarshalJSON(data []byte) error {
	var text string
	if err := json.Unmarshal(data, &text); err != nil {
		return err
	}
	return ess.UnmarshalText([]byte(text))
}
