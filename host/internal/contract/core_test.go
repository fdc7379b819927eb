package contract

import (
	"bytes"
	"context"
	"crypto/tls"
	"encoding/json"
	"io"
	"io/fs"
	"net"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"reflect"
	"testing"
	"time"

	"github.com/sirupsen/logrus"
	"github.com/spf13/afero"
	"github.com/stretchr/testify/assert"
	"golang.org/x/time/rate"
	"gopkg.in/guregu/null.v3"

	"go.k6.io/k6/v2/errext"
	"go.k6.io/k6/v2/errext/exitcodes"
	"go.k6.io/k6/v2/ext"
	"go.k6.io/k6/v2/internal/event"
	"go.k6.io/k6/v2/internal/features"
	"go.k6.io/k6/v2/internal/trace"
	"go.k6.io/k6/v2/internal/usage"
	"go.k6.io/k6/v2/lib"
	"go.k6.io/k6/v2/lib/fsext"
	"go.k6.io/k6/v2/lib/types"
	"go.k6.io/k6/v2/metrics"
	"go.k6.io/k6/v2/output"
	"go.k6.io/k6/v2/secretsource"
)

// Functions and methods of package metrics.
var (
	_ func() *metrics.Registry                                                                           = metrics.NewRegistry
	_ func(*metrics.Registry, string, metrics.MetricType, ...metrics.ValueType) (*metrics.Metric, error) = (*metrics.Registry).NewMetric
	_ func(*metrics.Registry, string, metrics.MetricType, ...metrics.ValueType) *metrics.Metric          = (*metrics.Registry).MustNewMetric
	_ func(*metrics.Registry, string) *metrics.Metric                                                    = (*metrics.Registry).Get
	_ func(*metrics.Registry) []*metrics.Metric                                                          = (*metrics.Registry).All
	_ func(*metrics.Registry) *metrics.TagSet                                                            = (*metrics.Registry).RootTagSet
	_ func(*metrics.Metric, string) (*metrics.Submetric, error)                                          = (*metrics.Metric).AddSubmetric
	_ func(string) (string, []string, error)                                                             = metrics.ParseMetricName
	_ func(*metrics.Registry) *metrics.BuiltinMetrics                                                    = metrics.RegisterBuiltinMetrics

	_ func(*metrics.TagSet, string, string) *metrics.TagSet                        = (*metrics.TagSet).With
	_ func(*metrics.TagSet, string) *metrics.TagSet                                = (*metrics.TagSet).Without
	_ func(*metrics.TagSet, string) (string, bool)                                 = (*metrics.TagSet).Get
	_ func(*metrics.TagSet, *metrics.TagSet) bool                                  = (*metrics.TagSet).Contains
	_ func(*metrics.TagSet) bool                                                   = (*metrics.TagSet).IsEmpty
	_ func(*metrics.TagSet) map[string]string                                      = (*metrics.TagSet).Map
	_ func(*metrics.TagSet, map[string]string) *metrics.TagSet                     = (*metrics.TagSet).WithTagsFromMap
	_ func(*metrics.TagsAndMeta, string, string)                                   = (*metrics.TagsAndMeta).SetTag
	_ func(*metrics.TagsAndMeta, string, string)                                   = (*metrics.TagsAndMeta).SetMetadata
	_ func(*metrics.TagsAndMeta, metrics.SystemTag, string)                        = (*metrics.TagsAndMeta).SetSystemTagOrMeta
	_ func(*metrics.TagsAndMeta, string)                                           = (*metrics.TagsAndMeta).DeleteTag
	_ func(*metrics.TagsAndMeta, string)                                           = (*metrics.TagsAndMeta).DeleteMetadata
	_ func(metrics.TagsAndMeta) metrics.TagsAndMeta                                = metrics.TagsAndMeta.Clone
	_ func(*metrics.TagsAndMeta, *metrics.SystemTagSet, metrics.SystemTag, string) = (*metrics.TagsAndMeta).SetSystemTagOrMetaIfEnabled

	_ func(context.Context, chan<- metrics.SampleContainer, metrics.SampleContainer) bool = metrics.PushIfNotDone
	_ func(<-chan metrics.SampleContainer) []metrics.SampleContainer                      = metrics.GetBufferedSamples
	_ func(time.Duration) float64                                                         = metrics.D
	_ func(float64) time.Duration                                                         = metrics.ToD
	_ func(bool) float64                                                                  = metrics.B

	_ func(metrics.SystemTag) string                      = metrics.SystemTag.String
	_ func(...metrics.SystemTag) *metrics.SystemTagSet    = metrics.NewSystemTagSet
	_ func([]string) *metrics.SystemTagSet                = metrics.ToSystemTagSet
	_ func(*metrics.SystemTagSet, metrics.SystemTag) bool = (*metrics.SystemTagSet).Has
	_ func(*metrics.SystemTagSet, metrics.SystemTag)      = (*metrics.SystemTagSet).Add

	_ func(metrics.MetricType) metrics.Sink                                = metrics.NewSink
	_ func() *metrics.TrendSink                                            = metrics.NewTrendSink
	_ func(*metrics.TrendSink, float64) float64                            = (*metrics.TrendSink).P
	_ func(*metrics.TrendSink) float64                                     = (*metrics.TrendSink).Min
	_ func(*metrics.TrendSink) float64                                     = (*metrics.TrendSink).Max
	_ func(*metrics.TrendSink) float64                                     = (*metrics.TrendSink).Avg
	_ func(*metrics.TrendSink) float64                                     = (*metrics.TrendSink).Total
	_ func(*metrics.TrendSink) uint64                                      = (*metrics.TrendSink).Count
	_ func([]string) (map[string]func(*metrics.TrendSink) float64, error)  = metrics.GetResolversForTrendColumns
	_ func([]string) metrics.Thresholds                                    = metrics.NewThresholds
	_ func(*metrics.Thresholds) error                                      = (*metrics.Thresholds).Parse
	_ func(*metrics.Thresholds, string, *metrics.Registry) error           = (*metrics.Thresholds).Validate
	_ func(*metrics.Thresholds, metrics.Sink, time.Duration) (bool, error) = (*metrics.Thresholds).Run

	_ metrics.Sink                     = (*metrics.CounterSink)(nil)
	_ metrics.ConnectedSampleContainer = metrics.Sample{}
	_ metrics.ConnectedSampleContainer = metrics.ConnectedSamples{}
	_ metrics.SampleContainer          = metrics.Samples{}
	_                                  = metrics.Threshold{Source: "", LastFailed: false, AbortOnFail: false, AbortGracePeriod: types.NullDuration{}}
	_                                  = metrics.EnabledTags(map[string]bool{})
)

