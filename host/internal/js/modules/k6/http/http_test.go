package http

import (
	"encoding/json"
	"fmt"
	"io"
	nethttp "net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"gopkg.in/guregu/null.v3"

	"go.k6.io/k6/v2/internal/leaktest"
	"go.k6.io/k6/v2/js/modulestest"
)

func TestMain(m *testing.M) { leaktest.VerifyTestMain(m) }

// echo is what the test server says of a request.
type echo struct {
	Method  string            `json:"method"`
	Query   string            `json:"query"`
	Headers map[string]string `json:"headers"`
	Host    string            `json:"host"`
	Length  int64             `json:"length"`
	Body    string            `json:"body"`
}

func newServer(t *testing.T) string {
	t.Helper()
	mux := nethttp.NewServeMux()
	mux.HandleFunc("/echo", func(w nethttp.ResponseWriter, r *nethttp.Request) {
		body, _ := io.ReadAll(r.Body)
		answer := echo{Method: r.Method, Query: r.URL.RawQuery, Host: r.Host, Length: r.ContentLength, Body: string(body), Headers: map[string]string{}}
		for name, values := range r.Header {
			answer.Headers[strings.ToLower(name)] = strings.Join(values, "|")
		}
		_ = json.NewEncoder(w).Encode(answer)
	})
	mux.HandleFunc("/form", func(w nethttp.ResponseWriter, r *nethttp.Request) {
		if err := r.ParseMultipartForm(1 << 20); err != nil {
			w.WriteHeader(nethttp.StatusBadRequest)
			return
		}
		for name, values := range r.MultipartForm.Value {
			fmt.Fprintf(w, "%s=%s\n", name, strings.Join(values, "|"))
		}
		for name, files := range r.MultipartForm.File {
			for _, file := range files {
				f, err := file.Open()
				if err != nil {
					continue
				}
				data, _ := io.ReadAll(f)
				_ = f.Close()
				fmt.Fprintf(w, "%s: %s %s %q\n", name, file.Filename, file.Header.Get("Content-Type"), data)
			}
		}
	})
	mux.HandleFunc("/status/{code}", func(w nethttp.ResponseWriter, r *nethttp.Request) {
		code, _ := strconv.Atoi(r.PathValue("code"))
		w.WriteHeader(code)
		fmt.Fprintf(w, "status %d", code)
	})
	mux.HandleFunc("/raw", func(w nethttp.ResponseWriter, r *nethttp.Request) {
		_, _ = io.WriteString(w, r.URL.Query().Get("body"))
	})
	mux.HandleFunc("/never", func(_ nethttp.ResponseWriter, r *nethttp.Request) { <-r.Context().Done() })
	released := make(chan struct{})
	mux.HandleFunc("/held", func(w nethttp.ResponseWriter, r *nethttp.Request) {
		select {
		case <-r.Context().Done():
		case <-released:
			_, _ = io.WriteString(w, "released")
		}
	})
	mux.HandleFunc("/release", func(nethttp.ResponseWriter, *nethttp.Request) { close(released) })
	mux.HandleFunc("/cookie", func(w nethttp.ResponseWriter, r *nethttp.Request) {
		for name, values := range r.URL.Query() {
			nethttp.SetCookie(w, &nethttp.Cookie{Name: name, Value: values[0], Path: "/"})
		}
	})
	server := httptest.NewServer(mux)
	t.Cleanup(server.Close)
	return server.URL
}

// run runs code in a VU with http, base (the server's address) and echo(…), and returns what it evaluates to.
func run(t *testing.T, m *testModule, code string) any {
	t.Helper()
	require.NoError(t, m.rt.Set("base", newServer(t)))
	_, err := m.rt.RunString(`
		const sent = (...args) => http.request(...args).json();
		const thrown = (f) => { try { f(); } catch (e) { return e.message || String(e); } return 'nothing'; };
	`)
	require.NoError(t, err)
	value, err := m.RunOnEventLoop(code)
	require.NoError(t, err)
	return value.Export()
}

