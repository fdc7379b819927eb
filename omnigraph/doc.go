// Package omnigraph is the JS module k6/x/omnigraph: clients for both transports, their results and metrics, and the
// functions that compare, stagger and report.
//
// [New] makes the root module, one per process; k6 asks it for an instance per VU. A call of a script goes through
// prepare (on the event loop: arguments, options, tags), execute (anywhere: attempts and retries) and finish (on the
// event loop: the result). The synchronous and the asynchronous form of an operation share all three.
package omnigraph
