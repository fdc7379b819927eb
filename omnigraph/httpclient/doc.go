// Package httpclient carries operations over pooled HTTP, through k6's own request path, so that the built-in
// http_req_* metrics and k6's network options apply as they do to k6/http.
package httpclient
