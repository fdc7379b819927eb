package graph

// violations are the constraints that a merge breaks though no row was changed on both sides.
func (g *Graph) violations(c *change, merged *state) []MergeConflict {
	var conflicts []MergeConflict
	for i := range g.specs {
		spec := &g.specs[i]
		touched := c.tables[i] != nil
		if spec.edge == nil {
			if touched {
				conflicts = append(conflicts, duplicates(spec, merged.tables[i])...)
			}
			continue
		}
		if touched {
			conflicts = append(conflicts, overfull(spec, merged.tables[i])...)
		}
		if touched || c.tables[spec.from] != nil || c.tables[spec.to] != nil {
			conflicts = append(conflicts, orphans(spec, merged.tables[i], merged.tables[spec.from], merged.tables[spec.to])...)
		}
	}
	return conflicts
}

// duplicates are the rows whose @unique value an earlier row has.
func duplicates(spec *tableSpec, t *table) []MergeConflict {
	var conflicts []MergeConflict
	for j, p := range spec.props {
		if !p.Unique || j == spec.node.Key {
			continue
		}
		holders := map[Value]string{}
		t.rows.Each(func(r *row) bool {
			v := r.vals[j]
			if v.IsNull() {
				return true
			}
			if first, held := holders[v]; held && first != r.id {
				conflicts = append(conflicts, MergeConflict{
					TableKey: spec.key, RowID: &r.id, Kind: "unique_violation", Message: uniqueViolation(spec.name, p.Name, v, first, r.id).Error(),
				})
				return true
			}
			holders[v] = r.id
			return true
		})
	}
	return conflicts
}

// overfull are the nodes that more edges leave than may.
func overfull(spec *tableSpec, t *table) []MergeConflict {
	if spec.edge.MaxOut < 0 {
		return nil
	}
	var conflicts []MergeConflict
	seen := map[string]bool{}
	t.rows.Each(func(r *row) bool {
		from := r.source()
		if list, _ := t.out.Get(from); !seen[from] && len(list) > spec.edge.MaxOut {
			conflicts = append(conflicts, MergeConflict{TableKey: spec.key, Kind: "cardinality_violation", Message: cardViolation(spec, from, len(list)).Error()})
		}
		seen[from] = true
		return true
	})
	return conflicts
}

func cardViolation(spec *tableSpec, from string, edges int) error {
	return badRequest("@card violation on edge %s: source '%s' has %d edges (max %d)", spec.name, from, edges, spec.edge.MaxOut)
}

// orphans are the edges that lack one of their ends.
func orphans(spec *tableSpec, edges, sources, targets *table) []MergeConflict {
	var conflicts []MergeConflict
	edges.rows.Each(func(r *row) bool {
		message := ""
		switch {
		case one(sources, r.source()) == nil:
			message = "src '" + r.source() + "' not found in " + spec.edge.From
		case one(targets, r.target()) == nil:
			message = "dst '" + r.target() + "' not found in " + spec.edge.To
		}
		if message != "" {
			conflicts = append(conflicts, MergeConflict{TableKey: spec.key, RowID: &r.id, Kind: "orphan_edge", Message: message})
		}
		return true
	})
	return conflicts
}
