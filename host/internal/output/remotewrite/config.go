package remotewrite

import (
	"crypto/tls"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"go.k6.io/k6/v2/lib/types"
	"go.k6.io/k6/v2/output"
)

const (
	variablePrefix      = "K6_PROMETHEUS_RW_"
	defaultServerURL    = "http://localhost:9090/api/v1/write"
	defaultPushInterval = 5 * time.Second
	defaultTrendStat    = "p(99)"
)

// config is what the user can choose, all of it by K6_PROMETHEUS_RW_* variables.
type config struct {
	serverURL    string
	pushInterval time.Duration
	headers      http.Header

	username, password string
	basicAuth          bool
	bearerToken        string
	signer             *signer // nil unless requests are signed

	tls *tls.Config

	trendStats       []string
	nativeHistograms bool
	staleMarkers     bool
}

// environment reads variables without their prefix and keeps the first error.
type environment struct {
	variables map[string]string
	err       error
}

func (e *environment) text(name, fallback string) string {
	if value := e.variables[variablePrefix+name]; value != "" {
		return value
	}
	return fallback
}

func (e *environment) fail(name, wants string) {
	if e.err == nil {
		e.err = fmt.Errorf("%s%s is %q; it has to be %s", variablePrefix, name, e.text(name, ""), wants)
	}
}

func (e *environment) boolean(name string) bool {
	text := e.text(name, "false")
	value, err := strconv.ParseBool(text)
	if err != nil {
		e.fail(name, "true or false")
	}
	return value
}

func (e *environment) duration(name string, fallback time.Duration) time.Duration {
	text := e.text(name, "")
	if text == "" {
		return fallback
	}
	value, err := types.ParseExtendedDuration(text)
	if err != nil || value <= 0 {
		e.fail(name, "a duration of more than 0")
	}
	return value
}

var errOnlyVariables = errors.New("it is configured by " + variablePrefix + "* variables only: set " +
	variablePrefix + "SERVER_URL to say where to write to")

// readConfig reads the variables.
func readConfig(params output.Params) (config, error) {
	if params.ConfigArgument != "" || len(params.JSONConfig) > 0 {
		return config{}, errOnlyVariables
	}
	env := &environment{variables: params.Environment}
	c := config{
		serverURL:        env.text("SERVER_URL", defaultServerURL),
		pushInterval:     env.duration("PUSH_INTERVAL", defaultPushInterval),
		headers:          make(http.Header),
		username:         env.text("USERNAME", ""),
		password:         env.text("PASSWORD", ""),
		bearerToken:      env.text("BEARER_TOKEN", ""),
		staleMarkers:     env.boolean("STALE_MARKERS"),
		nativeHistograms: env.boolean("TREND_AS_NATIVE_HISTOGRAM") || (params.Features != nil && params.Features.NativeHistograms),
	}
	if u, err := url.Parse(c.serverURL); err != nil || u.Host == "" || (u.Scheme != "http" && u.Scheme != "https") {
		env.fail("SERVER_URL", "an http or https address")
	}
	c.basicAuth = c.username != "" || c.password != ""
	for stat := range strings.SplitSeq(env.text("TREND_STATS", defaultTrendStat), ",") {
		if stat = strings.TrimSpace(stat); stat != "" {
			c.trendStats = append(c.trendStats, stat)
		}
	}
	c.readHeaders(env)
	c.readTLS(env)
	c.readSigning(env)
	return c, env.err
}

// readHeaders reads HTTP_HEADERS (a list of name:value) and HEADERS_NAME variables, which win.
func (c *config) readHeaders(env *environment) {
	for pair := range strings.SplitSeq(env.text("HTTP_HEADERS", ""), ",") {
		if strings.TrimSpace(pair) == "" {
			continue
		}
		name, value, ok := strings.Cut(pair, ":")
		if !ok || strings.TrimSpace(name) == "" {
			env.fail("HTTP_HEADERS", "a comma-separated list of name:value")
			return
		}
		c.headers.Set(strings.TrimSpace(name), strings.TrimSpace(value))
	}
	const headerPrefix = variablePrefix + "HEADERS_"
	for variable, value := range env.variables {
		if name, ok := strings.CutPrefix(variable, headerPrefix); ok && name != "" {
			c.headers.Set(name, value)
		}
	}
}

func (c *config) readTLS(env *environment) {
	c.tls = &tls.Config{
		InsecureSkipVerify: env.boolean("INSECURE_SKIP_TLS_VERIFY"), // #nosec -- for the user to decide
		MinVersion:         tls.VersionTLS13,
	}
	const minimum = "TLS_MINIMUM_VERSION"
	switch strings.TrimPrefix(env.text(minimum, "1.3"), "tls") {
	case "1.0":
		c.tls.MinVersion = tls.VersionTLS10 // #nosec G402 -- the user asks for it
	case "1.1":
		c.tls.MinVersion = tls.VersionTLS11 // #nosec G402 -- the user asks for it
	case "1.2":
		c.tls.MinVersion = tls.VersionTLS12
	case "1.3":
	default:
		env.fail(minimum, "1.0, 1.1, 1.2 or 1.3")
	}
	const certificate, key = "CLIENT_CERTIFICATE", "CLIENT_CERTIFICATE_KEY"
	certFile, keyFile := env.text(certificate, ""), env.text(key, "")
	if certFile == "" && keyFile == "" {
		return
	}
	pair, err := tls.LoadX509KeyPair(certFile, keyFile)
	if err != nil {
		env.fail(certificate, fmt.Sprintf("a file that goes with %s%s: %v", variablePrefix, key, err))
		return
	}
	c.tls.Certificates = []tls.Certificate{pair}
}

func (c *config) readSigning(env *environment) {
	s := &signer{
		region: env.text("SIGV4_REGION", ""), accessKey: env.text("SIGV4_ACCESS_KEY", ""),
		secretKey: env.text("SIGV4_SECRET_KEY", ""), now: time.Now,
	}
	switch {
	case s.region == "" && s.accessKey == "" && s.secretKey == "":
	case s.region == "" || s.accessKey == "" || s.secretKey == "":
		if env.err == nil {
			env.err = fmt.Errorf("%[1]sSIGV4_REGION, %[1]sSIGV4_ACCESS_KEY and %[1]sSIGV4_SECRET_KEY have to be set together", variablePrefix)
		}
	default:
		c.signer = s
	}
}
