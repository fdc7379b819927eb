package graph

import "github.com/mitodl/xk6-omnigraph/emulator/gq"

// Check type-checks a query against the graph's schema.
func (g *Graph) Check(q *gq.Query) error {
	if q.Mutation() {
		return g.checkMutation(q)
	}
	_, err := g.compile(q)
	return err
}