func TestScripts(t *testing.T) {
	for name, tc := range map[string]struct{ code, want string }{
		"get":               {`sent('GET', base + '/echo?a=1').query`, "a=1"},
		"method of get":     {`http.get(base + '/echo').json('method')`, "GET"},
		"method of del":     {`http.del(base + '/echo').json('method')`, "DELETE"},
		"method of patch":   {`http.patch(base + '/echo', 'x').json('method')`, "PATCH"},
		"method of options": {`http.options(base + '/echo').json('method')`, "OPTIONS"},
		"head":              {`const r = http.head(base + '/echo'); r.status + '[' + r.body + ']'`, "200[]"},
		"string":            {`sent('POST', base + '/echo', 'grüße').body`, "grüße"},
		"null body":         {`sent('POST', base + '/echo', null).length + ''`, "0"},
		"buffer":            {`sent('POST', base + '/echo', new Uint8Array([104, 105]).buffer).body`, "hi"},
		"view":              {`sent('POST', base + '/echo', new Uint8Array([0, 104, 105, 0]).subarray(1, 3)).body`, "hi"},
		"wide view":         {`sent('POST', base + '/echo', new Uint16Array([0x6968])).body`, "hi"},
		"data view":         {`sent('POST', base + '/echo', new DataView(new Uint8Array([0, 104, 105]).buffer, 1)).body`, "hi"},
		"form":              {`const e = sent('POST', base + '/echo', { b: 2, a: ['x y', 'ä'], n: null }); e.body + ' ' + e.headers['content-type']`, "a=x+y&a=%C3%A4&b=2&n= application/x-www-form-urlencoded"},
		"form of own type":  {`sent('POST', base + '/echo', { a: 1 }, { headers: { 'content-type': 'text/x' } }).headers['content-type']`, "text/x"},
		"number as body":    {`thrown(() => http.post(base, 5)).includes('has to be a string')`, "true"},
		"headers":           {`const h = sent('GET', base + '/echo', null, { headers: { 'x-a': 1, 'X-B': 'two' } }).headers; h['x-a'] + h['x-b']`, "1two"},
		"host":              {`sent('GET', base + '/echo', null, { headers: { Host: 'other.test' } }).host`, "other.test"},
		"user agent":        {`sent('GET', base + '/echo').headers['user-agent']`, "test agent"},
		"own user agent":    {`sent('GET', base + '/echo', null, { headers: { 'user-agent': 'mine' } }).headers['user-agent']`, "mine"},
		"no user agent":     {`String(sent('GET', base + '/echo', null, { headers: { 'User-Agent': '' } }).headers['user-agent'])`, "undefined"},
		"compression":       {`const e = sent('POST', base + '/echo', 'x', { compression: 'gzip, deflate' }); e.headers['content-encoding']`, "gzip, deflate"},
		"bad compression":   {`thrown(() => http.post(base, 'x', { compression: 'rar' })).includes('"rar" is no compression')`, "true"},
		"request":           {`const r = http.put(base + '/echo', 'x', { headers: { A: 'b' } }).request; [r.method, r.url.replace(base, ''), r.body, r.headers.A[0]].join()`, "PUT,/echo,x,b"},
		"keys": {
			`Object.keys(http.get(base + '/echo')).filter((k) => typeof k === 'string').sort().join()`,
			"body,clickLink,cookies,error,error_code,headers,html,json,ocsp,proto,remote_ip,remote_port,request,status," +
				"status_text,submitForm,timings,tls_cipher_suite,tls_version,url",
		},
		"timings":            {`Object.keys(http.get(base + '/echo').timings).sort().join()`, "blocked,connecting,duration,looking_up,receiving,sending,tls_handshaking,waiting"},
		"binary":             {`const b = http.get(base + '/raw?body=hi', { responseType: 'binary' }).body; (b instanceof ArrayBuffer) + ' ' + new Uint8Array(b).join()`, "true 104,105"},
		"json of binary":     {`http.get(base + '/raw?body={"a":1}', { responseType: 'binary' }).json('a') + ''`, "1"},
		"none":               {`String(http.get(base + '/raw?body=hi', { responseType: 'none' }).body)`, "null"},
		"bad response type":  {`thrown(() => http.get(base, { responseType: 'xml' })).includes('"xml" is no response type')`, "true"},
		"json keys in order": {`JSON.stringify(http.get(base + '/raw?body={"z":1,"a":[1,{"b":null}]}').json())`, `{"z":1,"a":[1,{"b":null}]}`},
		"json array":         {`Array.isArray(http.get(base + '/raw?body=[1]').json()) + ''`, "true"},
		"json selected":      {`JSON.stringify(http.get(base + '/raw?body={"l":[{"id":1},{"id":2}]}').json('l.%23.id'.replace('%23', '#')))`, `[1,2]`},
		"json null":          {`String(http.get(base + '/raw?body={"l":null}').json('l'))`, "null"},
		"json bad":           {`thrown(() => http.get(base + '/raw?body={"a":%0A!').json())`, "cannot parse json: line 2, character 1: invalid character '!' looking for beginning of value"},
		"json bad selected":  {`String(http.get(base + '/raw?body={"a":').json('a'))`, "undefined"},
		"json of nothing":    {`thrown(() => http.get(base + '/raw', { responseType: 'none' }).json()).includes('the body is null')`, "true"},
		"html refused":       {`thrown(() => http.get(base + '/raw').html())`, "Response.html() needs the HTML helpers, which this embedded host does not have; the real k6 has them"},
		"link refused":       {`thrown(() => http.get(base + '/raw').clickLink()).includes('the real k6 has them')`, "true"},
		"form refused":       {`thrown(() => http.get(base + '/raw').submitForm()).includes('the real k6 has them')`, "true"},
		"template":           {"const u = http.url`${base}/raw?body=${'x'}`; u.name + ' ' + http.get(u).body", "${}/raw?body=${} x"},
		"template misused":   {`thrown(() => http.url('x')).includes('template tag')`, "true"},
		"timeout":            {`const r = http.get(base + '/never', { timeout: 50 }); r.error + r.error_code`, "request timeout1050"},
		"timeout as text":    {`http.get(base + '/never', { timeout: '0.05s' }).error_code + ''`, "1050"},
		"bad timeout":        {`thrown(() => http.get(base, { timeout: 'soon' })).includes('the request parameter "timeout"')`, "true"},
		"bad address":        {`const r = http.get('http://a b/'); [r.status, r.error_code, r.body, typeof r.error].join()`, "0,1020,,string"},
		"bad address thrown": {`thrown(() => http.get('http://a b/', { throw: true })).includes('invalid URL')`, "true"},
		"no address":         {`http.get({}).error_code + ' ' + http.get(undefined).error_code`, "1020 1020"},
		"empty address":      {`http.get('').error_code + ''`, "1000"},
		"thrown failure":     {`thrown(() => http.get('http://127.0.0.1:1/', { throw: true })).includes('refused')`, "true"},
		"status is no throw": {`http.get(base + '/status/500', { throw: true }).error_code + ''`, "1500"},
		"params ignored":     {`http.get(base + '/raw?body=x', 'nonsense').body + http.get(base + '/raw?body=y', { unknown: 1, tags: null }).body`, "xy"},
		"bad tag":            {`thrown(() => http.get(base, { tags: { a: {} } })).length > 10`, "true"},
		"same function":      {`(http.get === http.get) + typeof http.get`, "truefunction"},
		"constants":          {`[http.TLS_1_3, http.OCSP_STATUS_GOOD, http.OCSP_REASON_SUPERSEDED].join()`, "tls1.3,good,superseded"},
	} {
		t.Run(name, func(t *testing.T) {
			assert.Equal(t, tc.want, fmt.Sprint(run(t, newTestModule(t), tc.code)))
		})
	}
}

