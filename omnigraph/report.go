package omnigraph

import "github.com/grafana/sobek"

func (mi *instance) report(call sobek.FunctionCall) sobek.Value { return sobek.Undefined() }
func (r *recording) write() error { return nil }
