// Package http is the k6/http module: it turns what scripts ask for into requests of package httpext, and what comes
// back into objects for scripts.
package http

import (
	"errors"
	"fmt"
	nethttp "net/http"

	"github.com/grafana/sobek"

	"go.k6.io/k6/v2/internal/js/fastjson"
	"go.k6.io/k6/v2/js/common"
	"go.k6.io/k6/v2/js/modules"
	"go.k6.io/k6/v2/lib"
	"go.k6.io/k6/v2/lib/netext"
	"go.k6.io/k6/v2/lib/netext/httpext"
)

// RootModule makes an instance of the module for each VU.
type RootModule struct{}

// New returns the root module.
func New() *RootModule { return new(RootModule) }

// NewModuleInstance makes the module for one VU.
func (*RootModule) NewModuleInstance(vu modules.VU) modules.Instance {
	m := &module{vu: vu, rt: vu.Runtime(), responseCallback: defaultExpectedStatuses().matches}
	m.defineExports()
	return m
}

// module is k6/http in one VU. All of it belongs to the VU's goroutine.
type module struct {
	vu      modules.VU
	rt      *sobek.Runtime
	exports modules.Exports

	// responseCallback judges the responses of requests that bring no callback of their own; nil judges none.
	responseCallback func(int) bool
	// urls holds the addresses parsed lately: scripts ask for the same ones over and over.
	urls map[string]httpext.URL

	json      *fastjson.Parser // made when first used
	jsonParse sobek.Callable   // JSON.parse, for what json does not read
}

// Exports returns the functions and constants; all of them belong to the default export too.
func (m *module) Exports() modules.Exports { return m.exports }

func (m *module) defineExports() {
	named := map[string]any{
		"get":                 m.withoutBody(nethttp.MethodGet),
		"head":                m.withoutBody(nethttp.MethodHead),
		"post":                m.withBody(nethttp.MethodPost),
		"put":                 m.withBody(nethttp.MethodPut),
		"patch":               m.withBody(nethttp.MethodPatch),
		"del":                 m.withBody(nethttp.MethodDelete),
		"options":             m.withBody(nethttp.MethodOptions),
		"request":             m.requestFunction,
		"asyncRequest":        m.asyncRequest,
		"batch":               m.batch,
		"url":                 m.urlTemplate,
		"expectedStatuses":    m.expectedStatuses,
		"setResponseCallback": m.setResponseCallback,
		"cookieJar":           m.cookieJar,
		"CookieJar":           m.newCookieJar,
		"file":                m.file,

		"TLS_1_0": netext.TLS_1_0,
		"TLS_1_1": netext.TLS_1_1,
		"TLS_1_2": netext.TLS_1_2,
		"TLS_1_3": netext.TLS_1_3,

		"OCSP_STATUS_GOOD":                   netext.OCSP_STATUS_GOOD,
		"OCSP_STATUS_REVOKED":                netext.OCSP_STATUS_REVOKED,
		"OCSP_STATUS_SERVER_FAILED":          netext.OCSP_STATUS_SERVER_FAILED,
		"OCSP_STATUS_UNKNOWN":                netext.OCSP_STATUS_UNKNOWN,
		"OCSP_REASON_UNSPECIFIED":            netext.OCSP_REASON_UNSPECIFIED,
		"OCSP_REASON_KEY_COMPROMISE":         netext.OCSP_REASON_KEY_COMPROMISE,
		"OCSP_REASON_CA_COMPROMISE":          netext.OCSP_REASON_CA_COMPROMISE,
		"OCSP_REASON_AFFILIATION_CHANGED":    netext.OCSP_REASON_AFFILIATION_CHANGED,
		"OCSP_REASON_SUPERSEDED":             netext.OCSP_REASON_SUPERSEDED,
		"OCSP_REASON_CESSATION_OF_OPERATION": netext.OCSP_REASON_CESSATION_OF_OPERATION,
		"OCSP_REASON_CERTIFICATE_HOLD":       netext.OCSP_REASON_CERTIFICATE_HOLD,
		"OCSP_REASON_REMOVE_FROM_CRL":        netext.OCSP_REASON_REMOVE_FROM_CRL,
		"OCSP_REASON_PRIVILEGE_WITHDRAWN":    netext.OCSP_REASON_PRIVILEGE_WITHDRAWN,
		"OCSP_REASON_AA_COMPROMISE":          netext.OCSP_REASON_AA_COMPROMISE,
	}
	defaults := m.rt.NewObject()
	for name, value := range named {
		// One JS value for both ways of importing, so that http.get === get.
		js := m.rt.ToValue(value)
		named[name] = js
		if err := defaults.Set(name, js); err != nil {
			common.Throw(m.rt, err)
		}
	}
	m.exports = modules.Exports{Default: defaults, Named: named}
}

// withoutBody makes the function for a method whose requests have no body: (url, params?).
func (m *module) withoutBody(method string) func(sobek.FunctionCall) sobek.Value {
	return func(call sobek.FunctionCall) sobek.Value {
		return m.request(method, call.Argument(0), nil, call.Argument(1))
	}
}

// withBody makes the function for a method whose requests may have one: (url, body?, params?).
func (m *module) withBody(method string) func(sobek.FunctionCall) sobek.Value {
	return func(call sobek.FunctionCall) sobek.Value {
		return m.request(method, call.Argument(0), call.Argument(1), call.Argument(2))
	}
}

// requestFunction is http.request(method, url, body?, params?).
func (m *module) requestFunction(call sobek.FunctionCall) sobek.Value {
	return m.request(call.Argument(0).String(), call.Argument(1), call.Argument(2), call.Argument(3))
}

// request makes a request and waits for the response.
func (m *module) request(method string, url, body, params sobek.Value) sobek.Value {
	state := m.state()
	preq, refused, err := m.parse(state, method, url, body, params)
	if err != nil {
		common.Throw(m.rt, err)
	}
	if refused != nil {
		return m.response(refused)
	}
	response, err := httpext.MakeRequest(m.vu.Context(), state, preq)
	if err != nil {
		common.Throw(m.rt, err)
	}
	return m.response(response)
}

var errInitContext = errors.New("requests can't be made in the init context: " +
	"make them in setup(), in the functions that scenarios run, or in teardown()")

// state returns the state of the VU, and throws in the init context.
func (m *module) state() *lib.State {
	state := m.vu.State()
	if state == nil {
		common.Throw(m.rt, errInitContext)
	}
	return state
}

// urlTemplate is http.url`…`: requests to addresses from one template share a name.
func (m *module) urlTemplate(call sobek.FunctionCall) sobek.Value {
	var parts []string
	if err := m.rt.ExportTo(call.Argument(0), &parts); err != nil || len(parts) == 0 {
		common.Throw(m.rt, errors.New("http.url is a template tag: use it as http.url`http://host/path/${value}`"))
	}
	name, address := parts[0], parts[0]
	for i, part := range parts[1:] {
		name += "${}" + part
		address += call.Argument(i+1).String() + part
	}
	url, err := httpext.NewURL(address, name)
	if err != nil {
		common.Throw(m.rt, fmt.Errorf("http.url: %w", err))
	}
	return m.rt.ToValue(url)
}