func TestMultipart(t *testing.T) {
	got := run(t, newTestModule(t), `http.post(base + '/form', {
		text: 'plain', number: 5, file: http.file('data', 'a "b".txt', 'text/plain'), plain: http.file(new Uint8Array([1, 2]).buffer),
	}, { headers: { 'Content-Type': 'wrong' } }).body`)
	lines := strings.Split(strings.TrimSpace(got.(string)), "\n") //nolint:forcetypeassert // a test
	assert.Len(t, lines, 4)
	assert.Contains(t, lines, "text=plain")
	assert.Contains(t, lines, "number=5")
	assert.Contains(t, lines, `file: a "b".txt text/plain "data"`)
	assert.Regexp(t, `plain: \d+ application/octet-stream "\\x01\\x02"`, got)
}

func TestCookies(t *testing.T) {
	got := run(t, newTestModule(t), `
		const names = (params) => (http.get(base + '/echo', params).json('headers.cookie') || '').split('; ').sort().join(';');
		const out = [];
		out.push(Object.keys(http.get(base + '/cookie?a=1&b=2').cookies).sort().join(), names());
		out.push(names({ cookies: { c: '3', a: { value: '9', replace: true }, b: { value: 8 } } }));
		const jar = http.cookieJar();
		jar.set(base, 'd', '4', { path: '/echo' });
		out.push(names(), JSON.stringify(jar.cookiesForURL(base + '/echo').d), Object.keys(jar.cookiesForURL(base)).sort().join());
		const own = new http.CookieJar();
		out.push(own.set(base, 'e', '5', { max_age: 60, expires: 'Wed, 02 Jan 2097 15:04:05 GMT', secure: false, http_only: true }) + names({ jar: own }));
		jar.clear(base);
		out.push(names());
		jar.delete(base + '/echo', 'd');
		out.push(names() || 'none', (own instanceof http.CookieJar) + '');
		out.push(thrownAt(() => http.get(base, { jar: {} })), thrownAt(() => jar.set(base, 'x', 'y', { expires: 'tomorrow' })));
		function thrownAt(f) { try { f(); } catch (e) { return String(e.message).slice(0, 32); } return 'nothing'; }
		out.join(' ')`)
	assert.Equal(t, "a,b a=1;b=2 a=9;b=2;b=8;c=3 a=1;b=2;d=4 [\"4\"] a,b truee=5 d=4 none true "+
		`the request parameter "jar": [ob the cookie option expires has to`, got)
}

