package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"math"
	"net"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// prometheusServer is a Prometheus of the test's own.
type prometheusServer struct {
	t   *testing.T
	url string
}

const patience = 2 * time.Minute

// startPrometheus boots one on a free port. Between the choice of the port and its use anything on the machine may take it:
// then another is chosen.
func startPrometheus(t *testing.T, bin string) *prometheusServer {
	t.Helper()
	for {
		p, log := bootPrometheus(t, bin)
		if p != nil {
			return p
		}
		if !strings.Contains(log, "address already in use") {
			t.Fatalf("prometheus ended: %s", log)
		}
	}
}

// bootPrometheus gives none, but what it logged, if it ends before it is ready.
func bootPrometheus(t *testing.T, bin string) (*prometheusServer, string) {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	address := listener.Addr().String()
	if err := listener.Close(); err != nil {
		t.Fatal(err)
	}
	rules, err := filepath.Abs(filepath.Join(target, "rules", "omnigraph.rules.yml"))
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	config := filepath.Join(dir, "prometheus.yml")
	if err := os.WriteFile(config, fmt.Appendf(nil, "global: {evaluation_interval: 1s}\nrule_files: [%q]\n", rules), 0o600); err != nil {
		t.Fatal(err)
	}
	var log strings.Builder
	cmd := exec.Command(bin, "--config.file="+config, "--storage.tsdb.path="+filepath.Join(dir, "data"), "--web.listen-address="+address,
		"--web.enable-remote-write-receiver", "--enable-feature=native-histograms", "--log.level=warn")
	cmd.Stdout, cmd.Stderr = &log, &log
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan struct{})
	go func() {
		_ = cmd.Wait()
		close(ended)
	}()
	t.Cleanup(func() {
		_ = cmd.Process.Signal(syscall.SIGTERM)
		select {
		case <-ended:
		case <-time.After(patience):
			_ = cmd.Process.Kill()
			<-ended
		}
		if t.Failed() {
			t.Logf("prometheus: %s", log.String())
		}
	})
	p := &prometheusServer{t: t, url: "http://" + address}
	for deadline := time.Now().Add(patience); ; time.Sleep(50 * time.Millisecond) {
		if status, _ := p.get("/-/ready"); status == http.StatusOK {
			return p, ""
		}
		select {
		case <-ended:
			return nil, log.String()
		default:
		}
		if time.Now().After(deadline) {
			t.Fatalf("prometheus did not come up within %s", patience)
		}
	}
}

func (p *prometheusServer) get(path string) (int, []byte) {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, p.url+path, nil)
	if err != nil {
		p.t.Fatal(err)
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		return 0, []byte(err.Error())
	}
	defer res.Body.Close()
	body, err := io.ReadAll(res.Body)
	if err != nil {
		return 0, []byte(err.Error())
	}
	return res.StatusCode, body
}

// answer is what a query came to: the finite values of each series.
func (p *prometheusServer) answer(path string, form url.Values) (map[string][]float64, error) {
	status, body := p.get(path + "?" + form.Encode())
	var doc struct {
		Error string
		Data  struct {
			Result []struct {
				Metric map[string]string
				Value  []any
				Values [][]any
			}
		}
	}
	if err := json.Unmarshal(body, &doc); err != nil {
		return nil, fmt.Errorf("%d: %s", status, body)
	}
	if doc.Error != "" {
		return nil, fmt.Errorf("%s", doc.Error)
	}
	out := map[string][]float64{}
	for _, r := range doc.Data.Result {
		name := fmt.Sprint(r.Metric)
		if r.Value != nil {
			r.Values = append(r.Values, r.Value)
		}
		for _, v := range r.Values {
			text, ok := v[1].(string)
			if !ok {
				continue
			}
			if f, err := strconv.ParseFloat(text, 64); err == nil && !math.IsNaN(f) && !math.IsInf(f, 0) {
				out[name] = append(out[name], f)
			}
		}
	}
	return out, nil
}

func (p *prometheusServer) at(expr string, when time.Time) (map[string][]float64, error) {
	return p.answer("/api/v1/query", url.Values{"query": {expr}, "time": {strconv.FormatInt(when.Unix(), 10)}})
}

func (p *prometheusServer) during(expr string, from, to time.Time) (map[string][]float64, error) {
	return p.answer("/api/v1/query_range", url.Values{
		"query": {expr}, "step": {"1"}, "start": {strconv.FormatInt(from.Unix(), 10)}, "end": {strconv.FormatInt(to.Unix(), 10)},
	})
}

// summary is what k6 itself says of a run.
type summary struct {
	Metrics map[string]struct {
		Count float64
		P45   float64 `json:"p(45)"`
		P55   float64 `json:"p(55)"`
	}
}

