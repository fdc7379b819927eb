//go:build browser

package report

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/mitodl/xk6-omnigraph/recorder"
)

// These tests look at the page in a browser, Chromium: go test -tags browser ./report. The variable CHROMIUM names it
// where it is not in the PATH; REPORT_SCREENSHOTS names a folder for pictures of what was looked at.

func chromium(t *testing.T) string {
	t.Helper()
	if named := os.Getenv("CHROMIUM"); named != "" {
		return named
	}
	for _, name := range []string{"chromium", "chromium-browser", "google-chrome"} {
		if path, err := exec.LookPath(name); err == nil {
			return path
		}
	}
	require.Fail(t, "Chromium is not in the PATH; CHROMIUM names it")
	return ""
}

// probe finds, within the page, what sticks out of it and which labels of a figure touch.
const probe = `<script>
addEventListener("load", () => {
  const width = document.documentElement.clientWidth, over = [], touching = [];
  for (const e of document.querySelectorAll("body *")) {
    if (e.closest(".table") && !e.classList.contains("table")) continue;
    const r = e.getBoundingClientRect();
    if (r.right > width + 1 || r.left < -1) over.push(e.tagName + " " + (e.textContent || "").slice(0, 40));
  }
  for (const svg of document.querySelectorAll("svg")) {
    const frame = svg.getBoundingClientRect();
    const texts = [...svg.querySelectorAll("text")].map((t) => [t.textContent, t.getBoundingClientRect()]);
    texts.forEach(([name, a], i) => {
      if (a.right > frame.right + 1 || a.left < frame.left - 1 || a.bottom > frame.bottom + 1) touching.push("outside: " + name);
      for (const [other, b] of texts.slice(i + 1)) {
        if (a.left < b.right - 1 && b.left < a.right - 1 && a.top < b.bottom - 2 && b.top < a.bottom - 2) touching.push(name + " | " + other);
      }
    });
  }
  const style = getComputedStyle(document.body);
  const found = { width, scroll: document.documentElement.scrollWidth, over, touching, ink: style.color, page: style.backgroundColor };
  parent.postMessage(JSON.stringify(found), "*");
});
</script>`

type looked struct {
	Width    int      `json:"width"`
	Scroll   int      `json:"scroll"`
	Over     []string `json:"over"`
	Touching []string `json:"touching"`
	Ink      string   `json:"ink"`
	Page     string   `json:"page"`
}

var resultLine = regexp.MustCompile(`RESULT(\{.*\})RESULT`)

// look opens a page in a frame of the given width: a headless window itself can't be narrower than 500 pixels.
func look(t *testing.T, page string, width int, dark bool, name string) looked {
	t.Helper()
	dir := t.TempDir()
	withProbe := strings.Replace(page, "</body>", probe+"</body>", 1)
	require.NoError(t, os.WriteFile(filepath.Join(dir, "page.html"), []byte(withProbe), 0o600))
	frame := fmt.Sprintf(`<!DOCTYPE html><body style="margin:0"><iframe src="page.html" style="width:%dpx;height:2000px;border:0"></iframe>
<script>addEventListener("message", (m) => document.body.append("RESULT" + m.data + "RESULT"))</script>`, width)
	require.NoError(t, os.WriteFile(filepath.Join(dir, "frame.html"), []byte(frame), 0o600))
	scheme := "1"
	if dark {
		scheme = "0"
	}
	browser := func(extra ...string) []byte {
		ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
		defer cancel()
		args := append([]string{
			"--headless", "--no-sandbox", "--disable-gpu", "--hide-scrollbars", "--allow-file-access-from-files",
			"--user-data-dir=" + filepath.Join(dir, "profile"), "--virtual-time-budget=5000",
			"--blink-settings=preferredColorScheme=" + scheme,
		}, extra...)
		out, err := exec.CommandContext(ctx, chromium(t), args...).Output()
		require.NoError(t, err)
		return out
	}
	dom := browser("--dump-dom", "file://"+filepath.Join(dir, "frame.html"))
	m := resultLine.FindSubmatch(dom)
	require.NotNil(t, m, "the page did not load")
	var found looked
	text := strings.NewReplacer("&quot;", `"`, "&lt;", "<", "&gt;", ">", "&amp;", "&").Replace(string(m[1]))
	require.NoError(t, json.Unmarshal([]byte(text), &found))
	if shots := os.Getenv("REPORT_SCREENSHOTS"); shots != "" {
		require.NoError(t, os.MkdirAll(shots, 0o750))
		browser(fmt.Sprintf("--window-size=%d,2000", width), "--screenshot="+filepath.Join(shots, name+".png"), "file://"+filepath.Join(dir, "frame.html"))
	}
	return found
}

// everything is a record that fills every kind of section and figure.
func everything(t *testing.T) *recorder.Record {
	t.Helper()
	rec := spikeRecord(t)
	for i := range rec.Cells {
		c := &rec.Cells[i]
		for _, raw := range c.Raw {
			for k := range raw.AtS {
				raw.AtS[k] = float64(i*20) + float64(k)/10
			}
		}
		c.Decomposition = &recorder.Decomposition{N: 10, WallMS: 20, Parts: []recorder.PartRecord{
			{Part: "spawn", MeanMS: 6, MeanCI: &recorder.Interval{5.5, 6.5}}, {Part: "cli", MeanMS: 5}, {Part: "wait", MeanMS: 4}, {Part: "residual", MeanMS: 5},
		}}
	}
	rec.Cells[3].Failed, rec.Cells[3].Errors = 4, map[string]uint64{"conflict_stale": 3, "a_rather_long_error_kind_that_nobody_has": 1}
	for i, x := range []float64{955, 180_000, 320_000, 500_000, 600_000, 550_000} {
		rec.Cells = append(rec.Cells, recorder.CellRecord{
			Scenario: "scale", Variant: "http", Transport: "http", Op: "query", Query: "scaling", Workers: ptr(1 << i), N: 100,
			OpsPerS: ptr(x), P50: ptr(float64(i + 1)), P50CI: &recorder.Interval{float64(i) + 0.9, float64(i) + 1.1},
		})
	}
	rec.Events = append(rec.Events, recorder.Event{AtS: 130, Kind: "optimize", Text: "by the script"})
	rec.Extra = capacityRecord(t).Extra
	rec.StateBefore = &recorder.State{Rows: map[string]int64{"node:Memory": 913}}
	rec.Emulator = &recorder.Emulator{CostModel: "default"}
	rec.Generator.MachineCPU = ptr(0.97)
	rec.Verdict, rec.Reasons = recorder.Judge(rec)
	return rec
}

func TestThePageFitsEveryScreenInBothSchemes(t *testing.T) {
	page := forms(t, Build(everything(t)))["html"]
	for _, width := range []int{400, 1280} {
		for _, dark := range []bool{false, true} {
			name := fmt.Sprintf("report-%d-light", width)
			if dark {
				name = fmt.Sprintf("report-%d-dark", width)
			}
			t.Run(name, func(t *testing.T) {
				found := look(t, page, width, dark, name)
				assert.Equal(t, found.Width, found.Scroll, "it scrolls sideways")
				assert.Empty(t, found.Over, "it sticks out")
				assert.Empty(t, found.Touching, "labels touch")
				if dark {
					assert.Equal(t, "rgb(13, 17, 23)", found.Page)
				} else {
					assert.Equal(t, "rgb(255, 255, 255)", found.Page)
				}
			})
		}
	}
}
