package rig

import (
	"context"
	"fmt"

	"golang.org/x/sys/unix"
)

// holdPort takes a loopback port (0: any that is free) so that the system gives it to nobody who asks for any, neither to
// listen nor to connect. A server that is told the port can have it all the same, since none of the two listens yet and
// both say that they share.
func holdPort(_ context.Context, port int) (heldPort, error) {
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return heldPort{}, fmt.Errorf("make a socket: %w", err)
	}

	held := heldPort{number: port, release: func() { _ = unix.Close(fd) }}

	if err := held.bind(fd); err != nil {
		held.release()

		return heldPort{}, fmt.Errorf("take port %d of 127.0.0.1: %w", port, err)
	}

	return held, nil
}

func (h *heldPort) bind(fd int) error {
	if err := unix.SetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_REUSEADDR, 1); err != nil {
		return err
	}

	if err := unix.Bind(fd, &unix.SockaddrInet4{Port: h.number, Addr: [4]byte{127, 0, 0, 1}}); err != nil {
		return err
	}

	bound, err := unix.Getsockname(fd)
	if err != nil {
		return err
	}

	if address, ok := bound.(*unix.SockaddrInet4); ok {
		h.number = address.Port
	}

	return nil
}
