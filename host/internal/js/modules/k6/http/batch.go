package http

import (
	"errors"
	"fmt"
	nethttp "net/http"

	"github.com/grafana/sobek"

	"go.k6.io/k6/v2/js/common"
	"go.k6.io/k6/v2/lib"
	"go.k6.io/k6/v2/lib/netext/httpext"
)

// batch is http.batch(list or object): it makes requests side by side and returns the responses in kind.
func (m *module) batch(call sobek.FunctionCall) sobek.Value {
	state := m.state()
	list, ok := call.Argument(0).(*sobek.Object)
	if !ok {
		common.Throw(m.rt, fmt.Errorf("invalid http.batch() argument type %T: it takes an array or an object of requests",
			call.Argument(0).Export()))
	}
	isArray := list.ClassName() == "Array"
	keys := list.Keys()
	responses := make([]*httpext.Response, len(keys))
	requests := make([]httpext.BatchParsedHTTPRequest, 0, len(keys))
	for i, key := range keys {
		preq, refused, err := m.batchEntry(state, list.Get(key))
		if err != nil {
			common.Throw(m.rt, fmt.Errorf("http.batch: request %s: %w", key, err))
		}
		if refused != nil {
			responses[i] = refused
			continue
		}
		responses[i] = httpext.NewResponse()
		requests = append(requests, httpext.BatchParsedHTTPRequest{ParsedHTTPRequest: preq, Response: responses[i]})
	}

	errs := httpext.MakeBatchRequests(m.vu.Context(), state, requests, len(requests),
		int(state.Options.Batch.Int64), int(state.Options.BatchPerHost.Int64))
	var failure error
	for range requests {
		if err := <-errs; err != nil && failure == nil {
			failure = err
		}
	}
	if failure != nil {
		common.Throw(m.rt, failure)
	}

	if isArray {
		values := make([]any, len(responses))
		for i, response := range responses {
			values[i] = m.response(response)
		}
		return m.rt.NewArray(values...)
	}
	result := m.rt.NewObject()
	for i, key := range keys {
		if err := result.Set(key, m.response(responses[i])); err != nil {
			common.Throw(m.rt, err)
		}
	}
	return result
}

// batchEntry reads one request: an address, [method, url, body, params] or {method, url, body, params}.
func (m *module) batchEntry(state *lib.State, entry sobek.Value) (*httpext.ParsedHTTPRequest, *httpext.Response, error) {
	object, isObject := entry.(*sobek.Object)
	if !isObject {
		return m.parse(state, nethttp.MethodGet, entry, nil, nil)
	}
	if _, isURL := object.Export().(httpext.URL); isURL {
		return m.parse(state, nethttp.MethodGet, entry, nil, nil)
	}
	names := [4]string{"method", "url", "body", "params"}
	if object.ClassName() == "Array" {
		names = [4]string{"0", "1", "2", "3"}
	}
	url := object.Get(names[1])
	if url == nil || common.IsNullish(url) {
		return nil, nil, errors.New("it has no url; a request is an address, [method, url, body, params] or {method, url, body, params}")
	}
	method := nethttp.MethodGet
	if given := object.Get(names[0]); given != nil && !common.IsNullish(given) {
		method = given.String()
	}
	return m.parse(state, method, url, object.Get(names[2]), object.Get(names[3]))
}