func TestBatch(t *testing.T) {
	m := newTestModule(t)
	got := run(t, m, `
		const list = http.batch([
			base + '/echo?n=1', ['POST', base + '/echo', 'body', { headers: { 'X-One': '1' } }], ['GET', base + '/echo', null],
			{ method: 'PUT', url: base + '/echo', body: { a: 'b' } }, { url: base + '/echo' }, 'http://a b/', 'http://127.0.0.1:1/',
			http.url`+"`${base}/echo`"+`,
		]);
		const named = http.batch({ first: base + '/raw?body=x', second: ['DELETE', base + '/echo'] });
		[Array.isArray(list), list.map((r) => r.status), list.map((r) => r.error_code), list[1].json('body'), list[3].json('method'),
			list[1].json('headers.x-one'), Object.keys(named), named.first.body, named.second.json('method'), http.batch([]).length,
			thrown(() => http.batch('x')).startsWith('invalid http.batch() argument type'), thrown(() => http.batch([[]])).includes('no url'),
			thrown(() => http.batch([['GET', 'http://127.0.0.1:1/', null, { throw: true }], base + '/echo'])).includes('refused'),
		].join('; ')`)
	assert.Equal(t, "true; 200,200,200,200,200,0,0,200; 0,0,0,0,0,1020,1212,0; body; PUT; 1; first,second; x; DELETE; 0; true; true; true", got)
	m.stop()
	assert.Len(t, m.trails, 11)
}

