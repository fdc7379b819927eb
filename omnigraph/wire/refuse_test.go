package wire

import (
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestWhatNoServerCarriesOutIsRefusedBeforeItIsSent(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		op      Operation
		message string
	}{
		"a graph that is a step":                {Operation{Op: OpQuery, Graph: "..", Text: "x"}, `graph: got ".."`},
		"a graph that is a step to itself":      {Operation{Op: OpExport, Graph: "."}, `graph: got "."`},
		"a stored query that is a step":         {Operation{Op: OpInvoke, Graph: "g", Name: ".."}, `name: got ".."`},
		"a branch to delete that is a step":     {Operation{Op: OpBranchDelete, Graph: "g", Branch: ".."}, `branch: got ".."`},
		"a branch and a snapshot":               {Operation{Op: OpQuery, Graph: "g", Text: "x", Branch: "b", Snapshot: "s"}, `the branch is "b"`},
		"a branch and a snapshot, by name":      {Operation{Op: OpInvoke, Graph: "g", Name: "n", Branch: "b", Snapshot: "s"}, "not both"},
		"rows with a byte of no character":      {Operation{Op: OpLoad, Graph: "g", Data: []byte("{}\n\n{\"ü\":\"\xff\"}\n{}")}, "data: line 3 is not UTF-8: byte 8 of it is 0xff"},
		"rows with the half of a pair":          {Operation{Op: OpLoad, Graph: "g", Data: []byte("\xed\xa0\x80")}, "data: line 1 is not UTF-8: byte 1 of it is 0xed"},
		"rows that end within a character":      {Operation{Op: OpLoad, Graph: "g", Data: []byte("{}\n\xc3")}, "data: line 2 is not UTF-8: byte 1 of it is 0xc3"},
		"rows with a replacement before it all": {Operation{Op: OpLoad, Graph: "g", Data: []byte("\ufffd\x80")}, "data: line 1 is not UTF-8: byte 4 of it is 0x80"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := EncodeRequest(&test.op, nil)
			require.NotNil(t, err)
			assert.Equal(t, KindBadRequest, err.Kind)
			assert.Contains(t, err.Message, test.message)
			assert.False(t, err.Indeterminate)
		})
	}
	for name, op := range map[string]Operation{
		"rows with a replacement character":   {Op: OpLoad, Graph: "g", Data: []byte("{\"a\":\"\ufffd\"}")},
		"no rows":                             {Op: OpLoad, Graph: "g"},
		"a branch whose name isn't in a path": {Op: OpBranchCreate, Graph: "g", Branch: ".."},
	} {
		_, err := EncodeRequest(&op, nil)
		assert.Nil(t, err, name)
	}
}

func FuzzRowsAreRefusedExactlyIfTheyAreNotUTF8(f *testing.F) {
	f.Add([]byte("{}\n{\"a\":\"ä\"}"))
	f.Add([]byte("{}\n\xff"))
	f.Add([]byte("\xef"))
	f.Fuzz(func(t *testing.T, data []byte) {
		at := invalidUTF8(data)
		if (at < 0) != utf8.Valid(data) {
			t.Fatalf("found %d", at)
		}
		if at < 0 {
			return
		}
		// What stands before is text, and no character begins here.
		if !utf8.Valid(data[:at]) {
			t.Fatalf("found %d, and there is one before", at)
		}
		for n := 1; n <= utf8.UTFMax && at+n <= len(data); n++ {
			if utf8.Valid(data[at : at+n]) {
				t.Fatalf("found %d, where a character of %d bytes is", at, n)
			}
		}
	})
}
