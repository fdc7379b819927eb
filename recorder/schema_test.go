package recorder

import (
	"bytes"
	"encoding/json"
	"os"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

const schemaFile = "../docs/record.schema.json"

func recordSchema(t *testing.T) *jsonschema.Schema {
	t.Helper()
	c := jsonschema.NewCompiler()
	c.AssertFormat()
	s, err := c.Compile(schemaFile)
	require.NoError(t, err)
	return s
}

func validateAgainst(t *testing.T, s *jsonschema.Schema, rec *Record) error {
	t.Helper()
	data, err := rec.Encode()
	require.NoError(t, err)
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(data))
	require.NoError(t, err)
	return s.Validate(doc)
}

func TestRecordsFollowThePublishedSchema(t *testing.T) {
	schema := recordSchema(t)
	empty, err := New(Config{}).Finish()
	require.NoError(t, err)
	emulated := New(Config{})
	emulated.SetEmulator(Emulator{CostModel: "default"})
	emulated.SetEndedBy("SIGINT")
	emulated.Cell(CellKey{Scenario: "s", Rate: 10}).Record(2*time.Hour, OK)
	emulated.Cell(CellKey{Scenario: "s"}).Record(time.Second, Failed("timeout"))
	emulated.Pair(PairKey{Scenario: "s"}).Record(1, 1, true, true)
	emulated.Queued(QueueRPSLimit, time.Second)
	emulated.SetExtra("sections", []string{"a"})
	odd, err := emulated.Finish()
	require.NoError(t, err)
	full := finished(t)
	merged, err := Merge(full, finished(t))
	require.NoError(t, err)
	for name, rec := range map[string]*Record{"empty": empty, "odd": odd, "full": full, "merged": merged} {
		t.Run(name, func(t *testing.T) { assert.NoError(t, validateAgainst(t, schema, rec)) })
	}
}

func TestTheSchemaRefusesWhatIsNoRecord(t *testing.T) {
	schema := recordSchema(t)
	for name, spoil := range map[string]func(r *Record){
		"another schema":  func(r *Record) { r.Schema = "other/2" },
		"unknown verdict": func(r *Record) { r.Verdict = "fine" },
		"unknown code":    func(r *Record) { r.Reasons = []Reason{{Code: "bad_mood"}} },
		"no cells":        func(r *Record) { r.Cells = nil },
		"negative p50":    func(r *Record) { v := -1.0; r.Cells[0].P50 = &v },
	} {
		t.Run(name, func(t *testing.T) {
			rec := finished(t)
			spoil(rec)
			assert.Error(t, validateAgainst(t, schema, rec))
		})
	}
}

// The schema is the authority for other programs: each member of the Go types stands in it, and nothing else.
func TestTheSchemaNamesExactlyTheRecordsFields(t *testing.T) {
	data, err := os.ReadFile(schemaFile)
	require.NoError(t, err)
	var doc struct {
		Properties map[string]any `json:"properties"`
		Required   []string       `json:"required"`
		Defs       map[string]struct {
			Properties map[string]any `json:"properties"`
			Required   []string       `json:"required"`
		} `json:"$defs"`
	}
	require.NoError(t, json.Unmarshal(data, &doc))
	types := map[string]any{
		"": Record{}, "invocation": Invocation{}, "run": Run{}, "system": System{}, "machine": Machine{},
		"generator": Generator{}, "queue": Queue{}, "script": Script{}, "dataset": Dataset{}, "emulator": Emulator{},
		"reason": Reason{}, "limits": Limits{}, "scenario": Scenario{}, "cell": CellRecord{}, "raw_values": RawRows{},
		"decomposition": Decomposition{}, "part": PartRecord{}, "pair": PairRecord{}, "raw_pairs": RawPairs{},
		"event": Event{}, "state": State{},
	}
	for name, v := range types {
		properties, required := doc.Properties, doc.Required
		if name != "" {
			properties, required = doc.Defs[name].Properties, doc.Defs[name].Required
		}
		var have, want, wantRequired []string
		for p := range properties {
			have = append(have, p)
		}
		typ := reflect.TypeOf(v)
		for i := range typ.NumField() {
			field, options, _ := strings.Cut(typ.Field(i).Tag.Get("json"), ",")
			want = append(want, field)
			if options != "omitempty" {
				wantRequired = append(wantRequired, field)
			}
		}
		assert.ElementsMatch(t, want, have, "properties of %q", name)
		assert.ElementsMatch(t, wantRequired, required, "required members of %q", name)
	}
	var codes []any
	for _, c := range Codes() {
		codes = append(codes, c.Code)
	}
	assert.Equal(t, codes, doc.Defs["reason"].Properties["code"].(map[string]any)["enum"])
}
