package http

import (
	"errors"
	"fmt"
	nethttp "net/http"
	"net/http/cookiejar"
	"strings"
	"time"

	"github.com/grafana/sobek"
	"gopkg.in/guregu/null.v3"

	"go.k6.io/k6/v2/js/common"
	"go.k6.io/k6/v2/lib"
	"go.k6.io/k6/v2/lib/netext/httpext"
	"go.k6.io/k6/v2/lib/types"
)

const (
	defaultTimeout = 60 * time.Second
	// maxURLs bounds the memory that addresses which never come back can take.
	maxURLs = 256
)

// parse makes a request from what a script gave. An address that can't be parsed is an error if the request throws;
// else it makes a response that says so, as any other failure does.
func (m *module) parse(
	state *lib.State, method string, address, body, params sobek.Value,
) (preq *httpext.ParsedHTTPRequest, refused *httpext.Response, err error) {
	preq = &httpext.ParsedHTTPRequest{
		Timeout:          defaultTimeout,
		Throw:            state.Options.Throw.Bool,
		Redirects:        state.Options.MaxRedirects,
		ActiveJar:        state.CookieJar,
		ResponseCallback: m.responseCallback,
		TagsAndMeta:      state.Tags.GetCurrentValues(),
	}
	if state.Options.DiscardResponseBodies.Bool {
		preq.ResponseType = httpext.ResponseTypeNone
	}

	buffer, contentType, mustHave, err := m.body(body)
	if err != nil {
		return nil, nil, err
	}
	preq.Body = buffer

	request := &nethttp.Request{
		Method: method, Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
	}
	preq.Req = request
	if err := m.applyParams(preq, params); err != nil {
		return nil, nil, err
	}
	if request.Header == nil {
		request.Header = make(nethttp.Header, 2)
	}
	setDefaultHeader(request.Header, "User-Agent", state.Options.UserAgent.String)
	if mustHave {
		request.Header.Set("Content-Type", contentType)
	} else if contentType != "" {
		setDefaultHeader(request.Header, "Content-Type", contentType)
	}

	url, err := m.url(address)
	if err != nil {
		if preq.Throw {
			return nil, nil, err
		}
		return nil, m.refuse(state, method, address, err), nil
	}
	preq.URL = url
	request.URL = url.GetURL()
	if preq.ActiveJar != nil || len(preq.Cookies) > 0 {
		httpext.SetRequestCookies(request, preq.ActiveJar, preq.Cookies)
	}
	return preq, nil, nil
}

func setDefaultHeader(header nethttp.Header, name, value string) {
	if _, ok := header[name]; !ok {
		header[name] = []string{value}
	}
}

// url reads an address: a string or what http.url made.
func (m *module) url(v sobek.Value) (*httpext.URL, error) {
	if v == nil {
		v = sobek.Undefined()
	}
	text, isText := v.Export().(string)
	if !isText {
		url, err := httpext.ToURL(v.Export())
		if err != nil {
			return nil, err
		}
		return &url, nil
	}
	if url, ok := m.urls[text]; ok {
		return &url, nil
	}
	url, err := httpext.ToURL(text)
	if err != nil {
		return nil, err
	}
	if m.urls == nil {
		m.urls = make(map[string]httpext.URL)
	} else if len(m.urls) >= maxURLs {
		clear(m.urls)
	}
	m.urls[text] = url
	return &url, nil
}

// refuse makes the response to a request whose address is no address.
func (m *module) refuse(state *lib.State, method string, address sobek.Value, err error) *httpext.Response {
	state.Logger.WithField("error", err.Error()).Warn("Request Failed")
	response := httpext.NewResponse()
	response.Request.Method = method
	if address != nil {
		response.URL = address.String()
		response.Request.URL = response.URL
	}
	response.Headers = make(map[string]string)
	response.Cookies = make(map[string][]*httpext.HTTPCookie)
	response.Error = err.Error()
	var k6Error httpext.K6Error
	if errors.As(err, &k6Error) {
		response.Error, response.ErrorCode = k6Error.Message, int(k6Error.Code)
	}
	return response
}

