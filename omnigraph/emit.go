package omnigraph

import (
	"time"

	"go.k6.io/k6/v2/metrics"

	"github.com/mitodl/xk6-omnigraph/omnigraph/wire"
	"github.com/mitodl/xk6-omnigraph/recorder"
)

// samplesPerOperation is enough room for the samples of an operation with one attempt.
const samplesPerOperation = 10

func (inv *invocation) add(m *metrics.Metric, tags *metrics.TagSet, value float64) {
	inv.samples = append(inv.samples, metrics.Sample{
		TimeSeries: metrics.TimeSeries{Metric: m, Tags: tags}, Value: value, Metadata: inv.meta,
	})
}

// addAttempt takes up what one attempt came to.
func (inv *invocation) addAttempt() {
	m, s, out := inv.c.mi.metrics, inv.series, inv.out
	durations := s.succeeded
	if out.Err != nil {
		durations = s.failed
		inv.add(m.errors, s.plain.With("error_kind", string(out.Err.Kind)), 1)
		inv.c.mi.root.recording.noteFailure(out.Err)
	}
	inv.c.mi.root.recording.sawAnswer(out)
	t := &out.Timings
	inv.add(m.attemptDuration, durations, metrics.D(t.Total))
	s.cell.RecordAttempt(t.Total)
	if t.Queued > 0 {
		inv.add(m.queued, s.plain, metrics.D(t.Queued))
		inv.c.mi.root.recording.recorder.Queued(inv.queueKind(), t.Queued)
	}
	if out.Connected {
		inv.add(m.connReused, s.plain, metrics.B(out.ConnReused))
	}
	if p := out.Process; p != nil {
		inv.add(m.cliSpawn, s.plain, metrics.D(t.Spawn))
		inv.add(m.cliCPU, s.plain, metrics.D(p.CPU))
		if p.MaxRSS > 0 {
			inv.add(m.cliMaxRSS, s.plain, float64(p.MaxRSS))
		}
	}
}

func (inv *invocation) queueKind() recorder.QueueKind {
	switch {
	case inv.c.transport == wire.TransportCLI:
		return recorder.QueueProcessSlot
	case inv.state.RPSLimit != nil:
		return recorder.QueueRPSLimit
	}
	return recorder.QueueSharedPool
}

// finishSamples adds what the whole operation came to and pushes everything at once. It runs before the call returns
// or its promise settles, whether the operation succeeded or not.
func (inv *invocation) finishSamples() {
	m, s, out := inv.c.mi.metrics, inv.series, inv.out
	durations, failed := s.succeeded, out.Err != nil
	if failed {
		durations = s.failed
		if inv.attempts == 0 {
			inv.add(m.errors, s.plain.With("error_kind", string(out.Err.Kind)), 1)
		}
	}
	inv.add(m.opDuration, durations, metrics.D(inv.took))
	inv.add(m.ops, s.plain, 1)
	inv.add(m.opFailed, s.plain, metrics.B(failed))
	if inv.attempts > 1 {
		inv.add(m.retries, s.plain, float64(inv.attempts-1))
	}
	if !failed {
		inv.addYield()
	}
	now := time.Now()
	for i := range inv.samples {
		inv.samples[i].Time = now
	}
	// Not ConnectedSamples, which promise outputs one set of tags for all of them.
	metrics.PushIfNotDone(inv.ctx, inv.state.Samples, metrics.Samples(inv.samples))
	inv.record()
}

// addYield adds what a successful operation returned or changed.
func (inv *invocation) addYield() {
	m, s, success := inv.c.mi.metrics, inv.series, &inv.out.Success
	if success.Mutation {
		if success.AffectedNodes > 0 {
			inv.add(m.affected, s.plain.With("entity", "node"), float64(success.AffectedNodes))
		}
		if success.AffectedEdges > 0 {
			inv.add(m.affected, s.plain.With("entity", "edge"), float64(success.AffectedEdges))
		}
		return
	}
	switch inv.op.Op {
	case wire.OpQuery, wire.OpInvoke, wire.OpExport:
		inv.add(m.rows, s.plain, float64(success.RowCount))
	}
}

// record hands the operation to the recorder, also when k6 drops its samples because the iteration is over.
func (inv *invocation) record() {
	s, out := inv.series, inv.out
	outcome := recorder.OK
	switch {
	case out.Err == nil:
	case out.Err.Kind == wire.KindCanceled:
		outcome = recorder.Canceled
	default:
		outcome = recorder.Failed(string(out.Err.Kind))
	}
	s.cell.Record(inv.took, outcome)
	if out.Err != nil {
		s.cell.NoteError(string(out.Err.Kind), out.Err.Message)
	}
	s.cell.AddAttempts(inv.attempts)
	if out.Err == nil {
		switch inv.op.Op {
		case wire.OpVersion:
			inv.c.mi.root.recording.sawCLI(out.Success.Doc)
		case wire.OpHealth:
			inv.c.mi.root.recording.sawServer(out.Success.Doc)
		}
		s.cell.AddRows(out.Success.RowCount)
		s.cell.AddAffected(out.Success.AffectedNodes, out.Success.AffectedEdges)
		s.cell.RecordParts(inv.took, inv.parts())
	}
	if inv.variant != nil {
		inv.variant.end(inv.begin.Add(inv.took), out.Err != nil, s)
	}
}

// parts splits the operation's time as far as its transport tells.
func (inv *invocation) parts() recorder.Parts {
	var p recorder.Parts
	t := &inv.out.Timings
	p[recorder.PartQueued] = t.Queued
	p[recorder.PartDecode] = t.Decode
	if inv.out.Process != nil {
		p[recorder.PartSpawn] = t.Spawn
		p[recorder.PartCLI] = inv.out.Process.CPU
		return p
	}
	p[recorder.PartConnect] = t.Connecting + t.TLSHandshaking
	p[recorder.PartSend] = t.Sending
	p[recorder.PartWait] = t.Waiting
	p[recorder.PartReceive] = t.Receiving
	return p
}
