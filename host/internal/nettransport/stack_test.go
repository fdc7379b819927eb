package nettransport

import (
	"bytes"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"io"
	"math/big"
	"net"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"gopkg.in/guregu/null.v3"

	"go.k6.io/k6/v2/internal/leaktest"
	"go.k6.io/k6/v2/lib"
	"go.k6.io/k6/v2/lib/types"
)

func TestMain(m *testing.M) { leaktest.VerifyTestMain(m) }

func get(t *testing.T, stack *Stack, address string) (*http.Response, error) {
	t.Helper()
	t.Cleanup(stack.Transport.CloseIdleConnections)
	req, err := http.NewRequestWithContext(context.Background(), http.MethodGet, address, nil)
	require.NoError(t, err)
	res, err := stack.Transport.RoundTrip(req)
	if err == nil {
		_, err = io.Copy(io.Discard, res.Body)
		_ = res.Body.Close()
	}
	return res, err
}

func TestOptionsReachTheTransport(t *testing.T) {
	stack, err := New(lib.Options{
		Batch: null.IntFrom(7), BatchPerHost: null.IntFrom(3), NoConnectionReuse: null.BoolFrom(true),
		InsecureSkipTLSVerify: null.BoolFrom(true),
		TLSVersion:            &lib.TLSVersions{Min: tls.VersionTLS11, Max: tls.VersionTLS12},
		TLSCipherSuites:       &lib.TLSCipherSuites{tls.TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256},
	}, nil, 1, nil)
	require.NoError(t, err)
	assert.Equal(t, 7, stack.Transport.MaxIdleConns)
	assert.Equal(t, 3, stack.Transport.MaxIdleConnsPerHost)
	assert.True(t, stack.Transport.DisableKeepAlives)
	assert.True(t, stack.Transport.DisableCompression)
	assert.True(t, stack.TLSConfig.InsecureSkipVerify)
	assert.Equal(t, uint16(tls.VersionTLS11), stack.TLSConfig.MinVersion)
	assert.Equal(t, uint16(tls.VersionTLS12), stack.TLSConfig.MaxVersion)
	assert.Equal(t, []uint16{tls.TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256}, stack.TLSConfig.CipherSuites)
	assert.Equal(t, tls.RenegotiateFreelyAsClient, stack.TLSConfig.Renegotiation)
	assert.Empty(t, stack.TLSConfig.NextProtos, "the shared configuration is not that of the transport")
}

func TestTLSSecretsAreLogged(t *testing.T) {
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
	server.EnableHTTP2 = true
	server.StartTLS()
	defer server.Close()
	var secrets bytes.Buffer
	stack, err := New(lib.Options{InsecureSkipTLSVerify: null.BoolFrom(true)}, nil, 1, &secrets)
	require.NoError(t, err)
	res, err := get(t, stack, server.URL)
	require.NoError(t, err)
	assert.Equal(t, 2, res.ProtoMajor)
	assert.Contains(t, secrets.String(), "CLIENT_TRAFFIC_SECRET_0")
	assert.Positive(t, stack.Dialer.BytesRead)
}

func TestHostsAndLocalAddress(t *testing.T) {
	var from, host string
	server := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		from, host = r.RemoteAddr, r.Host
	}))
	defer server.Close()
	hosts, err := types.NewNullHosts(map[string]types.Host{"named.test": types.Host(*server.Listener.Addr().(*net.TCPAddr))}) //nolint:forcetypeassert // a test
	require.NoError(t, err)
	pool, err := types.NewIPPool("127.0.0.5,127.0.0.6")
	require.NoError(t, err)
	for vuID, want := range map[uint64]string{0: "127.0.0.5", 1: "127.0.0.5", 2: "127.0.0.6", 3: "127.0.0.5"} {
		stack, err := New(lib.Options{Hosts: hosts, LocalIPs: types.NullIPPool{Pool: pool, Valid: true}}, nil, vuID, nil)
		require.NoError(t, err)
		_, err = get(t, stack, "http://named.test/")
		require.NoError(t, err)
		assert.Equal(t, "named.test", host)
		ip, _, err := net.SplitHostPort(from)
		require.NoError(t, err)
		assert.Equal(t, want, ip)
	}
}