// Functions and methods of package lib.
var (
	_ func(*lib.State) lib.AddrResolver                          = (*lib.State).GetAddrResolver
	_ func(*metrics.TagSet) *lib.VUStateTags                     = lib.NewVUStateTags
	_ func(*lib.VUStateTags) metrics.TagsAndMeta                 = (*lib.VUStateTags).GetCurrentValues
	_ func(*lib.VUStateTags, func(*metrics.TagsAndMeta))         = (*lib.VUStateTags).Modify
	_ func() *lib.BufferPool                                     = lib.NewBufferPool
	_ func(lib.BufferPool) *bytes.Buffer                         = lib.BufferPool.Get
	_ func(lib.BufferPool, *bytes.Buffer)                        = lib.BufferPool.Put
	_ func() *lib.TestStatus                                     = lib.NewTestStatus
	_ func(*lib.TestStatus)                                      = (*lib.TestStatus).MarkFailed
	_ func(*lib.TestStatus) bool                                 = (*lib.TestStatus).Failed
	_ func(context.Context) *lib.ScenarioState                   = lib.GetScenarioState
	_ func(context.Context, *lib.ScenarioState) context.Context  = lib.WithScenarioState
	_ func(context.Context) *lib.ExecutionState                  = lib.GetExecutionState
	_ func(context.Context, *lib.ExecutionState) context.Context = lib.WithExecutionState
	_ func(context.Context) error                                = lib.ContextErr
	_ func(*lib.ExecutionState) int64                            = (*lib.ExecutionState).GetInitializedVUsCount
	_ func(*lib.ExecutionState) int64                            = (*lib.ExecutionState).GetCurrentlyActiveVUsCount
	_ func(*lib.ExecutionState) uint64                           = (*lib.ExecutionState).GetFullIterationCount
	_ func(*lib.ExecutionState) uint64                           = (*lib.ExecutionState).GetPartialIterationCount
	_ func(*lib.ExecutionState) time.Duration                    = (*lib.ExecutionState).GetCurrentTestRunDuration
	_ func(*lib.ExecutionState) lib.ExecutionStatus              = (*lib.ExecutionState).GetCurrentExecutionStatus
	_ func(string, *lib.Group) (*lib.Group, error)               = lib.NewGroup
	_ func(string, *lib.Group) (*lib.Check, error)               = lib.NewCheck
	_ func(string, string) (string, error)                       = lib.NewGroupPath
	_ func(*lib.Group, string) (*lib.Group, error)               = (*lib.Group).Group
	_ func(*lib.Group, string) (*lib.Check, error)               = (*lib.Group).Check
	_ func(int) lib.SlotLimiter                                  = lib.NewSlotLimiter
	_ func(int) *lib.MultiSlotLimiter                            = lib.NewMultiSlotLimiter
	_ func(*lib.MultiSlotLimiter, string) lib.SlotLimiter        = (*lib.MultiSlotLimiter).Slot
	_ func([]byte, any) error                                    = lib.StrictJSONUnmarshal
	_ func(string) (*lib.IPNet, error)                           = lib.ParseCIDR
	_ func(*lib.TLSAuth) (*tls.Certificate, error)               = (*lib.TLSAuth).Certificate
	_ func(lib.Options, lib.Options) lib.Options                 = lib.Options.Apply
	_ func(lib.Options) []error                                  = lib.Options.Validate
	_ func(lib.Options, string, func(key string, value any))     = lib.Options.ForEachSpecified

	_ = lib.State{
		Options: lib.Options{}, BuiltinMetrics: (*metrics.BuiltinMetrics)(nil), Logger: logrus.FieldLogger(nil),
		Dialer: lib.DialContexter(nil), Transport: http.RoundTripper(nil), CookieJar: (*cookiejar.Jar)(nil),
		TLSConfig: (*tls.Config)(nil), RPSLimit: (*rate.Limiter)(nil), Samples: make(chan<- metrics.SampleContainer),
		BufferPool: (*lib.BufferPool)(nil), VUID: uint64(0), VUIDGlobal: uint64(0), Iteration: int64(0),
		Tags: (*lib.VUStateTags)(nil), GetScenarioVUIter: func() uint64 { return 0 },
		GetScenarioLocalVUIter: func() uint64 { return 0 }, GetScenarioGlobalVUIter: func() uint64 { return 0 },
		TracerProvider: lib.TracerProvider(nil), Usage: (*usage.Usage)(nil), TestStatus: (*lib.TestStatus)(nil),
	}
	_ = lib.TestPreInitState{
		RuntimeOptions: lib.RuntimeOptions{}, Registry: (*metrics.Registry)(nil), BuiltinMetrics: (*metrics.BuiltinMetrics)(nil),
		Events: (*event.System)(nil), KeyLogger: io.Writer(nil), LookupEnv: func(string) (string, bool) { return "", false },
		Logger: logrus.FieldLogger(nil), TracerProvider: (*trace.TracerProvider)(nil), Usage: (*usage.Usage)(nil),
		SecretsManager: (*secretsource.Manager)(nil), FeatureFlags: (*features.Flags)(nil), TestStatus: (*lib.TestStatus)(nil),
	}
	_ = lib.TestRunState{
		TestPreInitState: (*lib.TestPreInitState)(nil), Options: lib.Options{}, Runner: lib.Runner(nil),
		RunTags: (*metrics.TagSet)(nil), GroupSummary: (*lib.GroupSummary)(nil),
	}
	_          = lib.ScenarioState{Name: "", Executor: "", StartTime: time.Time{}, ProgressFn: func() (float64, []string) { return 0, nil }}
	_          = lib.ExecutionState{Test: (*lib.TestRunState)(nil), ExecutionTuple: (*lib.ExecutionTuple)(nil)}
	_          = lib.Stage{Duration: types.NullDuration{}, Target: null.Int{}}
	_          = lib.IPNet{IPNet: net.IPNet{}}
	_          = lib.TLSVersions{Min: lib.TLSVersion(0), Max: lib.TLSVersion(0)}
	_          = lib.TLSCipherSuites([]uint16{})
	_          = lib.ScenarioConfigs(map[string]lib.ExecutorConfig{})
	_          = [...]string{lib.GroupSeparator, lib.RootGroupPath, lib.DefaultScenarioName}
	_ []string = lib.DefaultSummaryTrendStats
)