// applyParams reads the params object of a request. Keys that it does not know are ignored.
func (m *module) applyParams(preq *httpext.ParsedHTTPRequest, params sobek.Value) error {
	if params == nil || common.IsNullish(params) {
		return nil
	}
	object, ok := params.(*sobek.Object)
	if !ok {
		return nil
	}
	for _, key := range object.Keys() {
		if err := m.applyParam(preq, key, object.Get(key)); err != nil {
			return fmt.Errorf("the request parameter %q: %w", key, err)
		}
	}
	return nil
}

func (m *module) applyParam(preq *httpext.ParsedHTTPRequest, key string, value sobek.Value) (err error) {
	if key == "responseCallback" && !sobek.IsUndefined(value) {
		preq.ResponseCallback, err = responseCallback(value)
		return err
	}
	if common.IsNullish(value) {
		return nil
	}
	switch key {
	case "headers":
		m.applyHeaders(preq.Req, value)
	case "tags":
		return common.ApplyCustomUserTags(m.rt, &preq.TagsAndMeta, value)
	case "cookies":
		preq.Cookies = m.cookies(value)
	case "jar":
		preq.ActiveJar, err = exportJar(value)
	case "timeout":
		preq.Timeout, err = types.GetDurationValue(value.Export())
	case "throw":
		preq.Throw = value.ToBoolean()
	case "redirects":
		preq.Redirects = null.IntFrom(value.ToInteger())
	case "auth":
		preq.Auth = strings.ToLower(value.String())
	case "responseType":
		preq.ResponseType, err = httpext.ResponseTypeString(value.String())
	case "compression":
		preq.Compressions, err = compressions(value.String())
	}
	return err
}

func (m *module) applyHeaders(request *nethttp.Request, value sobek.Value) {
	object, ok := value.(*sobek.Object)
	if !ok {
		return
	}
	keys := object.Keys()
	// One more for the User-Agent; the values of all headers share one array.
	request.Header = make(nethttp.Header, len(keys)+1)
	values := make([]string, len(keys))
	for i, key := range keys {
		values[i] = object.Get(key).String()
		name := nethttp.CanonicalHeaderKey(key)
		request.Header[name] = values[i : i+1 : i+1]
		if name == "Host" {
			request.Host = values[i]
		}
	}
}

func (m *module) cookies(value sobek.Value) map[string]*httpext.HTTPRequestCookie {
	object, ok := value.(*sobek.Object)
	if !ok {
		return nil
	}
	cookies := make(map[string]*httpext.HTTPRequestCookie)
	for _, name := range object.Keys() {
		given := object.Get(name)
		if common.IsNullish(given) {
			continue
		}
		cookie := &httpext.HTTPRequestCookie{Name: name}
		if details, isObject := given.(*sobek.Object); isObject {
			if text := details.Get("value"); text != nil && !common.IsNullish(text) {
				cookie.Value = text.String()
			}
			if replace := details.Get("replace"); replace != nil {
				cookie.Replace = replace.ToBoolean()
			}
		} else {
			cookie.Value = given.String()
		}
		cookies[name] = cookie
	}
	return cookies
}

func exportJar(value sobek.Value) (*cookiejar.Jar, error) {
	jar, ok := value.Export().(*CookieJar)
	if !ok {
		return nil, fmt.Errorf("%s is no cookie jar; use new http.CookieJar() or http.cookieJar()", value)
	}
	return jar.jar, nil
}

func compressions(list string) ([]httpext.CompressionType, error) {
	var result []httpext.CompressionType
	for name := range strings.SplitSeq(list, ",") {
		if name = strings.ToLower(strings.TrimSpace(name)); name == "" {
			continue
		}
		t, err := httpext.CompressionTypeString(name)
		if err != nil {
			return nil, err
		}
		result = append(result, t)
	}
	return result, nil
}
