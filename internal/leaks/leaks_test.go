package leaks

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestOnlyWhatStaysIsALeak(t *testing.T) {
	end := make(chan struct{})
	go func() { <-end }()
	require.ErrorContains(t, findWithin(time.Millisecond), "TestOnlyWhatStaysIsALeak")
	time.AfterFunc(time.Second, func() { close(end) }) // longer than goleak itself waits
	require.NoError(t, Find())
}
