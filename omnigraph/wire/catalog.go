package wire

import "github.com/tidwall/gjson"

// StoredQuery is what a server's catalog tells of one of its stored queries.
type StoredQuery struct {
	Mutation bool
	Header   QueryHeader
}

// ParseCatalog reads the entries of OpQueries, a JSON array as [Success.Rows] holds it, by name. A parameter's type is
// the catalog's own word for it (string, int, …); entries without a name are left out.
func ParseCatalog(rows string) map[string]StoredQuery {
	catalog := map[string]StoredQuery{}
	if !gjson.Valid(rows) {
		return catalog
	}
	gjson.Parse(rows).ForEach(func(_, entry gjson.Result) bool {
		name := entry.Get("name")
		if name.Type != gjson.String || name.Str == "" || !entry.Get("mutation").IsBool() || !entry.Get("params").IsArray() {
			return true
		}
		q := StoredQuery{Mutation: entry.Get("mutation").Bool(), Header: QueryHeader{Name: name.Str}}
		entry.Get("params").ForEach(func(_, p gjson.Result) bool {
			param := Param{Name: p.Get("name").String(), Type: p.Get("kind").String(), Optional: p.Get("nullable").Bool()}
			if param.Type == "list" {
				param.Type = "[" + p.Get("item_kind").String() + "]"
			}
			q.Header.Params = append(q.Header.Params, param)
			return true
		})
		catalog[name.Str] = q
		return true
	})
	return catalog
}
