package cliclient

import (
	"strings"
	"sync"

	"github.com/mitodl/xk6-omnigraph/omnigraph/wire"
)

// Catalog remembers which stored queries write, as far as the CLI has told: it has one command for reads and one for
// mutations, and refuses the wrong one. Clients may share a catalog, so that of all VUs only one has to find out. It is
// safe for concurrent use.
type Catalog struct{ writes sync.Map } // storedQuery to bool

type storedQuery struct{ server, graph, name string }

// NewCatalog makes a catalog that knows nothing yet.
func NewCatalog() *Catalog { return &Catalog{} }

func (c *Client) storedQuery(op *wire.Operation) storedQuery {
	return storedQuery{server: c.config.Server, graph: op.Graph, name: op.Name}
}

// storedCommand is the command for a stored query; without any knowledge it is taken for a read.
func (c *Client) storedCommand(op *wire.Operation) string {
	writes := op.Mutation != nil && *op.Mutation
	if op.Mutation == nil {
		known, _ := c.config.Catalog.writes.Load(c.storedQuery(op))
		writes = known == true
	}
	if writes {
		return commandMutate
	}
	return commandQuery
}

// learn reports whether the CLI refused a stored query for being of the other sort, and remembers which it is.
func (c *Client) learn(op *wire.Operation, err *wire.Error) bool {
	if err == nil || err.Kind != wire.KindBadRequest {
		return false
	}
	switch {
	case strings.HasPrefix(err.Message, "'"+op.Name+"' is a mutation "):
		c.config.Catalog.writes.Store(c.storedQuery(op), true)
	case strings.HasPrefix(err.Message, "'"+op.Name+"' is a read "):
		c.config.Catalog.writes.Store(c.storedQuery(op), false)
	default:
		return false
	}
	return true
}
