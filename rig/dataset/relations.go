package dataset

// relation is one RelatesTo edge between the memories with these indexes.
type relation struct{ from, to int }

// tries bounds the draws for a pair that is not there yet; after them the next free pair is taken.
const tries = 16

// relations makes p.Relations() distinct pairs without loops: sources even at random, targets by the power law
// over a seeded order of the memories, so that the hubs are not the first rows.
func (p Params) relations() []relation {
	n := p.Relations()
	if n == 0 {
		return nil
	}

	var (
		hubs  = p.hubs()
		ranks = newZipf(p.Rows, p.Exponent)
		s     = newStream(p.Seed, purposeRelations, 0)
		seen  = make(map[relation]struct{}, n)
		out   = make([]relation, 0, n)
	)

	free := func(r relation) bool {
		_, taken := seen[r]

		return r.from != r.to && !taken
	}

	for range n {
		var r relation

		for range tries {
			r = relation{from: int(s.below(uint64(p.Rows))), to: hubs[ranks.draw(s)]} // #nosec G115 -- below Rows
			if free(r) {
				break
			}
		}

		// Relations() never asks for more pairs than there are, so this ends.
		for !free(r) {
			if r.to++; r.to == p.Rows {
				r.to = 0
				r.from = (r.from + 1) % p.Rows
			}
		}

		seen[r] = struct{}{}
		out = append(out, r)
	}

	return out
}

// hubs is a seeded order of the memories (Fisher-Yates): the first is the target chosen most often.
func (p Params) hubs() []int {
	s := newStream(p.Seed, purposeHubs, 0)
	order := make([]int, p.Rows)

	for i := range order {
		order[i] = i
	}

	for i := len(order) - 1; i > 0; i-- {
		j := int(s.below(uint64(i + 1))) // #nosec G115 -- below i+1
		order[i], order[j] = order[j], order[i]
	}

	return order
}
