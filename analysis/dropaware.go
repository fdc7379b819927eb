package analysis

// DropAwareQuantile is a quantile in which every operation that never started counts as infinitely slow: with a share
// d of them, the q-quantile of all is the q/(1-d)-quantile of those that ran. Nil stands for infinite, or for an empty
// sample.
func DropAwareQuantile(s Sample, q, droppedShare float64) *float64 {
	if s.Len() == 0 || droppedShare >= 1 {
		return nil
	}
	if droppedShare <= 0 {
		v := s.Quantile(q)
		return &v
	}
	level := q / (1 - droppedShare)
	rank := rankOf(level, s.Len())
	if rank > s.Len() {
		return nil
	}
	v := s.Rank(rank)
	return &v
}