// copiedStore is the rig's store as it stands while nobody writes.
func copiedStore(t *testing.T) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "council.omni")
	if err := os.CopyFS(dir, os.DirFS(os.Getenv("OMNIGRAPH_STORE"))); err != nil {
		t.Fatal(err)
	}
	return dir
}

// load runs the mixed load and gives k6's own summary of it.
func load(t *testing.T, p *prometheusServer, e edition, testid, store string, seconds, writers int) summary {
	export := filepath.Join(t.TempDir(), "summary.json")
	ctx, cancel := context.WithTimeout(context.Background(), 2*patience)
	defer cancel()
	cmd := exec.CommandContext(ctx, os.Getenv("K6"), "run", "--quiet", "--no-usage-report", "--no-color",
		"-o", "experimental-prometheus-rw", "--tag", "testid="+testid, "--tag", "instance=generator-1",
		"--summary-export", export, "testdata/load.js")
	cmd.Env = append(os.Environ(), "SECONDS="+strconv.Itoa(seconds), "WRITERS="+strconv.Itoa(writers), "OPTIMIZED_STORE="+store,
		"K6_PROMETHEUS_RW_SERVER_URL="+p.url+"/api/v1/write", "K6_PROMETHEUS_RW_PUSH_INTERVAL=1s",
		"K6_PROMETHEUS_RW_TREND_STATS=p(50),p(95),p(99),max", "K6_PROMETHEUS_RW_TREND_AS_NATIVE_HISTOGRAM="+strconv.FormatBool(e.native))
	if out, err := cmd.CombinedOutput(); err != nil || strings.Contains(string(out), "Failed to write") {
		t.Errorf("%s: %v\n%s", testid, err, out)
		return summary{}
	}
	data, err := os.ReadFile(export)
	if err != nil {
		t.Error(err)
		return summary{}
	}
	var s summary
	if err := json.Unmarshal(data, &s); err != nil {
		t.Error(err)
	}
	return s
}

func TestEveryPanelAnswersWithTheDataOfARealRun(t *testing.T) {
	bin := os.Getenv("PROMETHEUS")
	if bin == "" || os.Getenv("K6") == "" || os.Getenv("OMNIGRAPH_URI") == "" {
		t.Skip("make test-dashboards runs it: it needs Prometheus, k6 and a rig (PROMETHEUS, K6, OMNIGRAPH_URI)")
	}
	p := startPrometheus(t, bin)
	began := time.Now()
	var loads sync.WaitGroup
	summaries := make([]summary, 2)
	list := checkedIn(t)
	testid := func(e edition) string { return strings.TrimSuffix(e.file, ".json") }
	var stores []string
	for range 2 * len(list) {
		stores = append(stores, copiedStore(t))
	}
	for i, e := range list {
		loads.Go(func() { summaries[i] = load(t, p, e, testid(e), stores[2*i], 12, 1) })
		loads.Go(func() { load(t, p, e, testid(e)+"-baseline", stores[2*i+1], 6, 0) })
	}
	loads.Wait()
	if t.Failed() {
		t.FailNow()
	}
	ended := time.Now().Add(2 * time.Second) // queries have whole seconds
	for i, e := range list {
		t.Run(e.file, func(t *testing.T) {
			values := map[string]string{"testid": testid(e), "baseline": testid(e) + "-baseline"}
			everyExpressionAnswers(t, p, e, values, began, ended)
			everyVariableOffersItsValues(t, p, e, began, ended)
			totalsAreK6sOwn(t, p, e, values["testid"], summaries[i], ended)
		})
	}
	t.Run("rules", func(t *testing.T) {
		rules, err := os.ReadFile(filepath.Join(target, "rules", "omnigraph.rules.yml"))
		if err != nil {
			t.Fatal(err)
		}
		records := regexp.MustCompile(`- record: (\S+)`).FindAllSubmatch(rules, -1)
		if len(records) < 5 {
			t.Errorf("only %d records were found", len(records))
		}
		for _, m := range records {
			got, err := p.during(string(m[1]), began, ended)
			if err != nil || len(got) == 0 {
				t.Errorf("%s has no value on the data of a real run (%v)", m[1], err)
			}
		}
		// The run drops iterations with its one VU busy, meets an address where nobody listens, and makes mistakes: what
		// the alerts look for is there, though none has lasted long enough to fire.
		for _, alert := range []string{"OmnigraphErrorBudgetExceeded", "OmnigraphOffSchedule", "OmnigraphUnreachable"} {
			got, err := p.during(`ALERTS{alertname="`+alert+`"}`, began, ended)
			if err != nil || len(got) == 0 {
				t.Errorf("%s is not even pending on the data of a real run (%v)", alert, err)
			}
		}
	})
}

