package lib

import (
	"bytes"
	"encoding/json"
	"fmt"
	"reflect"
	"strings"

	"github.com/mstoykov/envconfig"
	"gopkg.in/guregu/null.v3"

	"go.k6.io/k6/v2/errext"
	"go.k6.io/k6/v2/errext/exitcodes"
	"go.k6.io/k6/v2/lib/types"
	"go.k6.io/k6/v2/metrics"
)

// Options are what a test can be told from its script, a config file, the environment and the command line. A field
// whose Valid is false, or that is nil, is not set.
type Options struct {
	Paused     null.Bool          `json:"paused" envconfig:"K6_PAUSED"`
	VUs        null.Int           `json:"vus" envconfig:"K6_VUS"`
	Duration   types.NullDuration `json:"duration" envconfig:"K6_DURATION"`
	Iterations null.Int           `json:"iterations" envconfig:"K6_ITERATIONS"`
	Stages     []Stage            `json:"stages" envconfig:"K6_STAGES"`
	Scenarios  ScenarioConfigs    `json:"scenarios" ignored:"true"`

	ExecutionSegment         *ExecutionSegment         `json:"executionSegment" ignored:"true"`
	ExecutionSegmentSequence *ExecutionSegmentSequence `json:"executionSegmentSequence" ignored:"true"`

	NoSetup              null.Bool          `json:"noSetup" envconfig:"K6_NO_SETUP"`
	SetupTimeout         types.NullDuration `json:"setupTimeout" envconfig:"K6_SETUP_TIMEOUT"`
	NoTeardown           null.Bool          `json:"noTeardown" envconfig:"K6_NO_TEARDOWN"`
	TeardownTimeout      types.NullDuration `json:"teardownTimeout" envconfig:"K6_TEARDOWN_TIMEOUT"`
	HandleSummaryTimeout types.NullDuration `json:"handleSummaryTimeout" envconfig:"K6_HANDLE_SUMMARY_TIMEOUT"`

	RPS                   null.Int               `json:"rps" envconfig:"K6_RPS"`
	DNS                   types.DNSConfig        `json:"dns" envconfig:"K6_DNS"`
	MaxRedirects          null.Int               `json:"maxRedirects" envconfig:"K6_MAX_REDIRECTS"`
	UserAgent             null.String            `json:"userAgent" envconfig:"K6_USER_AGENT"`
	Batch                 null.Int               `json:"batch" envconfig:"K6_BATCH"`
	BatchPerHost          null.Int               `json:"batchPerHost" envconfig:"K6_BATCH_PER_HOST"`
	HTTPDebug             null.String            `json:"httpDebug" envconfig:"K6_HTTP_DEBUG"`
	InsecureSkipTLSVerify null.Bool              `json:"insecureSkipTLSVerify" envconfig:"K6_INSECURE_SKIP_TLS_VERIFY"`
	TLSCipherSuites       *TLSCipherSuites       `json:"tlsCipherSuites" envconfig:"K6_TLS_CIPHER_SUITES"`
	TLSVersion            *TLSVersions           `json:"tlsVersion" ignored:"true"`
	TLSAuth               []*TLSAuth             `json:"tlsAuth" envconfig:"K6_TLSAUTH"`
	Throw                 null.Bool              `json:"throw" envconfig:"K6_THROW"`
	BlacklistIPs          []*IPNet               `json:"blacklistIPs" envconfig:"K6_BLACKLIST_IPS"`
	BlockedHostnames      types.NullHostnameTrie `json:"blockHostnames" envconfig:"K6_BLOCK_HOSTNAMES"`
	Hosts                 types.NullHosts        `json:"hosts" envconfig:"K6_HOSTS"`
	NoConnectionReuse     null.Bool              `json:"noConnectionReuse" envconfig:"K6_NO_CONNECTION_REUSE"`
	NoVUConnectionReuse   null.Bool              `json:"noVUConnectionReuse" envconfig:"K6_NO_VU_CONNECTION_REUSE"`
	NoCookiesReset        null.Bool              `json:"noCookiesReset" envconfig:"K6_NO_COOKIES_RESET"`
	DiscardResponseBodies null.Bool              `json:"discardResponseBodies" envconfig:"K6_DISCARD_RESPONSE_BODIES"`
	LocalIPs              types.NullIPPool       `json:"-" envconfig:"K6_LOCAL_IPS"`

	Thresholds              map[string]metrics.Thresholds `json:"thresholds" envconfig:"K6_THRESHOLDS"`
	MinIterationDuration    types.NullDuration            `json:"minIterationDuration" envconfig:"K6_MIN_ITERATION_DURATION"`
	SummaryTrendStats       []string                      `json:"summaryTrendStats" envconfig:"K6_SUMMARY_TREND_STATS"`
	SummaryTimeUnit         null.String                   `json:"summaryTimeUnit" envconfig:"K6_SUMMARY_TIME_UNIT"`
	SystemTags              *metrics.SystemTagSet         `json:"systemTags" envconfig:"K6_SYSTEM_TAGS"`
	RunTags                 map[string]string             `json:"tags" envconfig:"K6_TAGS"`
	MetricSamplesBufferSize null.Int                      `json:"metricSamplesBufferSize" envconfig:"K6_METRIC_SAMPLES_BUFFER_SIZE"`
	ConsoleOutput           null.String                   `json:"-" envconfig:"K6_CONSOLE_OUTPUT"`

	Cloud    json.RawMessage            `json:"cloud,omitempty" ignored:"true"`
	External map[string]json.RawMessage `json:"ext" ignored:"true"`
	Features []string                   `json:"features,omitempty" ignored:"true"`
}

