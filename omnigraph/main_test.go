package omnigraph

import (
	"os"
	"testing"

	"github.com/mitodl/xk6-omnigraph/internal/leaks"
)

func TestMain(m *testing.M) {
	os.Exit(leaks.Run(m))
}
