package csv

import (
	stdcsv "encoding/csv"
	"strings"
	"testing"
	"time"

	"github.com/sirupsen/logrus/hooks/test"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"go.k6.io/k6/v2/internal/leaktest"
	"go.k6.io/k6/v2/lib/fsext"
	"go.k6.io/k6/v2/metrics"
	"go.k6.io/k6/v2/output"
)

func TestMain(m *testing.M) { leaktest.VerifyTestMain(m) }

func newParams(argument string) output.Params {
	logger, _ := test.NewNullLogger()
	return output.Params{
		ConfigArgument: argument, Logger: logger, FS: fsext.NewMemMapFs(), StdOut: &strings.Builder{},
		Environment: map[string]string{},
	}
}

func writeRows(t *testing.T, params output.Params, file string) [][]string {
	t.Helper()
	registry := metrics.NewRegistry()
	o, err := New(params)
	require.NoError(t, err)
	require.NoError(t, o.Start())
	o.AddMetricSamples([]metrics.SampleContainer{metrics.Sample{
		TimeSeries: metrics.TimeSeries{
			Metric: registry.MustNewMetric("http_reqs", metrics.Counter),
			Tags: registry.RootTagSet().WithTagsFromMap(map[string]string{
				"method": "GET", "check": "is, fine", "extra": `x,"y"`, "b": "2", "ip": "::1",
			}),
		},
		Time: time.Unix(1_700_000_000, 123_456_789).UTC(), Value: 2.5, Metadata: map[string]string{"vu": "1", "iter": "0"},
	}})
	require.NoError(t, o.Stop())
	content, err := fsext.ReadFile(params.FS, file)
	require.NoError(t, err)
	rows, err := stdcsv.NewReader(strings.NewReader(string(content))).ReadAll()
	require.NoError(t, err)
	require.Len(t, rows, 2)
	return rows
}

func TestDefaultColumns(t *testing.T) {
	t.Parallel()
	rows := writeRows(t, newParams("out.csv"), "out.csv")
	assert.Equal(t, "metric_name,timestamp,metric_value,check,error,error_code,expected_response,group,method,name,"+
		"proto,scenario,service,status,subproto,tls_version,url,extra_tags,metadata", strings.Join(rows[0], ","))
	assert.Equal(t, []string{
		"http_reqs", "1700000000", "2.500000", "is, fine", "", "", "", "", "GET", "", "", "", "", "", "", "", "",
		`b=2&extra=x,"y"&ip=::1`, "iter=0&vu=1",
	}, rows[1])
}

func TestColumnsFollowTheSystemTags(t *testing.T) {
	t.Parallel()
	params := newParams("")
	params.ScriptOptions.SystemTags = metrics.NewSystemTagSet(metrics.TagIP, metrics.TagVU, metrics.TagIter, metrics.TagCheck)
	rows := writeRows(t, params, "file.csv")
	assert.Equal(t, []string{"metric_name", "timestamp", "metric_value", "check", "ip", "extra_tags", "metadata"}, rows[0])
	assert.Equal(t, []string{
		"http_reqs", "1700000000", "2.500000", "is, fine", "::1", `b=2&extra=x,"y"&method=GET`, "iter=0&vu=1",
	}, rows[1])
}

func TestTimeFormats(t *testing.T) {
	t.Parallel()
	for format, want := range map[string]string{
		"unix": "1700000000", "unix_milli": "1700000000123", "unix_micro": "1700000000123456",
		"unix_nano": "1700000000123456789", "rfc3339": "2023-11-14T22:13:20Z", "rfc3339_nano": "2023-11-14T22:13:20.123456789Z",
	} {
		rows := writeRows(t, newParams("fileName=a.csv,saveInterval=20ms,timeFormat="+format), "a.csv")
		assert.Equal(t, want, rows[1][1])
		params := newParams("a.csv")
		params.Environment["K6_CSV_TIME_FORMAT"] = format
		assert.Equal(t, want, writeRows(t, params, "a.csv")[1][1])
	}
}

func TestLayersOfSettings(t *testing.T) {
	t.Parallel()
	params := newParams("saveInterval=3s")
	params.JSONConfig = []byte(`{"fileName": "json.csv", "saveInterval": "1m", "timeFormat": "unix_nano"}`)
	params.Environment["K6_CSV_FILENAME"] = "env.csv"
	params.Environment["K6_CSV_SAVE_INTERVAL"] = "2s"
	c, err := consolidate(params)
	require.NoError(t, err)
	assert.Equal(t, "env.csv", c.FileName.String)
	assert.Equal(t, 3*time.Second, c.SaveInterval.TimeDuration())
	assert.Equal(t, "unix_nano", c.TimeFormat.String)
}

func TestBadSettings(t *testing.T) {
	t.Parallel()
	for argument, text := range map[string]string{
		"timeFormat=roman": "roman", "saveInterval=soon": "saveInterval", "colour=1": "unknown key 'colour'",
		"fileName=a,b": "key=value",
	} {
		_, err := New(newParams(argument))
		require.Error(t, err, argument)
		assert.Contains(t, err.Error(), text)
	}
	params := newParams("saveInterval=0s")
	o, err := New(params)
	require.NoError(t, err)
	require.Error(t, o.Start())
}

func FuzzArgument(f *testing.F) {
	f.Add("a.csv")
	f.Add("fileName=a,saveInterval=1s,timeFormat=unix")
	f.Add("=,=")
	f.Fuzz(func(t *testing.T, argument string) {
		c, err := parseArgument(argument)
		if err == nil && c.TimeFormat.Valid {
			if format, err := timeFormatter(c.TimeFormat.String); err == nil {
				require.NotEmpty(t, format(time.Unix(0, 0)))
			}
		}
	})
}
