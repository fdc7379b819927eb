package rig

import (
	"errors"
	"net"
	"strconv"
	"syscall"
	"testing"
)

func TestAHeldPortIsOnlyForWhoIsToldIt(t *testing.T) {
	held, err := holdPort(t.Context(), 0)
	if err != nil {
		t.Fatal(err)
	}
	defer held.release()

	for range 2000 {
		if port, err := listenable(t.Context(), 0); err != nil || port == held.number {
			t.Fatalf("port %d, %v", port, err)
		}
	}

	var lc net.ListenConfig

	l, err := lc.Listen(t.Context(), "tcp", "127.0.0.1:"+strconv.Itoa(held.number))
	if err != nil {
		t.Fatalf("who is told it can't have it: %v", err)
	}
	defer l.Close()

	if _, err := holdPort(t.Context(), held.number); !errors.Is(err, syscall.EADDRINUSE) {
		t.Errorf("a port on which somebody listens: %v", err)
	}
}
