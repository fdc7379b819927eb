package httpext

import (
	"context"

	"go.k6.io/k6/v2/lib"
)

// BatchParsedHTTPRequest is a request of a batch, and what came back for it.
type BatchParsedHTTPRequest struct {
	*ParsedHTTPRequest

	Response *Response // this is where the result goes; it has to be there
}

// MakeBatchRequests makes requests side by side: at most globalLimit at once, and at most perHostLimit to one host;
// limits below one mean none. reqCount is the number of requests. The channel gets one error or nil for each, in the
// order in which they end; it has room for all of them.
func MakeBatchRequests(
	ctx context.Context, state *lib.State, requests []BatchParsedHTTPRequest, reqCount, globalLimit, perHostLimit int,
) <-chan error {
	workers := globalLimit
	if workers < 1 || workers > reqCount {
		workers = reqCount
	}
	result := make(chan error, reqCount)
	perHost := lib.NewMultiSlotLimiter(perHostLimit)

	make1 := func(request BatchParsedHTTPRequest) error {
		if slots := perHost.Slot(request.URL.GetURL().Host); slots != nil {
			slots.Begin()
			defer slots.End()
		}
		response, err := MakeRequest(ctx, state, request.ParsedHTTPRequest)
		if response != nil {
			*request.Response = *response
		}
		return err
	}

	queue := make(chan BatchParsedHTTPRequest, reqCount)
	for _, request := range requests {
		queue <- request
	}
	close(queue)
	for range workers {
		go func() {
			for request := range queue {
				result <- make1(request)
			}
		}()
	}
	return result
}
