package wire

// Op is the kind of one operation, as it appears in results and in the `op` tag.
type Op string

// The operations. Which transport offers which is told by [Op.Offered].
const (
	OpQuery        Op = "query"
	OpMutate       Op = "mutate"
	OpInvoke       Op = "invoke"
	OpLoad         Op = "load"
	OpSnapshot     Op = "snapshot"
	OpSchema       Op = "schema"
	OpBranches     Op = "branches"
	OpBranchCreate Op = "branch_create"
	OpBranchDelete Op = "branch_delete"
	OpBranchMerge  Op = "branch_merge"
	OpCommits      Op = "commits"
	OpQueries      Op = "queries"
	OpGraphs       Op = "graphs"
	OpExport       Op = "export"
	OpHealth       Op = "health"
	OpVersion      Op = "version"
	OpOptimize     Op = "optimize"
	OpCleanup      Op = "cleanup"
	OpRepair       Op = "repair"
)

// The transports, as they appear in results and in the `transport` tag.
const (
	TransportHTTP = "http"
	TransportCLI  = "cli"
)

type opTraits struct {
	write bool
	http  bool
	cli   bool
}

// An invoked query may be a mutation; until its answer tells, it counts as a write, the safe assumption for retries.
var opTable = map[Op]opTraits{
	OpQuery:        {http: true, cli: true},
	OpMutate:       {write: true, http: true, cli: true},
	OpInvoke:       {write: true, http: true, cli: true},
	OpLoad:         {write: true, http: true, cli: true},
	OpSnapshot:     {http: true, cli: true},
	OpSchema:       {http: true, cli: true},
	OpBranches:     {http: true, cli: true},
	OpBranchCreate: {write: true, http: true, cli: true},
	OpBranchDelete: {write: true, http: true, cli: true},
	OpBranchMerge:  {write: true, http: true, cli: true},
	OpCommits:      {http: true, cli: true},
	OpQueries:      {http: true},
	OpGraphs:       {http: true},
	OpExport:       {http: true, cli: true},
	OpHealth:       {http: true},
	OpVersion:      {cli: true},
	OpOptimize:     {write: true, cli: true},
	OpCleanup:      {write: true, cli: true},
	OpRepair:       {cli: true},
}

// Ops lists all operations in a fixed order.
func Ops() []Op {
	return []Op{
		OpQuery, OpMutate, OpInvoke, OpLoad, OpSnapshot, OpSchema, OpBranches, OpBranchCreate, OpBranchDelete,
		OpBranchMerge, OpCommits, OpQueries, OpGraphs, OpExport, OpHealth, OpVersion, OpOptimize, OpCleanup, OpRepair,
	}
}

// IsWrite reports whether the operation may change the store, so that a lost answer leaves its outcome unknown.
func (op Op) IsWrite() bool { return opTable[op].write }

// Offered reports whether a transport offers the operation.
func (op Op) Offered(transport string) bool {
	if transport == TransportCLI {
		return opTable[op].cli
	}
	return opTable[op].http
}

// Unsupported is the error for an operation that a transport lacks; it names the transport that has it.
func Unsupported(op Op, transport string) *Error {
	other := "CLIClient"
	if transport == TransportCLI {
		other = "HTTPClient"
	}
	return NewError(KindUnsupported, "%s is not available over %s: use a %s for it", op, transport, other)
}
