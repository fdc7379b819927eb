package lib

import (
	"cmp"
	"errors"
	"fmt"
	"math/big"
	"slices"
)

// ExecutionTuple tells one process which items of the whole test are its own: iterations, VUs, arrival times.
//
// Items are dealt like cards, in rounds. A round has as many items as the common denominator of the segments'
// lengths, and each segment gets its share of it, spread evenly: the largest first, of equal ones the one that lies
// first in the sequence.
type ExecutionTuple struct {
	Segment  *ExecutionSegment
	Sequence *ExecutionSegmentSequence

	round int64   // the items in a round
	mine  []int64 // the process's places in a round, ascending
}

// maxRound bounds the memory for dealing out a round.
const maxRound = 1 << 22

var (
	errSegmentNotInSequence = errors.New("the execution segment isn't in the execution segment sequence")
	errSegmentsTooFine      = errors.New("the execution segments are too fine")
)

// NewExecutionTuple returns the tuple. A nil segment is the whole test, or the sequence's only segment. What the
// sequence leaves out at either end, or all of it if it's empty, counts as segments of other processes.
func NewExecutionTuple(segment *ExecutionSegment, sequence *ExecutionSegmentSequence) (*ExecutionTuple, error) {
	if segment == nil {
		segment = fullSegment()
	}
	segments := completeSegments(segment, sequence)
	index := slices.IndexFunc(segments, segment.equal)
	if index < 0 {
		return nil, fmt.Errorf("%w: %s, %s", errSegmentNotInSequence, segment, sequence)
	}
	round, shares, err := commonShares(segments)
	if err != nil {
		return nil, err
	}
	et := &ExecutionTuple{Segment: segment, Sequence: &ExecutionSegmentSequence{segments: segments}, round: round}
	et.mine = dealRound(round, shares, index)
	return et, nil
}

func completeSegments(segment *ExecutionSegment, sequence *ExecutionSegmentSequence) []*ExecutionSegment {
	inner := []*ExecutionSegment{segment}
	if !sequence.IsEmpty() {
		inner = sequence.segments
	}
	whole := fullSegment()
	segments := make([]*ExecutionSegment, 0, len(inner)+2)
	if first := inner[0]; first.from.Cmp(whole.from) > 0 {
		segments = append(segments, &ExecutionSegment{from: whole.from, to: first.from})
	}
	segments = append(segments, inner...)
	if last := inner[len(inner)-1]; last.to.Cmp(whole.to) < 0 {
		segments = append(segments, &ExecutionSegment{from: last.to, to: whole.to})
	}
	return segments
}

// commonShares returns the common denominator of the lengths and the lengths in units of it.
func commonShares(segments []*ExecutionSegment) (round int64, shares []int64, err error) {
	denominator := big.NewInt(1)
	for _, s := range segments {
		d := s.length().Denom()
		gcd := new(big.Int).GCD(nil, nil, denominator, d)
		denominator.Mul(denominator, new(big.Int).Div(d, gcd))
	}
	if !denominator.IsInt64() || denominator.Int64() > maxRound {
		return 0, nil, fmt.Errorf("%w: their common denominator is %s, the limit is %d",
			errSegmentsTooFine, denominator, maxRound)
	}
	shares = make([]int64, len(segments))
	for i, s := range segments {
		units := new(big.Rat).Mul(s.length(), new(big.Rat).SetInt(denominator))
		shares[i] = units.Num().Int64()
	}
	return denominator.Int64(), shares, nil
}

// dealRound returns the places in the round of the segment at index.
func dealRound(round int64, shares []int64, index int) []int64 {
	if shares[index] == round {
		return []int64{0}
	}
	order := make([]int, len(shares))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(shares[b], shares[a]) })

	// free[i] leads to the first free place at or after i, as in a disjoint-set forest.
	free := make([]int64, round+1)
	for i := range free {
		free[i] = int64(i)
	}
	next := func(place int64) int64 {
		root := place
		for free[root] != root {
			root = free[root]
		}
		for free[place] != root {
			free[place], place = root, free[place]
		}
		return root
	}
	for _, segment := range order {
		share := shares[segment]
		places := make([]int64, 0, share)
		for j := range share {
			place := next(j * round / share)
			if place == round {
				place = next(0)
			}
			free[place] = place + 1
			places = append(places, place)
		}
		if segment == index {
			slices.Sort(places)
			return places
		}
	}
	return nil // not reached: order holds every index
}

// IsFull says whether this process runs the whole test.
func (et *ExecutionTuple) IsFull() bool {
	return et == nil || int64(len(et.mine)) == et.round || et.round <= 1
}

// Share returns how many of the first total items are this process's.
func (et *ExecutionTuple) Share(total int64) int64 {
	if total <= 0 {
		return 0
	}
	if et.IsFull() {
		return total
	}
	rounds, rest := total/et.round, total%et.round
	inRest, _ := slices.BinarySearch(et.mine, rest)
	return rounds*int64(len(et.mine)) + int64(inRest)
}

// Fraction returns this process's part of the whole, from 0 to 1.
func (et *ExecutionTuple) Fraction() float64 {
	if et.IsFull() {
		return 1
	}
	return float64(len(et.mine)) / float64(et.round)
}

// Global returns the index in the whole test of this process's n-th item; both count from 0.
func (et *ExecutionTuple) Global(n uint64) uint64 {
	if et.IsFull() {
		return n
	}
	share := uint64(len(et.mine))
	return n/share*uint64(et.round) + uint64(et.mine[n%share]) // #nosec -- places are never negative
}

// String returns "segment in sequence".
func (et *ExecutionTuple) String() string {
	return et.Segment.String() + " in " + et.Sequence.String()
}
