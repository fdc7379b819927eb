package leaktest

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
)

func TestAGoroutineThatIsAboutToEndIsNoLeak(t *testing.T) {
	before := goleak.IgnoreCurrent()
	ended := make(chan struct{})
	go func() {
		time.Sleep(time.Second) // goleak alone gives up before
		close(ended)
	}()
	require.NoError(t, find(before))
	<-ended
}