// ParseOptions reads the JSON form. A top-level key that is no option is not an error: the first one is reported in
// unknown.
func ParseOptions(data []byte) (opts Options, unknown, err error) {
	if err := json.Unmarshal(data, &opts); err != nil {
		return Options{}, nil, errext.WithExitCodeIfNone(err, exitcodes.InvalidConfig)
	}
	var strict Options
	return opts, StrictJSONUnmarshal(data, &strict), nil
}

// OptionsFromEnv reads the K6_* variables. An empty one is as good as none.
func OptionsFromEnv(lookup func(key string) (string, bool)) (Options, error) {
	var opts Options
	unlessEmpty := func(key string) (string, bool) {
		value, ok := lookup(key)
		return value, ok && value != ""
	}
	if err := envconfig.Process("", &opts, unlessEmpty); err != nil {
		return Options{}, errext.WithExitCodeIfNone(err, exitcodes.InvalidConfig)
	}
	return opts, nil
}

// Apply returns the options with every field that is set in opts taken from there. Setting any of duration,
// iterations, stages and scenarios first unsets all four, since together they say how the test runs.
func (o Options) Apply(opts Options) Options {
	if opts.Duration.Valid || opts.Iterations.Valid || opts.Stages != nil || opts.Scenarios != nil {
		o.Duration, o.Iterations, o.Stages, o.Scenarios = types.NullDuration{}, null.Int{}, nil, nil
	}
	dns := o.DNS.Apply(opts.DNS)
	to, from := reflect.ValueOf(&o).Elem(), reflect.ValueOf(opts)
	for i := range from.NumField() {
		if field := from.Field(i); isSpecified(field) {
			to.Field(i).Set(field)
		}
	}
	o.DNS = dns
	return o
}

// Validate returns everything wrong with the options.
func (o Options) Validate() []error {
	var problems []error
	if o.ExecutionSegment != nil || o.ExecutionSegmentSequence != nil {
		if _, err := NewExecutionTuple(o.ExecutionSegment, o.ExecutionSegmentSequence); err != nil {
			problems = append(problems, err)
		}
	}
	return append(problems, o.Scenarios.Validate()...)
}

// ForEachSpecified calls cb with the name, from the struct tag, and the value of every field that is set.
func (o Options) ForEachSpecified(structTag string, cb func(key string, value any)) {
	v := reflect.ValueOf(o)
	for i := range v.NumField() {
		name, _, _ := strings.Cut(v.Type().Field(i).Tag.Get(structTag), ",")
		if name == "" || name == "-" {
			continue
		}
		if field := v.Field(i); isSpecified(field) {
			cb(name, field.Interface())
		}
	}
}

// isSpecified says whether an option field is set.
func isSpecified(field reflect.Value) bool {
	switch field.Kind() {
	case reflect.Map, reflect.Slice, reflect.Pointer:
		return !field.IsNil()
	case reflect.Struct:
		return field.FieldByName("Valid").Bool()
	default:
		return !field.IsZero()
	}
}

// marshalJSON is json.Marshal that leaves <, > and & as they are.
func marshalJSON(v any) ([]byte, error) {
	var buf bytes.Buffer
	encoder := json.NewEncoder(&buf)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(v); err != nil {
		return nil, fmt.Errorf("encoding a %T: %w", v, err)
	}
	return bytes.TrimSuffix(buf.Bytes(), []byte("\n")), nil
}
