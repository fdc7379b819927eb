package rig

import (
	"context"
	"os"
	"os/exec"
	"syscall"
)

// will is a small process that outlives this one if this one is killed, and then sends the command one SIGTERM. The
// system's own parent-death signal can't: it comes once for every thread that the command's parent loses on its way
// out, and to k6 a second SIGTERM means to end at once, without its summary and its record.
type will struct {
	proc *process
	// tell is the only open end of the pipe that the process reads: it closes with this process, however that ends.
	tell *os.File
}

// The two ends of the pipe. A command tells its number itself, before it becomes what it shall be, so that there is no
// moment at which nobody would know whom to tell. What reads it then waits for a line, which means that all is well, or
// for the end.
const (
	willScript  = `read -r pid || exit 0; read -r well || kill -TERM "$pid"`
	enterScript = `echo $$ >&3; exec 3>&-; exec "$@"`
)

// makeWill starts the process, with the shell sh.
func makeWill(ctx context.Context, sh string) (*will, error) {
	r, w, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	defer r.Close() // the child has its own

	cmd := exec.CommandContext(context.WithoutCancel(ctx), sh, "-c", willScript) // #nosec G204 -- the system's shell
	cmd.Env = []string{}
	cmd.Stdin = r
	// A session of its own: what ends this process's group must not end this one.
	cmd.SysProcAttr = detached()

	p, err := start(cmd)
	if err != nil {
		_ = w.Close()

		return nil, err
	}

	return &will{proc: p, tell: w}, nil
}

// cover makes the command, not started yet, the one that the will is for. If it shares the terminal's group, it starts deaf
// to hang-ups, as with nohup(1): it is this process that turns a terminal's end into an orderly one of the command.
func (w *will) cover(cmd *exec.Cmd, sh string, shared bool) {
	script := enterScript
	if shared {
		script = `trap "" HUP; ` + script
	}

	cmd.Args = append([]string{sh, "-c", script, sh, cmd.Path}, cmd.Args[1:]...)
	cmd.Path = sh
	cmd.ExtraFiles = []*os.File{w.tell}
}

// revoke ends the process without a signal to anybody. Revoking nil is fine.
func (w *will) revoke() {
	if w == nil {
		return
	}

	// Either may find it ended already. Where the command never started, there is no number, and this line is nobody's.
	_, _ = w.tell.WriteString("well\n")
	_ = w.tell.Close()

	<-w.proc.done
}

// deathSignal is what a command gets from the system when this process dies: nothing if there is a will.
func (w *will) deathSignal() syscall.Signal {
	if w == nil {
		return syscall.SIGTERM
	}

	return 0
}
