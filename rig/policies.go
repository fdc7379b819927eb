package rig

import (
	"fmt"
	"strings"
)

// graphPolicy is the policy bundle bound to the graph.
func graphPolicy(writers []string) string {
	return fmt.Sprintf(`version: 1
groups:
  writers: [%s]
  readers: [%s]
rules:
  - id: writers-read-and-write
    allow:
      actors: { group: writers }
      actions: [read, change, export]
      branch_scope: any
  - id: writers-invoke
    allow:
      actors: { group: writers }
      actions: [invoke_query]
  - id: writers-branch
    allow:
      actors: { group: writers }
      actions: [branch_create, branch_delete, branch_merge]
      target_branch_scope: any
  - id: readers-read
    allow:
      actors: { group: readers }
      actions: [read]
      branch_scope: any
`, strings.Join(writers, ", "), ActorReader)
}

// clusterPolicy is the policy bundle bound to the cluster.
func clusterPolicy(writers []string) string {
	return fmt.Sprintf(`version: 1
groups:
  writers: [%s]
rules:
  - id: writers-list-graphs
    allow:
      actors: { group: writers }
      actions: [graph_list]
`, strings.Join(writers, ", "))
}
