package types

import (
	"encoding/json"
	"math"
	"net"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestParseExtendedDuration(t *testing.T) {
	t.Parallel()
	const day = 24 * time.Hour
	for source, want := range map[string]time.Duration{
		"1s": time.Second, "1.5h": 90 * time.Minute, "1d": day, "1d12h": 36 * time.Hour, "-1d2h": -26 * time.Hour,
		"1500": 1500 * time.Millisecond, "0.5": 500 * time.Microsecond, "-2": -2 * time.Millisecond, "0": 0,
		"106751d": 106751 * day, "1e3": time.Second, "0d0s": 0,
	} {
		got, err := ParseExtendedDuration(source)
		require.NoError(t, err, source)
		assert.Equal(t, want, got, source)
	}
	for _, source := range []string{
		"", "d", "1.5d", "1d-2h", "1d+2h", "1dd", "soon", "106752d", "-106752d", "106751d24h", "NaN", "1e300", "Inf", "1d5",
	} {
		_, err := ParseExtendedDuration(source)
		assert.Error(t, err, source)
	}
}

func TestGetDurationValue(t *testing.T) {
	t.Parallel()
	for _, v := range []any{
		1500 * time.Millisecond, Duration(1500 * time.Millisecond), NullDurationFrom(1500 * time.Millisecond), "1.5s", "1500",
		1500, int16(1500), int32(1500), int64(1500), uint(1500), uint16(1500), uint32(1500), uint64(1500), 1500.0, float32(1500),
	} {
		got, err := GetDurationValue(v)
		require.NoError(t, err)
		assert.Equal(t, 1500*time.Millisecond, got, "%T", v)
	}
	for _, v := range []any{nil, true, []int{1}, "x", math.NaN(), int64(math.MaxInt64), uint64(math.MaxUint64), math.MaxFloat64} {
		_, err := GetDurationValue(v)
		assert.Error(t, err, "%v", v)
	}
}

func TestDurationsInJSONAndText(t *testing.T) {
	t.Parallel()
	var v struct{ A, B, C, D NullDuration }
	require.NoError(t, json.Unmarshal([]byte(`{"A": "1m30s", "B": 1500.5, "C": null}`), &v))
	assert.Equal(t, NullDurationFrom(90*time.Second), v.A)
	assert.Equal(t, 1500500*time.Microsecond, v.B.TimeDuration())
	assert.False(t, v.C.Valid)
	assert.Zero(t, v.D.ValueOrZero())
	encoded, err := json.Marshal(v)
	require.NoError(t, err)
	assert.JSONEq(t, `{"A": "1m30s", "B": "1.5005s", "C": null, "D": null}`, string(encoded))
	require.NoError(t, v.A.UnmarshalText(nil))
	assert.False(t, v.A.Valid)
	text, err := v.B.MarshalText()
	require.NoError(t, err)
	assert.Equal(t, "1.5005s", string(text))
	for _, bad := range []string{`true`, `{}`, `"x"`, `[]`} {
		require.Error(t, json.Unmarshal([]byte(bad), &v.A), bad)
	}
}

func TestHosts(t *testing.T) {
	t.Parallel()
	var hosts NullHosts
	require.NoError(t, json.Unmarshal([]byte(`{
		"Plain.test": "1.1.1.1", "plain.test:8080": "2.2.2.2:80", "*.wild.test": "[::1]:443", "*.deep.wild.test": "::2",
		"*.port.test:99": "3.3.3.3"
	}`), &hosts))
	for name, want := range map[string]string{
		"plain.test": "1.1.1.1", "PLAIN.TEST": "1.1.1.1", "plain.test:8080": "2.2.2.2:80", "a.wild.test": "[::1]:443",
		"a.b.wild.test": "[::1]:443", "x.deep.wild.test": "::2", "a.port.test:99": "3.3.3.3",
	} {
		got := hosts.Trie.Match(name)
		require.NotNil(t, got, name)
		assert.Equal(t, want, got.String(), name)
	}
	for _, name := range []string{"other.test", "wild.test", "xplain.test", "a.port.test", "plain.test:81"} {
		assert.Nil(t, hosts.Trie.Match(name), name)
	}
	var none *Hosts
	assert.Nil(t, none.Match("a"))

	any, err := NewHosts(map[string]Host{"*": {IP: net.IPv4(9, 9, 9, 9)}})
	require.NoError(t, err)
	assert.Equal(t, "9.9.9.9", any.Match("whatever").String())
	for _, bad := range []string{`{"a b": "1.1.1.1"}`, `{"a": "1.1.1"}`, `{"a": "x:80"}`, `{"a": "1.1.1.1:99999"}`, `{"": "1.1.1.1"}`, `{"a:x": "1.1.1.1"}`, `{"a.*.b": "1.1.1.1"}`, `5`} {
		require.Error(t, json.Unmarshal([]byte(bad), &hosts), bad)
	}
}

func TestBlockedHostnames(t *testing.T) {
	t.Parallel()
	trie, err := NewHostnameTrie([]string{"*.Example.org", "exact.test", "127.0.0.1"})
	require.NoError(t, err)
	pattern, ok := trie.Contains("WWW.example.ORG")
	assert.True(t, ok)
	assert.Equal(t, "*.Example.org", pattern)
	for name, want := range map[string]bool{"exact.test": true, "a.exact.test": false, "example.org": false, "127.0.0.1": true} {
		_, ok := trie.Contains(name)
		assert.Equal(t, want, ok, name)
	}
	for _, bad := range []string{"", "a..b", "a.*.c", "-a.test", "a_b c", "*a.test"} {
		_, err := NewHostnameTrie([]string{bad})
		require.Error(t, err, bad)
	}
	var null NullHostnameTrie
	require.NoError(t, null.UnmarshalText([]byte("a.test,*.b.test")))
	encoded, err := json.Marshal(null)
	require.NoError(t, err)
	assert.JSONEq(t, `["a.test","*.b.test"]`, string(encoded))
	require.NoError(t, null.UnmarshalJSON([]byte("null")))
	assert.False(t, null.Valid)
	_, ok = null.Trie.Contains("a.test")
	assert.False(t, ok)
}

func TestIPPool(t *testing.T) {
	t.Parallel()
	pool, err := NewIPPool("10.0.0.1, 10.0.1.0/30,10.0.2.255-10.0.3.1,fd00::1-fd00::2")
	require.NoError(t, err)
	want := []string{"10.0.0.1", "10.0.1.1", "10.0.1.2", "10.0.2.255", "10.0.3.0", "10.0.3.1", "fd00::1", "fd00::2"}
	for i := range uint64(20) {
		assert.Equal(t, want[i%uint64(len(want))], pool.GetIP(i).String(), i)
	}
	huge, err := NewIPPool("fd00::/8")
	require.NoError(t, err)
	assert.Equal(t, "fd00::1", huge.GetIP(0).String())
	single, err := NewIPPool("10.0.0.5/32")
	require.NoError(t, err)
	assert.Equal(t, "10.0.0.5", single.GetIP(7).String())
	for _, bad := range []string{"", "x", "10.0.0.9-10.0.0.1", "10.0.0.1-::1", "10.0.0.0/33", "1-2", "10.0.0.1-"} {
		_, err := NewIPPool(bad)
		require.Error(t, err, bad)
	}
}

func TestDNSConfig(t *testing.T) {
	t.Parallel()
	assert.Equal(t, "ttl=5m,select=random,policy=preferIPv4", DefaultDNSConfig().String())
	var c DNSConfig
	require.NoError(t, c.UnmarshalText([]byte("policy=any, ttl=inf,select=first")))
	assert.Equal(t, "ttl=inf,select=first,policy=any", c.String())
	encoded, err := json.Marshal(c)
	require.NoError(t, err)
	assert.JSONEq(t, `{"ttl":"inf","select":"first","policy":"any"}`, string(encoded))
	var fromJSON DNSConfig
	require.NoError(t, json.Unmarshal([]byte(`{"ttl": 500, "select": "roundRobin"}`), &fromJSON))
	assert.Equal(t, "500", fromJSON.TTL.String)
	merged := DefaultDNSConfig().Apply(fromJSON)
	assert.Equal(t, "ttl=500,select=roundRobin,policy=preferIPv4", merged.String())
	for _, bad := range []string{"ttl", "ttl=x", "select=best", "policy=none", "speed=1", "ttl=-5s"} {
		require.Error(t, (&DNSConfig{}).UnmarshalText([]byte(bad)), bad)
	}
	for _, bad := range []string{`{"ttl": "x"}`, `{"select": 1}`, `{"policy": "none"}`, `[]`} {
		require.Error(t, json.Unmarshal([]byte(bad), &DNSConfig{}), bad)
	}
}

func FuzzParseExtendedDuration(f *testing.F) {
	for _, seed := range []string{"1d12h", "-1d2h", "1500", "1.5e3", "1h2m3s4ms", "99999999999d"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, source string) {
		d, err := ParseExtendedDuration(source)
		if err != nil {
			return
		}
		again, err := ParseExtendedDuration(d.String())
		require.NoError(t, err)
		require.Equal(t, d, again)
	})
}

func FuzzHosts(f *testing.F) {
	f.Add("*.a.test:80", "[::1]:5", "x.a.test:80")
	f.Add("*", "1.2.3.4", "")
	f.Fuzz(func(t *testing.T, pattern, address, name string) {
		var host Host
		if host.UnmarshalText([]byte(address)) != nil {
			return
		}
		var again Host
		require.NoError(t, again.UnmarshalText([]byte(host.String())))
		hosts, err := NewHosts(map[string]Host{pattern: host})
		if err != nil {
			return
		}
		hosts.Match(name)
	})
}

func FuzzIPPool(f *testing.F) {
	f.Add("10.0.0.1-10.0.0.9,fd00::/64", uint64(1<<40))
	f.Add("::1%eth0", uint64(0))
	f.Fuzz(func(t *testing.T, ranges string, index uint64) {
		pool, err := NewIPPool(ranges)
		if err != nil {
			return
		}
		require.NotNil(t, pool.GetIP(index))
	})
}