// Functions and methods of packages lib/types and lib/fsext.
var (
	_ func(time.Duration, bool) types.NullDuration         = types.NewNullDuration
	_ func(time.Duration) types.NullDuration               = types.NullDurationFrom
	_ func(types.NullDuration) time.Duration               = types.NullDuration.TimeDuration
	_ func(types.NullDuration) types.Duration              = types.NullDuration.ValueOrZero
	_ func(string) (time.Duration, error)                  = types.ParseExtendedDuration
	_ func(any) (time.Duration, error)                     = types.GetDurationValue
	_ func(net.IP, string) (*types.Host, error)            = types.NewHost
	_ func(map[string]types.Host) (*types.Hosts, error)    = types.NewHosts
	_ func(*types.Hosts, string) *types.Host               = (*types.Hosts).Match
	_ func(map[string]types.Host) (types.NullHosts, error) = types.NewNullHosts
	_ func([]string) (*types.HostnameTrie, error)          = types.NewHostnameTrie
	_ func(*types.HostnameTrie, string) (string, bool)     = (*types.HostnameTrie).Contains
	_ func([]string) (types.NullHostnameTrie, error)       = types.NewNullHostnameTrie
	_ func(string) (*types.IPPool, error)                  = types.NewIPPool
	_ func(*types.IPPool, uint64) net.IP                   = (*types.IPPool).GetIP
	_ func() types.DNSConfig                               = types.DefaultDNSConfig
	_                                                      = types.NullIPPool{Pool: (*types.IPPool)(nil), Valid: false}
	_                                                      = net.TCPAddr(types.Host{})
	_                                                      = [...]types.DNSSelect{types.DNSfirst, types.DNSroundRobin, types.DNSrandom}
	_                                                      = [...]types.DNSPolicy{types.DNSpreferIPv4, types.DNSpreferIPv6, types.DNSonlyIPv4, types.DNSonlyIPv6, types.DNSany}

	_ afero.Fs                                          = fsext.Fs(nil)
	_ func() fsext.Fs                                   = fsext.NewMemMapFs
	_ func() fsext.Fs                                   = fsext.NewOsFs
	_ func(fsext.Fs) fsext.Fs                           = fsext.NewReadOnlyFs
	_ func(fsext.Fs, string) ([]byte, error)            = fsext.ReadFile
	_ func(fsext.Fs, string, []byte, fs.FileMode) error = fsext.WriteFile
	_ func(fsext.Fs, string) ([]fs.FileInfo, error)     = fsext.ReadDir
	_ func(fsext.Fs, string) (bool, error)              = fsext.Exists
	_ func(fsext.Fs, string) (bool, error)              = fsext.IsDir
	_ func(root, path string) string                    = fsext.Abs
	_ func(b, p string) string                          = fsext.JoinFilePath
)

