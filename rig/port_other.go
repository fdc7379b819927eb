//go:build !linux

package rig

import "context"

// holdPort finds a loopback port (0: any that is free). Here nothing keeps others from taking it meanwhile.
func holdPort(ctx context.Context, port int) (heldPort, error) {
	number, err := listenable(ctx, port)

	return heldPort{number: number, release: func() {}}, err
}