func newCertificate(t *testing.T, name string) (cert, key string) {
	t.Helper()
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	require.NoError(t, err)
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: name},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &private.PublicKey, private)
	require.NoError(t, err)
	keyDER, err := x509.MarshalECPrivateKey(private)
	require.NoError(t, err)
	encode := func(kind string, data []byte) string {
		return string(pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: data}))
	}
	return encode("CERTIFICATE", der), encode("EC PRIVATE KEY", keyDER)
}

func TestClientCertificatesGoToTheirDomains(t *testing.T) {
	var presented string
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		presented = "none"
		if len(r.TLS.PeerCertificates) > 0 {
			presented = r.TLS.PeerCertificates[0].Subject.CommonName
		}
	}))
	server.TLS = &tls.Config{ClientAuth: tls.RequestClientCert} //nolint:gosec // a test
	server.StartTLS()
	defer server.Close()
	address := types.Host(*server.Listener.Addr().(*net.TCPAddr)) //nolint:forcetypeassert // a test
	hosts, err := types.NewNullHosts(map[string]types.Host{"a.test": address, "x.b.test": address, "c.test": address})
	require.NoError(t, err)
	auth := func(name string, domains ...string) *lib.TLSAuth {
		cert, key := newCertificate(t, name)
		return &lib.TLSAuth{TLSAuthFields: lib.TLSAuthFields{Cert: cert, Key: key, Domains: domains}}
	}
	stack, err := New(lib.Options{
		InsecureSkipTLSVerify: null.BoolFrom(true), Hosts: hosts,
		TLSAuth: []*lib.TLSAuth{auth("for a", "a.test"), auth("for b", "*.b.test")},
	}, nil, 1, nil)
	require.NoError(t, err)
	for host, want := range map[string]string{"a.test": "for a", "x.b.test": "for b", "c.test": "none"} {
		_, err := get(t, stack, "https://"+host)
		require.NoError(t, err)
		assert.Equal(t, want, presented)
	}

	stack, err = New(lib.Options{
		InsecureSkipTLSVerify: null.BoolFrom(true), Hosts: hosts, TLSAuth: []*lib.TLSAuth{auth("for all")},
	}, nil, 1, nil)
	require.NoError(t, err)
	_, err = get(t, stack, "https://c.test")
	require.NoError(t, err)
	assert.Equal(t, "for all", presented)

	_, err = New(lib.Options{TLSAuth: []*lib.TLSAuth{{TLSAuthFields: lib.TLSAuthFields{Cert: "no", Key: "no"}}}}, nil, 1, nil)
	require.ErrorContains(t, err, "certificate 1 of the tlsAuth option")
}

func TestTimeToLive(t *testing.T) {
	for text, want := range map[string]time.Duration{"5m": 5 * time.Minute, "0": 0, "inf": forever, "1500": 1500 * time.Millisecond} {
		got, err := parseTTL(text)
		require.NoError(t, err)
		assert.Equal(t, want, got)
	}
	_, err := NewResolver(types.DNSConfig{TTL: null.StringFrom("soon")})
	require.ErrorContains(t, err, `"soon"`)
	resolver, err := NewResolver(types.DNSConfig{})
	require.NoError(t, err)
	ip, err := resolver.LookupIP("localhost")
	require.NoError(t, err)
	assert.True(t, ip.IsLoopback())
}

func TestRPSLimit(t *testing.T) {
	assert.Nil(t, NewRPSLimit(lib.Options{}))
	assert.Nil(t, NewRPSLimit(lib.Options{RPS: null.IntFrom(0)}))
	limit := NewRPSLimit(lib.Options{RPS: null.IntFrom(5)})
	assert.InDelta(t, 5, float64(limit.Limit()), 0)
	assert.Equal(t, 1, limit.Burst())
}