// Packages output, ext, secretsource and errext.
var (
	_ func(string, output.Constructor)                             = output.RegisterExtension
	_ func(*output.SampleBuffer, []metrics.SampleContainer)        = (*output.SampleBuffer).AddMetricSamples
	_ func(*output.SampleBuffer) []metrics.SampleContainer         = (*output.SampleBuffer).GetBufferedSamples
	_ func(time.Duration, func()) (*output.PeriodicFlusher, error) = output.NewPeriodicFlusher
	_ func(*output.PeriodicFlusher)                                = (*output.PeriodicFlusher).Stop
	_ output.Constructor                                           = func(output.Params) (output.Output, error) { return nil, nil }
	_                                                              = output.Params{
		OutputType: "", ConfigArgument: "", JSONConfig: json.RawMessage{}, Logger: logrus.FieldLogger(nil),
		Environment: map[string]string{}, StdOut: io.Writer(nil), StdErr: io.Writer(nil), FS: fsext.Fs(nil),
		ScriptPath: (*url.URL)(nil), ScriptOptions: lib.Options{}, RuntimeOptions: lib.RuntimeOptions{},
		ExecutionPlan: []lib.ExecutionStep{}, Usage: (*usage.Usage)(nil), Features: (*features.Flags)(nil),
	}
	_ interface {
		output.Output
		SetThresholds(map[string]metrics.Thresholds)
	} = output.WithThresholds(nil)
	_ interface {
		output.Output
		SetTestRunStopCallback(func(error))
	} = output.WithTestRunStop(nil)
	_ interface {
		output.Output
		StopWithTestError(error) error
	} = output.WithStopWithTestError(nil)
	_ interface {
		output.Output
		SetBuiltinMetrics(*metrics.BuiltinMetrics)
	} = output.WithBuiltinMetrics(nil)
	_ interface {
		output.Output
		SetArchive(*lib.Archive)
	} = output.WithArchive(nil)

	_ func(string, ext.ExtensionType, any)              = ext.Register
	_ func(ext.ExtensionType) map[string]*ext.Extension = ext.Get
	_ func() []*ext.Extension                           = ext.GetAll
	_                                                   = ext.Extension{Name: "", Path: "", Version: "", Type: ext.JSExtension, Module: nil}

	_ func(string, secretsource.Constructor)                                           = secretsource.RegisterExtension
	_ func(map[string]secretsource.Source) (*secretsource.Manager, logrus.Hook, error) = secretsource.NewManager
	_ func(*secretsource.Manager, string, string) (string, error)                      = (*secretsource.Manager).Get
	_                                                                                  = secretsource.Params{
		ConfigArgument: "", Logger: logrus.FieldLogger(nil), Environment: map[string]string{}, FS: fsext.Fs(nil),
		Usage: (*usage.Usage)(nil),
	}

	_ func(error, exitcodes.ExitCode) error = errext.WithExitCodeIfNone
	_ func(error, string) error             = errext.WithHint
	_ func(error, errext.AbortReason) error = errext.WithAbortReasonIfNone
	_ func(error, map[string]any) error     = errext.WithFields
	_ func(error) map[string]any            = errext.FieldsFromErr
	_ func(error) (string, map[string]any)  = errext.Format
	_ func(error) bool                      = errext.IsInterruptError
	_ errext.HasExitCode                    = (*errext.InterruptError)(nil)
	_ interface{ Unwrap() error }           = nil
)

