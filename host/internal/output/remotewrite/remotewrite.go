// Package remotewrite is the experimental-prometheus-rw output: it writes metrics to Prometheus, and to what speaks
// its remote-write protocol 1.0.
package remotewrite

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"

	"github.com/klauspost/compress/snappy"
	"github.com/sirupsen/logrus"

	"go.k6.io/k6/v2/metrics"
	"go.k6.io/k6/v2/output"
)

const (
	userAgent       = "k6-prometheus-rw-output"
	protocolVersion = "0.1.0"
	requestTimeout  = 5 * time.Second
	maxErrorBody    = 512
)

// Output writes, once per push interval, the present value of every series that changed.
type Output struct {
	output.SampleBuffer

	config config
	stats  []trendStat
	logger logrus.FieldLogger
	client *http.Client
	// timeout is how long a request may take, with the answer.
	timeout time.Duration

	flusher *output.PeriodicFlusher

	// All below belongs to the flusher's goroutine, and to Stop after its end.
	series  map[metrics.TimeSeries]*series
	order   []*series // as they came up
	message []byte
	packed  []byte
}

var _ output.Output = (*Output)(nil)

// New reads the configuration.
func New(params output.Params) (output.Output, error) {
	config, err := readConfig(params)
	if err != nil {
		return nil, err
	}
	stats, err := trendStats(config.trendStats)
	if err != nil {
		return nil, fmt.Errorf("%sTREND_STATS: %w (or sum)", variablePrefix, err)
	}
	return &Output{
		config: config,
		stats:  stats,
		logger: params.Logger,
		client: &http.Client{
			Transport: &http.Transport{
				Proxy: http.ProxyFromEnvironment, TLSClientConfig: config.tls, ForceAttemptHTTP2: true,
			},
		},
		timeout: requestTimeout,
		series:  make(map[metrics.TimeSeries]*series),
	}, nil
}

// Description says where the metrics go.
func (o *Output) Description() string {
	return fmt.Sprintf("Prometheus remote write (%s)", o.config.serverURL)
}

// Start begins to write.
func (o *Output) Start() error {
	flusher, err := output.NewPeriodicFlusher(o.config.pushInterval, o.flush)
	if err != nil {
		return err
	}
	o.flusher = flusher
	return nil
}

// Stop writes what is left, and marks the series as ended if that was asked for.
func (o *Output) Stop() error {
	o.flusher.Stop()
	defer o.client.CloseIdleConnections()
	if !o.config.staleMarkers || len(o.order) == 0 {
		return nil
	}
	o.message = o.message[:0]
	now := time.Now()
	for _, s := range o.order {
		o.message = s.appendStale(o.message, now)
	}
	if err := o.push(); err != nil {
		return fmt.Errorf("marking the series as ended: %w", err)
	}
	return nil
}

func (o *Output) flush() {
	began := time.Now()
	o.collect(o.GetBufferedSamples())
	o.message = o.message[:0]
	for _, s := range o.order {
		if s.changed {
			o.message = s.append(o.message)
		}
	}
	if len(o.message) == 0 {
		return
	}
	if err := o.push(); err != nil {
		o.logger.WithField("error", err.Error()).Error("Failed to write the metrics to the remote-write endpoint")
		return
	}
	if took := time.Since(began); took > o.config.pushInterval {
		o.logger.Warnf("Writing the metrics took %s, longer than the push interval of %s: choose a longer %sPUSH_INTERVAL "+
			"or send fewer series", took.Round(time.Millisecond), o.config.pushInterval, variablePrefix)
	}
}

func (o *Output) collect(containers []metrics.SampleContainer) {
	for _, container := range containers {
		for _, sample := range container.GetSamples() {
			s, ok := o.series[sample.TimeSeries]
			if !ok {
				s = newSeries(sample.TimeSeries, o.stats, o.config.nativeHistograms)
				o.series[sample.TimeSeries] = s
				o.order = append(o.order, s)
			}
			s.add(sample)
		}
	}
}

// push sends the message.
func (o *Output) push() error {
	o.packed = snappy.Encode(o.packed[:cap(o.packed)], o.message)
	ctx, cancel := context.WithTimeout(context.Background(), o.timeout)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, o.config.serverURL, bytes.NewReader(o.packed))
	if err != nil {
		return err
	}
	for name, values := range o.config.headers {
		req.Header[name] = values
		if name == "Host" {
			req.Host = values[0]
		}
	}
	req.Header.Set("User-Agent", userAgent)
	req.Header.Set("Content-Type", "application/x-protobuf")
	req.Header.Set("Content-Encoding", "snappy")
	req.Header.Set("X-Prometheus-Remote-Write-Version", protocolVersion)
	switch {
	case o.config.signer != nil:
		o.config.signer.sign(req, o.packed)
	case o.config.basicAuth:
		req.SetBasicAuth(o.config.username, o.config.password)
	case o.config.bearerToken != "":
		req.Header.Set("Authorization", "Bearer "+o.config.bearerToken)
	}
	res, err := o.client.Do(req)
	if err != nil {
		return err
	}
	defer func() { _ = res.Body.Close() }() //nolint:errcheck // the status says it all
	said, err := io.ReadAll(io.LimitReader(res.Body, maxErrorBody))
	if res.StatusCode/100 == 2 {
		return nil
	}
	if err != nil {
		return fmt.Errorf("the endpoint answered %s", res.Status)
	}
	return fmt.Errorf("the endpoint answered %s: %s", res.Status, strings.TrimSpace(string(said)))
}
