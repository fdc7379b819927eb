package rig

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strconv"
	"syscall"
)

// heldPort is a port for a server to be booted, kept from others until it is released.
type heldPort struct {
	number  int
	release func()
}

// heldTries is the number of tries with a port that is held: a server that does not share one has to get it alone.
const heldTries = 3

// choosePort gives the port that was asked for if it is free. Else, on the first try, the last server's if it is
// free, so that a restarted rig keeps its address; else any free one, held until the server has it.
func (r *Rig) choosePort(ctx context.Context, asked, try int) (heldPort, error) {
	if asked != 0 {
		if _, err := listenable(ctx, asked); err != nil {
			if errors.Is(err, syscall.EADDRINUSE) {
				return heldPort{}, fmt.Errorf("%w: somebody listens on 127.0.0.1:%d; choose another with --port or leave it out",
					ErrPortTaken, asked)
			}

			return heldPort{}, fmt.Errorf("port %d: %w", asked, err)
		}

		return heldPort{number: asked, release: func() {}}, nil
	}

	if r.marker.Port != 0 && try == 1 {
		if port, err := holdPort(ctx, r.marker.Port); err == nil {
			return port, nil
		}
	}

	port, err := holdPort(ctx, 0)
	if err != nil {
		return heldPort{}, fmt.Errorf("find a free port: %w", err)
	}

	if try > heldTries {
		port.release()
		port.release = func() {}
	}

	return port, nil
}

// listenable listens on a loopback port (0: any) for a moment and says which.
func listenable(ctx context.Context, port int) (int, error) {
	var lc net.ListenConfig

	l, err := lc.Listen(ctx, "tcp", net.JoinHostPort("127.0.0.1", strconv.Itoa(port)))
	if err != nil {
		return 0, err
	}

	addr, ok := l.Addr().(*net.TCPAddr)
	if !ok {
		return 0, errors.Join(fmt.Errorf("unexpected address %v", l.Addr()), l.Close())
	}

	return addr.Port, l.Close()
}

// loopback makes sure that 127.0.0.1 can be reached. Where its interface is down, as in a new network namespace, a server
// listens without an error and nobody ever gets through to it.
func loopback(ctx context.Context) error {
	var (
		lc net.ListenConfig
		d  net.Dialer
	)

	l, err := lc.Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return fmt.Errorf("listen on 127.0.0.1: %w", err)
	}
	defer l.Close()

	conn, err := d.DialContext(ctx, "tcp", l.Addr().String())

	switch {
	case errors.Is(err, syscall.ENETUNREACH), errors.Is(err, syscall.EHOSTUNREACH), errors.Is(err, syscall.EADDRNOTAVAIL):
		return fmt.Errorf("127.0.0.1 can't be reached (%w): the loopback interface is down; bring it up, as with `ip link set lo up`", err)
	case err != nil:
		return fmt.Errorf("reach 127.0.0.1: %w", err)
	}

	return conn.Close()
}