func TestNumbersThatModulesRelyOn(t *testing.T) {
	t.Parallel()
	assert.EqualValues(t, []metrics.MetricType{0, 1, 2, 3}, []metrics.MetricType{metrics.Counter, metrics.Gauge, metrics.Trend, metrics.Rate})
	assert.EqualValues(t, []metrics.ValueType{0, 1, 2}, []metrics.ValueType{metrics.Default, metrics.Time, metrics.Data})
	assert.EqualValues(t, 1, metrics.TagProto)
	assert.EqualValues(t, 1<<17, metrics.TagIP)
	assert.EqualValues(t, 1<<14-1, metrics.DefaultSystemTagSet)
	assert.EqualValues(t, 1, ext.JSExtension)
	assert.EqualValues(t, 4, ext.SubcommandExtension)
	assert.EqualValues(t, []errext.AbortReason{1, 2, 3, 4, 5, 6, 7}, []errext.AbortReason{
		errext.AbortedByUser, errext.AbortedByThreshold, errext.AbortedByThresholdsAfterTestEnd, errext.AbortedByScriptError,
		errext.AbortedByScriptAbort, errext.AbortedByTimeout, errext.AbortedByOutput,
	})
	assert.EqualValues(t, []exitcodes.ExitCode{97, 98, 99, 100, 101, 102, 103, 104, 105, 106, 107, 108, 109, 110}, []exitcodes.ExitCode{
		exitcodes.CloudTestRunFailed, exitcodes.CloudFailedToGetProgress, exitcodes.ThresholdsHaveFailed, exitcodes.SetupTimeout,
		exitcodes.TeardownTimeout, exitcodes.GenericTimeout, exitcodes.ScriptStoppedFromRESTAPI, exitcodes.InvalidConfig,
		exitcodes.ExternalAbort, exitcodes.CannotStartRESTAPI, exitcodes.ScriptException, exitcodes.ScriptAborted,
		exitcodes.GoPanic, exitcodes.MarkedAsFailed,
	})
	assert.Equal(t, "test aborted", errext.AbortTest)
	assert.Equal(t, "default", secretsource.DefaultSourceName)
}

