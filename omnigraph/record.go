package omnigraph

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"strings"
	"time"

	"go.k6.io/k6/v2/js/common"

	"github.com/grafana/sobek"
	"github.com/mitodl/xk6-omnigraph/omnigraph/wire"
	"github.com/mitodl/xk6-omnigraph/recorder"
	"github.com/tidwall/gjson"
)

// recordConfig is what a script says about its run record.
type recordConfig struct {
	name, dir string
	script    recorder.Script
}

var recordName = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9_.-]{0,63}$`)

// recordOptions is the JSON form of the options of record().
type recordOptions struct {
	Name     string          `json:"name"`
	Dir      string          `json:"dir"`
	Run      json.RawMessage `json:"run"`
	Dataset  json.RawMessage `json:"dataset"`
	System   json.RawMessage `json:"system"`
	Session  string          `json:"session"`
	Settings map[string]any  `json:"settings"`
	Probes   []string        `json:"probes"`

	run    recordRun
	system recordSystem
}

// recordRun are the factors of the run's description, by class; recorder.Run says which there are.
type recordRun struct {
	Data        levelTexts `json:"data"`
	State       levelTexts `json:"state"`
	Workload    levelTexts `json:"workload"`
	Environment levelTexts `json:"environment"`
	Protocol    levelTexts `json:"protocol"`
}

// recordSystem is what only the script knows of the system under test.
type recordSystem struct {
	Server     string     `json:"server"`
	CLI        string     `json:"cli"`
	APIVersion string     `json:"apiVersion"`
	Build      string     `json:"build"`
	Backend    string     `json:"backend"`
	Config     levelTexts `json:"config"`
}

// levelTexts are levels by name. A number is taken as its text: rows: 913 is what a script says.
type levelTexts map[string]string

// UnmarshalJSON implements json.Unmarshaler.
func (l *levelTexts) UnmarshalJSON(raw []byte) error {
	doc := gjson.ParseBytes(raw)
	switch {
	case doc.Type == gjson.Null:
		return nil
	case !doc.IsObject():
		return &json.UnmarshalTypeError{Value: kindOf(doc), Type: reflect.TypeOf(*l)}
	}
	*l = levelTexts{}
	var err error
	doc.ForEach(func(key, value gjson.Result) bool {
		switch value.Type {
		case gjson.String, gjson.Number:
			(*l)[key.String()] = value.String()
			return true
		default:
			// The decoder puts the names of the members around it before this one.
			err = &json.UnmarshalTypeError{Value: kindOf(value), Type: reflect.TypeFor[string](), Field: key.String()}
			return false
		}
	})
	return err
}

// kindOf says what a JSON value is, in the decoder's words.
func kindOf(v gjson.Result) string {
	switch {
	case v.IsObject():
		return "object"
	case v.IsArray():
		return "array"
	case v.IsBool():
		return "bool"
	}
	return strings.ToLower(v.Type.String())
}

// decodeMember decodes the options of record(), or a member of them that is an object of its own. What it has no place
// for is an error that says where it is and what is taken there.
func decodeMember(raw []byte, to any, option, takes string) error {
	if len(raw) == 0 {
		return nil
	}
	decoder := json.NewDecoder(bytes.NewReader(raw))
	decoder.DisallowUnknownFields()
	err := decoder.Decode(to)
	if err == nil {
		return nil
	}
	where := "record:"
	if option != "" {
		where = "record: option " + option + ":"
	}
	var wrong *json.UnmarshalTypeError
	if errors.As(err, &wrong) && wrong.Field != "" {
		return fmt.Errorf("%s member %s got a value of type %s; it takes %s", where, wrong.Field, wrong.Value, takes)
	}
	if errors.As(err, &wrong) {
		return fmt.Errorf("%s got a value of type %s; it takes %s", where, wrong.Value, takes)
	}
	return fmt.Errorf("%s %s; it takes %s", where, strings.TrimPrefix(err.Error(), "json: "), takes)
}

// record names the run record, describes the run, and gives the functions that add to it. Scripts call it in the init
// context; the first VU's call counts, the others have to say the same.
func (mi *instance) record(call sobek.FunctionCall) sobek.Value {
	if err := mi.configureRecord(call.Argument(0)); err != nil {
		mi.throw(err)
	}
	rt, rec := mi.vu.Runtime(), mi.root.recording.recorder
	o := rt.NewObject()
	set := func(name string, fn func(sobek.FunctionCall) sobek.Value) { _ = o.Set(name, fn) }
	set("before", func(call sobek.FunctionCall) sobek.Value { return mi.recordState(call, "before") })
	set("after", func(call sobek.FunctionCall) sobek.Value { return mi.recordState(call, "after") })
	set("event", func(call sobek.FunctionCall) sobek.Value {
		var took time.Duration
		if v := call.Argument(2); !common.IsNullish(v) {
			ms := v.ToFloat()
			if math.IsNaN(ms) || ms < 0 || ms > 1e12 {
				mi.throw(fmt.Errorf("event: argument took got %s; it takes milliseconds", describe(v)))
			}
			took = time.Duration(ms * float64(time.Millisecond))
		}
		text := ""
		if v := call.Argument(1); !common.IsNullish(v) {
			text = v.String()
		}
		rec.Event(mi.nameOf(call.Argument(0), "event: argument kind", "a word such as optimize"), text, took)
		return sobek.Undefined()
	})
	set("extra", func(call sobek.FunctionCall) sobek.Value {
		value, err := plainValue(call.Argument(1))
		if err != nil {
			mi.throw(fmt.Errorf("extra: argument value is %w", err))
		}
		rec.SetExtra(mi.nameOf(call.Argument(0), "extra: argument section", "a section's name"), value)
		return sobek.Undefined()
	})
	set("problem", func(sobek.FunctionCall) sobek.Value {
		if problem := mi.root.recording.problem(); problem != nil {
			return rt.ToValue(problem.Error())
		}
		return sobek.Null()
	})
	set("noiseFloor", func(call sobek.FunctionCall) sobek.Value {
		share := call.Argument(0).ToFloat()
		if math.IsNaN(share) || share < 0 || share > 1 {
			mi.throw(fmt.Errorf("noiseFloor: argument got %s; it takes a share from 0 to 1, such as 0.02", describe(call.Argument(0))))
		}
		rec.SetNoiseFloor(share)
		return sobek.Undefined()
	})
	return o
}

// nameOf takes a text that is not empty.
func (mi *instance) nameOf(v sobek.Value, what, takes string) string {
	s, ok := v.Export().(string)
	if !ok || s == "" {
		mi.throw(fmt.Errorf("%s got %s; it takes %s", what, describe(v), takes))
	}
	return s
}

// plainValue takes a value out of JS as JSON.stringify would write it: NaN, say, has no place in a record and is null.
func plainValue(v sobek.Value) (any, error) {
	o, ok := v.(*sobek.Object)
	if !ok {
		if f, isFloat := v.Export().(float64); isFloat && (math.IsNaN(f) || math.IsInf(f, 0)) {
			return nil, nil
		}
		return v.Export(), nil
	}
	encoded, err := encodeJSON(o)
	if err != nil {
		return nil, err
	}
	var plain any
	if err := json.Unmarshal(encoded, &plain); err != nil {
		return nil, fmt.Errorf("not encodable as JSON: %w", err)
	}
	return plain, nil
}

func (mi *instance) configureRecord(v sobek.Value) error {
	const members = "{name, dir, run, dataset, system, session, settings, probes}"
	const takes = "it takes " + members
	object, ok := v.(*sobek.Object)
	if !ok || isArray(object) || isFunction(v) {
		return fmt.Errorf("record: argument got %s; %s", describe(v), takes)
	}
	encoded, err := encodeJSON(object)
	if err != nil {
		return fmt.Errorf("record: options are %w", err)
	}
	if path, value, found := nonFinite(object, encoded); found {
		return fmt.Errorf("record: option %s got %s, which JSON has no form for; it takes what JSON can say, such as null", path, value)
	}
	var opts recordOptions
	if err := decodeMember(encoded, &opts, "", members); err != nil {
		return err
	}
	if err := decodeMember(opts.Run, &opts.run, "run", "{data, state, workload, environment, protocol}, each an object of texts and numbers"); err != nil {
		return err
	}
	if err := decodeMember(opts.System, &opts.system, "system", "{server, cli, apiVersion, build, backend}, each a text, and config, an object of texts and numbers"); err != nil {
		return err
	}
	switch opts.system.Build {
	case "", "release", "debug":
	default:
		return fmt.Errorf("record: option system: member build got %q; it takes 'release' or 'debug'", opts.system.Build)
	}
	if dataset := gjson.ParseBytes(opts.Dataset); dataset.Exists() && dataset.Type != gjson.Null && dataset.Type != gjson.String && !dataset.IsObject() {
		return fmt.Errorf("record: option dataset got %s; it takes the builder's name, or an object {builder, seed, sha256, …}", opts.Dataset)
	}
	if !recordName.MatchString(opts.Name) {
		return fmt.Errorf("record: option name got %q; it takes 1 to 64 letters, digits, dots, dashes and underscores", opts.Name)
	}
	if opts.Dir == "" {
		opts.Dir = filepath.Join("results", opts.Name)
	}
	return mi.root.recording.configure(mi, opts)
}

func (r *recording) configure(mi *instance, opts recordOptions) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.config != nil {
		if r.config.name != opts.Name || r.config.dir != opts.Dir {
			return fmt.Errorf("record: this run is recorded as %q in %s already, got %q in %s; a run has one record", r.config.name, r.config.dir, opts.Name, opts.Dir)
		}
		return nil
	}
	if err := r.recorder.SetRun(recorder.Run{
		Data: opts.run.Data, State: opts.run.State, Workload: opts.run.Workload, Environment: opts.run.Environment, Protocol: opts.run.Protocol,
	}); err != nil {
		return fmt.Errorf("record: %w", err)
	}
	r.recorder.SetSystem(recorder.System{
		Server: opts.system.Server, CLI: opts.system.CLI, APIVersion: opts.system.APIVersion, Build: opts.system.Build, Backend: opts.system.Backend, Config: opts.system.Config,
	})
	r.recorder.SetDataset(datasetOf(opts.Dataset))
	r.config = &recordConfig{name: opts.Name, dir: opts.Dir}
	r.recorder.SetPartialPath(r.config.path(partialFile))
	r.recorder.SetSession(opts.Session, "")
	r.recorder.SetProbes(opts.Probes)
	if mi.vu.InitEnv() != nil {
		r.config.script.Path = mi.scriptPath()
		r.config.script.SHA256 = fileDigest(r.config.script.Path)
	}
	r.config.script.Options = opts.Settings
	r.recorder.SetScript(r.config.script) // at once: a partial file is to say what was run, too
	r.recorder.SetVersions(versions())
	return nil
}

// datasetOf takes an identity as the rig exports it, a JSON object or its text, or any other text.
func datasetOf(raw json.RawMessage) recorder.Dataset {
	doc := gjson.ParseBytes(raw)
	if doc.Type == gjson.String {
		if inner := gjson.Parse(doc.String()); gjson.Valid(doc.String()) && inner.IsObject() {
			doc = inner
		} else {
			return recorder.Dataset{Builder: doc.String()}
		}
	}
	d := recorder.Dataset{Builder: doc.Get("builder").String(), Seed: doc.Get("seed").String(), SHA256: doc.Get("sha256").String()}
	d.Parameters = map[string]string{}
	doc.ForEach(func(key, value gjson.Result) bool {
		switch key.String() {
		case "builder", "seed", "sha256":
		default:
			d.Parameters[key.String()] = value.String()
		}
		return true
	})
	return d
}

// recordState asks a client what its store holds, and notes it. It returns the state, for scripts that decide on it.
func (mi *instance) recordState(call sobek.FunctionCall, when string) sobek.Value {
	c := mi.clientOf(call.Argument(0), when)
	if mi.vu.State() == nil {
		mi.throw(common.NewInitContextError(when + " can't be used in the init context: it asks the server; call it in setup() or teardown()"))
	}
	state, err := mi.readState(c)
	if err != nil {
		mi.vu.State().Logger.Warn("the store's state " + when + " the run could not be read: " + err.Error())
		return sobek.Null()
	}
	rec := mi.root.recording.recorder
	if when == "before" {
		rec.SetStateBefore(state)
	} else {
		rec.SetStateAfter(state)
	}
	rt := mi.vu.Runtime()
	o := rt.NewObject()
	_ = o.Set("rows", state.Rows)
	set := func(name string, n *int64) {
		if n == nil {
			_ = o.Set(name, sobek.Null())
		} else {
			_ = o.Set(name, *n)
		}
	}
	set("commits", state.Commits)
	set("commitsSinceOptimize", state.CommitsSinceOptimize)
	set("dataFiles", state.DataFiles)
	return o
}

func (mi *instance) readState(c *client) (recorder.State, error) {
	var state recorder.State
	snapshot, err := mi.ask(c, wire.OpSnapshot)
	if err != nil {
		return state, err
	}
	state.Rows = map[string]int64{}
	for _, e := range gjson.Parse(snapshot.Rows).Array() {
		state.Rows[e.Get("entity").String()+":"+e.Get("type").String()] = e.Get("rowCount").Int()
	}
	commits, err := mi.ask(c, wire.OpCommits)
	if err != nil {
		return state, err
	}
	n := int64(commits.RowCount)
	since := int64(0)
	for _, e := range gjson.Parse(commits.Rows).Array() {
		if e.Get("actorId").Type == gjson.Null {
			break // made by optimize or by a direct load
		}
		since++
	}
	state.Commits, state.CommitsSinceOptimize = &n, &since
	if c.transport == wire.TransportHTTP {
		// Its answer tells the server's version. One that has none is no reason to do without the state.
		_, _ = mi.ask(c, wire.OpHealth)
	}
	state.DataFiles = countDataFiles(c.storeHere())
	return state, nil
}

// storeHere is the storage of the client's graph, where it is known: its own option, or OMNIGRAPH_STORE unless the
// environment is of another server or graph.
func (c *client) storeHere() string {
	s := &c.settings
	if s.store != "" {
		return s.store
	}
	address := strings.TrimRight(cmp.Or(s.url, s.server), "/")
	known := cmp.Or(os.Getenv("OMNIGRAPH_URI"), os.Getenv("OMNIGRAPH_URL"))
	if known != "" && address != strings.TrimRight(known, "/") {
		return ""
	}
	if graph := os.Getenv("OMNIGRAPH_GRAPH"); graph != "" && s.graph != graph {
		return ""
	}
	return os.Getenv("OMNIGRAPH_STORE")
}

// ask makes one operation for the recording itself, with the tags that any operation has.
func (mi *instance) ask(c *client, op wire.Op) (*wire.Success, error) {
	for _, v := range verbs {
		if v.op != op {
			continue
		}
		inv, err := mi.prepare(v, sobek.FunctionCall{This: mi.vu.Runtime().ToValue(&handle{c})}, v.name)
		if err != nil {
			return nil, err
		}
		inv.execute()
		if inv.out.Err != nil {
			return nil, inv.out.Err
		}
		return &inv.out.Success, nil
	}
	return nil, fmt.Errorf("no operation %s", op)
}

// sawServer notes the server's version, which its answer to a health check gives.
func (r *recording) sawServer(health string) {
	r.serverSeen.Do(func() {
		version := gjson.Get(health, "version").String()
		r.recorder.SetSystem(recorder.System{Server: version})
		r.sawVersion(version)
	})
}

// sawCLI notes the CLI's version, as `omnigraph --version` prints it.
func (r *recording) sawCLI(version string) {
	r.cliSeen.Do(func() {
		version = strings.TrimSpace(strings.TrimPrefix(version, "omnigraph"))
		r.recorder.SetSystem(recorder.System{CLI: version})
		r.sawVersion(version)
	})
}

// countDataFiles counts the data files below a local store: the number of fragments that reads have to visit. It is
// nil for a store that can't be read from here.
func countDataFiles(store string) *int64 {
	if store == "" || strings.Contains(store, "://") {
		return nil
	}
	var n int64
	for _, kind := range []string{"nodes", "edges"} {
		files, err := filepath.Glob(filepath.Join(globEscape(store), kind, "*", "data", "*.lance"))
		if err != nil {
			return nil
		}
		n += int64(len(files))
	}
	if _, err := os.Stat(store); err != nil { // #nosec G703 -- the store that the user names
		return nil
	}
	return &n
}

// globEscape keeps a path's own brackets and stars from being patterns.
func globEscape(path string) string {
	return strings.NewReplacer(`\`, `\\`, `*`, `\*`, `?`, `\?`, `[`, `\[`).Replace(path)
}
