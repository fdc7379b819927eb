package rig

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"time"
)

// linkTime bounds the making of two symbolic links.
const linkTime = 10 * time.Second

// resolve gives binaries that can be run: the emulator's are links in the rig's own folder, under the names of
// the programs it stands in for.
func (r *Rig) resolve(ctx context.Context, b Binaries, env environment) (Binaries, error) {
	if b.Emulator == "" {
		return b, nil
	}

	ctx, cancel := context.WithTimeout(ctx, linkTime)
	defer cancel()

	dir := r.path(linksDir)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return b, fmt.Errorf("link the emulator: %w", err)
	}

	cmd := exec.CommandContext(ctx, b.Emulator, "link", dir) // #nosec G204 -- found beside this program or in PATH
	cmd.Env = env.forOwnCalls()
	cmd.WaitDelay = pipeDelay

	if out, err := cmd.CombinedOutput(); err != nil {
		return b, fmt.Errorf("link the emulator: %w: %s", err, lastMessage(tail(out)))
	}

	for name, path := range map[string]*string{cliName: &b.CLI, serverName: &b.Server} {
		found, err := executable(r.path(linksDir + "/" + name))
		if err != nil {
			return b, fmt.Errorf("link the emulator: %w", err)
		}

		*path = found
	}

	return b, nil
}
