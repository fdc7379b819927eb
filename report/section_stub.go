package report

import "github.com/mitodl/xk6-omnigraph/recorder"

func writersAnswer(*recorder.Record, []*group) answer { return answer{} }
func integrityAnswer(*recorder.Record, []*group) answer { return answer{} }
func noiseAnswer(*recorder.Record, []*group) answer { return answer{} }
