package omnigraph

import (
	"fmt"
	"math"
	"regexp"
	"strconv"
	"time"

	"go.k6.io/k6/v2/js/common"

	"github.com/grafana/sobek"
)

// levelOptions are the options of levels().
type levelOptions struct {
	name        string
	exec        string
	duration    time.Duration
	iterations  int
	warmup      time.Duration
	maxDuration time.Duration
	startTime   time.Duration
	gap         time.Duration
	tags        map[string]string
	env         map[string]string
}

const (
	defaultLevelMaxDuration = 10 * time.Minute
	defaultLevelGap         = time.Second
)

var scenarioName = regexp.MustCompile(`^[0-9a-zA-Z_-]+$`)

// levels makes one scenario for each level of concurrency, each starting once the one before has to be over, with the
// tags workers and phase; with warmup, each has a scenario before it whose phase is warmup.
func (mi *instance) levels(call sobek.FunctionCall) sobek.Value {
	rt := mi.vu.Runtime()
	counts, err := levelCounts(call.Argument(0))
	if err != nil {
		mi.throw(err)
	}
	o, err := readLevelOptions(rt, call.Argument(1))
	if err != nil {
		mi.throw(err)
	}
	if o.iterations > 0 && o.maxDuration == 0 {
		o.maxDuration = defaultLevelMaxDuration
		mi.warnOfOpenEndedLevels(len(counts))
	}
	scenarios := rt.NewObject()
	start := o.startTime
	for _, n := range counts {
		base := o.name + "_" + strconv.Itoa(n)
		if o.warmup > 0 {
			_ = scenarios.Set(base+"_warmup", mi.levelScenario(&o, n, "warmup", start, o.warmup, 0))
			start += o.warmup + o.gap
		}
		length := o.duration
		if o.iterations > 0 {
			length = o.maxDuration
		}
		_ = scenarios.Set(base, mi.levelScenario(&o, n, "measure", start, o.duration, o.iterations))
		start += length + o.gap
	}
	return scenarios
}

// warnOfOpenEndedLevels says once what a level of iterations without maxDuration leads to: k6 starts scenarios at fixed
// times, whatever the one before has come to.
func (mi *instance) warnOfOpenEndedLevels(levels int) {
	env := mi.vu.InitEnv()
	if env == nil || env.TestPreInitState == nil || env.Logger == nil {
		return
	}
	if _, done := mi.root.warnings.LoadOrStore("levels without maxDuration", true); done {
		return
	}
	env.Logger.Warn(fmt.Sprintf("levels: iterations without maxDuration: each of the %d levels has %s, a slower one is cut off there, and the next one waits until then; give maxDuration, or let levels follow each other as soon as they are done with sequence()", levels, defaultLevelMaxDuration))
}

func (mi *instance) levelScenario(o *levelOptions, workers int, phase string, start, duration time.Duration, iterations int) *sobek.Object {
	rt := mi.vu.Runtime()
	s := rt.NewObject()
	set := func(name string, v any) { _ = s.Set(name, v) }
	if iterations > 0 {
		set("executor", "shared-iterations")
		set("iterations", max(iterations, workers))
		set("maxDuration", o.maxDuration.String())
	} else {
		set("executor", "constant-vus")
		set("duration", duration.String())
	}
	set("vus", workers)
	set("startTime", start.String())
	set("gracefulStop", o.gap.String())
	if o.exec != "" {
		set("exec", o.exec)
	}
	if o.env != nil {
		set("env", o.env)
	}
	tags := map[string]string{}
	for k, v := range o.tags {
		tags[k] = v
	}
	tags["workers"], tags["phase"] = strconv.Itoa(workers), phase
	set("tags", tags)
	return s
}

func levelCounts(v sobek.Value) ([]int, error) {
	const takes = "it takes a list of different whole numbers, at least 1, such as [1, 4, 8]"
	o, ok := v.(*sobek.Object)
	if !ok || !isArray(o) {
		return nil, fmt.Errorf("levels: argument levels got %s; %s", describe(v), takes)
	}
	n := int(o.Get("length").ToInteger())
	counts := make([]int, 0, n)
	seen := map[int]bool{}
	for i := range n {
		var level int
		e := o.Get(strconv.Itoa(i))
		if e == nil || setInt(&level, e, 1, math.MaxInt32) != nil || seen[level] {
			return nil, fmt.Errorf("levels: argument levels has %s at %d; %s", describe(e), i, takes)
		}
		seen[level] = true
		counts = append(counts, level)
	}
	if len(counts) == 0 {
		return nil, fmt.Errorf("levels: argument levels is empty; %s", takes)
	}
	return counts, nil
}

func readLevelOptions(rt *sobek.Runtime, v sobek.Value) (levelOptions, error) {
	opts := levelOptions{name: "workers", gap: defaultLevelGap}
	o, ok := v.(*sobek.Object)
	if !ok || isArray(o) || isFunction(v) {
		return opts, fmt.Errorf("levels: argument options got %s; it takes {duration | iterations, warmup, exec, name, maxDuration, startTime, gap, tags, env}", describe(v))
	}
	for _, name := range o.Keys() {
		value := o.Get(name)
		if common.IsNullish(value) {
			continue
		}
		takes, err := "", error(nil)
		switch name {
		case "duration":
			takes, err = "a duration of at least 1s", setDuration(&opts.duration, value, true)
		case "iterations":
			takes, err = "a whole number, at least 1", setInt(&opts.iterations, value, 1, math.MaxInt32)
		case "warmup":
			takes, err = "a duration of at least 1s, or 0 for none", setDuration(&opts.warmup, value, false)
		case "maxDuration":
			takes, err = "a duration of at least 1s", setDuration(&opts.maxDuration, value, true)
		case "startTime":
			takes, err = "a duration", setDuration(&opts.startTime, value, false)
		case "gap":
			takes, err = "a duration", setDuration(&opts.gap, value, false)
		case "exec":
			takes, err = "the name of an exported function", setText(&opts.exec, value)
		case "name":
			takes, err = "letters, digits, dashes and underscores", setText(&opts.name, value)
			if err == nil && !scenarioName.MatchString(opts.name) {
				err = errWrongType
			}
		case "tags":
			takes, err = "an object of strings, without workers and phase, which levels sets itself", setStringMap(&opts.tags, value, rt)
			for _, own := range []string{"workers", "phase"} {
				if _, given := opts.tags[own]; given {
					err = errWrongType
				}
			}
		case "env":
			takes, err = "an object of strings", setStringMap(&opts.env, value, rt)
		default:
			return opts, fmt.Errorf("levels: option %s is not known; known are duration, env, exec, gap, iterations, maxDuration, name, startTime, tags, warmup", name)
		}
		if err != nil {
			return opts, fmt.Errorf("levels: option %s got %s; it takes %s", name, describe(value), takes)
		}
	}
	switch {
	case opts.duration > 0 && opts.iterations > 0:
		return opts, fmt.Errorf("levels: options duration and iterations exclude each other")
	case opts.duration == 0 && opts.iterations == 0:
		return opts, fmt.Errorf("levels: one of the options duration and iterations has to be given")
	}
	for _, d := range []struct {
		name  string
		value time.Duration
	}{{"duration", opts.duration}, {"warmup", opts.warmup}, {"maxDuration", opts.maxDuration}} {
		if d.value > 0 && d.value < time.Second {
			return opts, fmt.Errorf("levels: option %s got %s; k6 takes no scenario shorter than 1s", d.name, d.value)
		}
	}
	return opts, nil
}
