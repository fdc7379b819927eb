// Package recorder keeps what a run measured, in a form that can be merged, compared and reported later.
//
// A [Recorder] is fed by many VUs at once: each looks its [Cell] or [Pair] up once, holds the handle, and records
// into it without allocating. [Recorder.Finish] turns everything into a [Record], the versioned document that
// reports are made of; [Record.Write], [Read] and [Merge] move records between processes.
//
// The package knows nothing of k6.
package recorder