// The options: their Go types, and the names that scripts and the environment know them by.
func TestOptionFields(t *testing.T) {
	t.Parallel()
	want := map[string][3]string{ // field: type, JSON name, variable
		"Paused": {"null.Bool", "paused", "K6_PAUSED"}, "VUs": {"null.Int", "vus", "K6_VUS"},
		"Duration": {"types.NullDuration", "duration", "K6_DURATION"}, "Iterations": {"null.Int", "iterations", "K6_ITERATIONS"},
		"Stages": {"[]lib.Stage", "stages", "K6_STAGES"}, "Scenarios": {"lib.ScenarioConfigs", "scenarios", ""},
		"ExecutionSegment":         {"*lib.ExecutionSegment", "executionSegment", ""},
		"ExecutionSegmentSequence": {"*lib.ExecutionSegmentSequence", "executionSegmentSequence", ""},
		"NoSetup":                  {"null.Bool", "noSetup", "K6_NO_SETUP"},
		"SetupTimeout":             {"types.NullDuration", "setupTimeout", "K6_SETUP_TIMEOUT"},
		"NoTeardown":               {"null.Bool", "noTeardown", "K6_NO_TEARDOWN"},
		"TeardownTimeout":          {"types.NullDuration", "teardownTimeout", "K6_TEARDOWN_TIMEOUT"},
		"HandleSummaryTimeout":     {"types.NullDuration", "handleSummaryTimeout", "K6_HANDLE_SUMMARY_TIMEOUT"},
		"RPS":                      {"null.Int", "rps", "K6_RPS"}, "DNS": {"types.DNSConfig", "dns", "K6_DNS"},
		"MaxRedirects": {"null.Int", "maxRedirects", "K6_MAX_REDIRECTS"}, "UserAgent": {"null.String", "userAgent", "K6_USER_AGENT"},
		"Batch": {"null.Int", "batch", "K6_BATCH"}, "BatchPerHost": {"null.Int", "batchPerHost", "K6_BATCH_PER_HOST"},
		"HTTPDebug":               {"null.String", "httpDebug", "K6_HTTP_DEBUG"},
		"InsecureSkipTLSVerify":   {"null.Bool", "insecureSkipTLSVerify", "K6_INSECURE_SKIP_TLS_VERIFY"},
		"TLSCipherSuites":         {"*lib.TLSCipherSuites", "tlsCipherSuites", "K6_TLS_CIPHER_SUITES"},
		"TLSVersion":              {"*lib.TLSVersions", "tlsVersion", ""},
		"TLSAuth":                 {"[]*lib.TLSAuth", "tlsAuth", "K6_TLSAUTH"},
		"Throw":                   {"null.Bool", "throw", "K6_THROW"},
		"Thresholds":              {"map[string]metrics.Thresholds", "thresholds", "K6_THRESHOLDS"},
		"BlacklistIPs":            {"[]*lib.IPNet", "blacklistIPs", "K6_BLACKLIST_IPS"},
		"BlockedHostnames":        {"types.NullHostnameTrie", "blockHostnames", "K6_BLOCK_HOSTNAMES"},
		"Hosts":                   {"types.NullHosts", "hosts", "K6_HOSTS"},
		"NoConnectionReuse":       {"null.Bool", "noConnectionReuse", "K6_NO_CONNECTION_REUSE"},
		"NoVUConnectionReuse":     {"null.Bool", "noVUConnectionReuse", "K6_NO_VU_CONNECTION_REUSE"},
		"MinIterationDuration":    {"types.NullDuration", "minIterationDuration", "K6_MIN_ITERATION_DURATION"},
		"Cloud":                   {"json.RawMessage", "cloud", ""},
		"External":                {"map[string]json.RawMessage", "ext", ""},
		"SummaryTrendStats":       {"[]string", "summaryTrendStats", "K6_SUMMARY_TREND_STATS"},
		"SummaryTimeUnit":         {"null.String", "summaryTimeUnit", "K6_SUMMARY_TIME_UNIT"},
		"SystemTags":              {"*metrics.SystemTagSet", "systemTags", "K6_SYSTEM_TAGS"},
		"RunTags":                 {"map[string]string", "tags", "K6_TAGS"},
		"MetricSamplesBufferSize": {"null.Int", "metricSamplesBufferSize", "K6_METRIC_SAMPLES_BUFFER_SIZE"},
		"NoCookiesReset":          {"null.Bool", "noCookiesReset", "K6_NO_COOKIES_RESET"},
		"DiscardResponseBodies":   {"null.Bool", "discardResponseBodies", "K6_DISCARD_RESPONSE_BODIES"},
		"ConsoleOutput":           {"null.String", "-", "K6_CONSOLE_OUTPUT"},
		"LocalIPs":                {"types.NullIPPool", "-", "K6_LOCAL_IPS"},
		"Features":                {"[]string", "features", ""},
	}
	got := make(map[string][3]string)
	for _, field := range reflect.VisibleFields(reflect.TypeFor[lib.Options]()) {
		name, _, _ := bytes.Cut([]byte(field.Tag.Get("json")), []byte(","))
		got[field.Name] = [3]string{field.Type.String(), string(name), field.Tag.Get("envconfig")}
	}
	assert.Equal(t, want, got)
}