func TestAsyncRequest(t *testing.T) {
	got := run(t, newTestModule(t), `
		const out = [];
		const first = http.asyncRequest('GET', base + '/raw?body=x');
		out.push(first instanceof Promise);
		(async () => {
			out.push((await first).body);
			const both = await Promise.all([
				http.asyncRequest('GET', base + '/held').then((r) => { out.push('slow ' + r.body); return r; }),
				http.asyncRequest('POST', base + '/echo', 'x').then((r) => { out.push('fast'); http.get(base + '/release'); return r; }),
			]);
			out.push(both.map((r) => r.request.method).join('+'));
			out.push((await http.asyncRequest('GET', 'http://127.0.0.1:1/')).error_code);
			out.push((await http.asyncRequest('GET', 'http://a b/')).error_code);
			for (const address of ['http://127.0.0.1:1/', 'http://a b/']) {
				try { await http.asyncRequest('GET', address, null, { throw: true }); out.push('no'); } catch (e) { out.push(/refused|invalid URL/.exec(e.message)[0]); }
			}
		})();
		out`)
	assert.Equal(t, "[true x fast slow released GET+POST 1212 1020 refused invalid URL]", fmt.Sprint(got))
}

func TestExpectedStatuses(t *testing.T) {
	m := newTestModule(t)
	run(t, m, `
		for (const s of [200, 399, 400]) http.get(base + '/status/' + s);
		http.get(base + '/status/404', { responseCallback: http.expectedStatuses(201, { min: 400, max: 404 }) });
		http.get(base + '/status/200', { responseCallback: http.expectedStatuses(201, { min: 400, max: 404 }) });
		http.get(base + '/status/200', { responseCallback: null });
		http.setResponseCallback(http.expectedStatuses(500));
		http.get(base + '/status/500');
		http.setResponseCallback(null);
		http.get(base + '/status/500');
		if (!thrown(() => http.setResponseCallback(() => true)).includes('is no rule')) throw new Error('a function was taken');
		if (!thrown(() => http.expectedStatuses()).includes('no arguments')) throw new Error('no arguments were taken');
		if (!thrown(() => http.expectedStatuses(1.5)).includes('neither')) throw new Error('a fraction was taken');
		if (!thrown(() => http.expectedStatuses({ min: 1 })).includes('neither')) throw new Error('half a range was taken');
	`)
	m.stop()
	var failed []string
	for _, trail := range m.trails {
		expected, tagged := trail.Tags.Get("expected_response")
		failed = append(failed, fmt.Sprintf("%v %v %s %v", trail.Failed.Valid, trail.Failed.Bool, expected, tagged))
	}
	success, failure, neither := "true false true true", "true true false true", "false false  false"
	assert.Equal(t, []string{success, success, failure, success, failure, neither, success, neither}, failed)
}

func TestOptionsOfTheTest(t *testing.T) {
	m := newTestModule(t)
	m.state.Options.DiscardResponseBodies = null.BoolFrom(true)
	m.state.Options.Throw = null.BoolFrom(true)
	assert.Equal(t, "null x true nothing", run(t, m, `
		[http.get(base + '/raw?body=x').body + '', http.get(base + '/raw?body=x', { responseType: 'text' }).body,
			thrown(() => http.get('http://127.0.0.1:1/')).includes('refused'), thrown(() => http.get('http://127.0.0.1:1/', { throw: false }))].join(' ')`))
}

func TestTagsOfRequests(t *testing.T) {
	m := newTestModule(t)
	run(t, m, `http.get(base + '/raw', { tags: { mine: 'yes', num: 5, name: 'named' } }); http.get(base + '/raw')`)
	m.stop()
	require.Len(t, m.trails, 2)
	first, second := m.trails[0].Tags.Map(), m.trails[1].Tags.Map()
	assert.Equal(t, []string{"yes", "5", "named", "named"}, []string{first["mine"], first["num"], first["name"], first["url"]})
	assert.NotContains(t, second, "mine")
}

func TestInitContextIsRefused(t *testing.T) {
	runtime := modulestest.NewRuntime(t)
	rt := runtime.VU.Runtime()
	require.NoError(t, rt.Set("http", New().NewModuleInstance(runtime.VU).Exports().Default))
	for _, code := range []string{
		`http.get('http://127.0.0.1/')`, `http.batch([])`, `http.asyncRequest('GET', 'http://127.0.0.1/')`, `http.cookieJar()`,
	} {
		_, err := rt.RunString(code)
		require.ErrorContains(t, err, "init context", code)
	}
	_, err := rt.RunString("new http.CookieJar(); http.expectedStatuses(200); http.url`x`; http.file('x')")
	require.NoError(t, err)
}