func everyExpressionAnswers(t *testing.T, p *prometheusServer, e edition, values map[string]string, began, ended time.Time) {
	for _, x := range expressions(t, e) {
		expr := filled(e, x.expr, "30m", values)
		var got map[string][]float64
		var err error
		if x.instant {
			// What a run came to is still there when it has been over for ten minutes.
			got, err = p.at(expr, ended.Add(10*time.Minute))
		} else {
			got, err = p.during(expr, began, ended)
		}
		if err != nil || len(got) == 0 {
			t.Errorf("%s has no data (%v): %s", x.where, err, expr)
		}
	}
}

var labelValues = regexp.MustCompile(`^label_values\((.+), (\w+)\)$`)

// everyVariableOffersItsValues looks up what a viewer may choose from, as Grafana does.
func everyVariableOffersItsValues(t *testing.T, p *prometheusServer, e edition, began, ended time.Time) {
	testid := strings.TrimSuffix(e.file, ".json")
	want := map[string]string{
		"instance": "generator-1", "scenario": "mistakes open optimize paired writers", "transport": "cli http",
		"op": "invoke mutate optimize query",
	}
	if !e.native {
		want["quantile"] = "max p50 p95 p99" // what this run was told to send
	}
	looked := map[string]bool{}
	for _, v := range read(t, e).Templating.List {
		query, ok := v.Query.(string)
		if !ok || !strings.HasPrefix(query, "label_values(") {
			continue
		}
		m := labelValues.FindStringSubmatch(strings.ReplaceAll(query, "$testid", testid))
		if m == nil {
			t.Errorf("%s looks up %s", v.Name, query)
			continue
		}
		looked[v.Name] = true
		status, body := p.get("/api/v1/label/" + m[2] + "/values?" + url.Values{
			"match[]": {m[1]}, "start": {strconv.FormatInt(began.Unix(), 10)}, "end": {strconv.FormatInt(ended.Unix(), 10)},
		}.Encode())
		var doc struct{ Data []string }
		if err := json.Unmarshal(body, &doc); err != nil || status != http.StatusOK {
			t.Errorf("%s: %d %s", v.Name, status, body)
			continue
		}
		offered := map[string]bool{}
		keep := regexp.MustCompile(strings.Trim(v.Regex, "/"))
		for _, value := range doc.Data {
			if m := keep.FindStringSubmatch(value); m != nil {
				offered[m[len(m)-1]] = true // the group, or with no expression everything
				if v.Regex == "" {
					delete(offered, "")
					offered[value] = true
				}
			}
		}
		got := strings.Join(slices.Sorted(maps.Keys(offered)), " ")
		switch {
		case v.Name == "testid" || v.Name == "baseline":
			if !offered[testid] || !offered[testid+"-baseline"] {
				t.Errorf("%s offers %s", v.Name, got)
			}
		case got != want[v.Name]:
			t.Errorf("%s offers %s, the run has %s", v.Name, got, want[v.Name])
		}
	}
	for name := range want {
		if !looked[name] {
			t.Errorf("%s is not looked up", name)
		}
	}
}

func totalsAreK6sOwn(t *testing.T, p *prometheusServer, e edition, testid string, s summary, ended time.Time) {
	selector := `testid="` + testid + `"`
	for _, name := range []string{"omnigraph_ops", "omnigraph_errors", "omnigraph_retries", "omnigraph_rows", "dropped_iterations", "http_reqs"} {
		got, err := p.at(filled(e, total(name, selector, "testid"), "30m", nil), ended)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		for _, v := range got {
			if want := s.Metrics[name].Count; want == 0 || v[0] != want {
				t.Errorf("%s is %g, k6 says %g", name, v[0], want)
			}
		}
		if len(got) != 1 {
			t.Errorf("%s has %d series", name, len(got))
		}
	}
	if !e.native {
		return
	}
	// A histogram over all series, which no statistic of single series could give. Its buckets are 9 % wide. Where few
	// operations lie about the median, between those of HTTP and those of the CLI, any value between them is as right.
	got, err := p.at(fmt.Sprintf(`histogram_quantile(0.5, sum by (testid) (%s{%s,ok="true"}))`, e.series("omnigraph_op_duration", median), selector), ended)
	if err != nil || len(got) != 1 {
		t.Fatalf("median of all operations: %v, %v", got, err)
	}
	of := s.Metrics["omnigraph_op_duration{ok:true}"]
	for _, v := range got {
		if of.P45 == 0 || v[0]*1000 < of.P45*0.9 || v[0]*1000 > of.P55*1.1 {
			t.Errorf("the median of all operations is %g ms, k6 says that p45 is %g ms and p55 %g ms", v[0]*1000, of.P45, of.P55)
		}
	}
}
