package omnigraph

import (
	"errors"
	"sync"

	"go.k6.io/k6/v2/js/common"
	"go.k6.io/k6/v2/js/modules"

	"github.com/grafana/sobek"
	"github.com/mitodl/xk6-omnigraph/omnigraph/cliclient"
	"github.com/mitodl/xk6-omnigraph/omnigraph/httpclient"
	"github.com/mitodl/xk6-omnigraph/omnigraph/wire"
)

// ImportPath is the name under which scripts import the module.
const ImportPath = "k6/x/omnigraph"

// New makes the root module.
func New() modules.Module {
	return &rootModule{contracts: &httpclient.Contracts{}, catalog: cliclient.NewCatalog(), recording: newRecording(), sequences: map[string]*sequence{}}
}

// rootModule is what all VUs of a process share.
type rootModule struct {
	contracts *httpclient.Contracts
	catalog   *cliclient.Catalog
	recording *recording
	// storedQueries are the catalogs that invoke is held against.
	storedQueries storedQueries

	mu        sync.Mutex
	slots     *cliclient.Slots
	slotCount int
	pools     map[string]*httpclient.Pool
	sequences map[string]*sequence
	budgets   map[string]*retryBudget
	warnings  sync.Map
}

// NewModuleInstance makes the module of one VU. k6 calls it in the VU's init context.
func (r *rootModule) NewModuleInstance(vu modules.VU) modules.Instance {
	m, err := registerMetrics(vu.InitEnv().Registry)
	if err != nil {
		common.Throw(vu.Runtime(), err)
	}
	r.recording.attach(vu)
	mi := &instance{root: r, vu: vu, metrics: m}
	mi.classes = map[string]*sobek.Object{
		wire.TransportHTTP: mi.newClass(wire.TransportHTTP),
		wire.TransportCLI:  mi.newClass(wire.TransportCLI),
	}
	mi.exports = modules.Exports{Named: map[string]any{
		"connect":    mi.connect,
		"HTTPClient": mi.classes[wire.TransportHTTP],
		"CLIClient":  mi.classes[wire.TransportCLI],
		"compare":    mi.compare,
		"levels":     mi.levels,
		"sequence":   mi.newSequence,
		"record":     mi.record,
		"report":     mi.report,
	}}
	return mi
}

// instance is the module of one VU. Its fields belong to the VU's event loop.
type instance struct {
	root    *rootModule
	vu      modules.VU
	metrics *extensionMetrics
	exports modules.Exports
	classes map[string]*sobek.Object
	// methods is the prototype that both classes inherit their methods from, nil until the first client.
	methods *sobek.Object
	// warmed holds the steps of sequences for which this VU is warm.
	warmed map[sequenceStep]bool
	// variant is the variant of compare whose callback runs now, or nil.
	variant *variantScope
	// delivering says that an export's callback runs now.
	delivering bool
	// random spreads the VU's retries in time; nil until its first operation.
	random func(int64) int64
}

// Exports gives what scripts import; it is the same on every call.
func (mi *instance) Exports() modules.Exports { return mi.exports }

// throw raises a Go error in the script. It does not return.
func (mi *instance) throw(err error) {
	var e *exception
	if errors.As(err, &e) {
		panic(e.value)
	}
	var interrupted *sobek.InterruptedError
	if errors.As(err, &interrupted) {
		panic(interrupted) // the iteration is over: no script may catch that
	}
	common.Throw(mi.vu.Runtime(), err)
}
