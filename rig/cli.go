package rig

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"syscall"
	"time"
)

const (
	// maxCLIOutput bounds what is kept of one CLI call's output.
	maxCLIOutput = 16 << 20
	// pipeDelay bounds the wait for pipes that a dead CLI's children hold open. What they hold for so long is cut off, and
	// with it what a busy machine had no time to read.
	pipeDelay = 10 * time.Second
)

// bounded keeps the first max bytes written to it and swallows the rest.
type bounded struct {
	bytes.Buffer
	max int
}

func (b *bounded) Write(p []byte) (int, error) {
	if room := b.max - b.Len(); room > 0 {
		b.Buffer.Write(p[:min(room, len(p))])
	}

	return len(p), nil
}

// cli calls the omnigraph CLI and decodes the one JSON document on its stdout into out. Some of its commands
// exit 1 with a document that says why, so the document counts before the exit code: an error is returned
// beside a decoded document, and the caller decides.
func (r *Rig) cli(ctx context.Context, bin string, env environment, out any, args ...string) error {
	stdout, stderr := &bounded{max: maxCLIOutput}, &bounded{max: maxCLIOutput}

	cmd := exec.CommandContext(ctx, bin, args...) // #nosec G204 -- the caller's own binary
	cmd.Dir = r.dir
	cmd.Env = env.forOwnCalls().fromHere().with("OMNIGRAPH_HOME", r.path(homeDir), "NO_COLOR", "1")
	cmd.Stdout, cmd.Stderr = stdout, stderr
	cmd.SysProcAttr = attributes(true, syscall.SIGKILL)
	cmd.WaitDelay = pipeDelay
	cmd.Cancel = func() error {
		signalGroup(cmd.Process.Pid, os.Kill)

		return nil
	}

	p, err := start(cmd)
	if err != nil {
		return err
	}

	<-p.done

	if err := ctx.Err(); err != nil {
		return fmt.Errorf("omnigraph %s: %w", args[0], err)
	}

	decodeErr := json.Unmarshal(stdout.Bytes(), out)

	if p.err != nil {
		if msg := lastMessage(tail(stderr.Bytes())); msg != "" {
			return fmt.Errorf("omnigraph %s: %w: %s", args[0], p.err, msg)
		}

		return fmt.Errorf("omnigraph %s: %w", args[0], p.err)
	}

	if decodeErr != nil {
		return fmt.Errorf("omnigraph %s: exit 0 without the JSON it should print: %w", args[0], decodeErr)
	}

	return nil
}
