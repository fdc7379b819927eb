package e2e

import (
	"fmt"
	"os"
	"regexp"
	"strconv"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// idleScript holds 1,000 VUs that have done nothing yet; what makes their clients is put before it.
const idleScript = `
	import { sleep } from 'k6';
	export const options = { scenarios: { idle: { executor: 'constant-vus', vus: 1000, duration: '1h', gracefulStop: '0s' } } };
	export default function () { console.log('idle'); sleep(600); }`

const idleClients = `
	import { HTTPClient, CLIClient } from 'k6/x/omnigraph';
	const same = { graph: 'council', token: ['a', 'b'], timeout: '10s', tags: { team: 'x' }, retry: { maxAttempts: 3 } };
	const http = new HTTPClient({ url: 'http://127.0.0.1:1', ...same });
	const cli = new CLIClient({ server: 'http://127.0.0.1:1', bin: 'omnigraph', ...same });`

var residentLine = regexp.MustCompile(`(?m)^VmRSS:\s+(\d+) kB$`)

// idleMemory is the resident memory, in KiB, of a k6 whose 1,000 VUs are all idle.
func idleMemory(t *testing.T, script string) int {
	t.Helper()
	output := &locked{}
	// A collector that runs often leaves little garbage, which would hide the difference.
	r := startTo(t, output, k6, script, "GOGC=10")
	eventually(t, "1,000 idle VUs", func() bool { return output.count("idle") >= 1000 })
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", r.Process.Pid))
	require.NoError(t, err)
	require.NoError(t, r.Process.Kill())
	r.exit()
	m := residentLine.FindSubmatch(status)
	require.NotNil(t, m)
	kib, err := strconv.Atoi(string(m[1]))
	require.NoError(t, err)
	return kib
}

func TestAnIdleVUWithBothClientsCostsLittle(t *testing.T) {
	// Not parallel to the others of this package: a thousand VUs are made twice.
	const vus, most = 1000, 100 // KiB for each VU
	without := idleMemory(t, idleScript)
	with := idleMemory(t, idleClients+idleScript)
	each := float64(with-without) / vus
	t.Logf("1,000 idle VUs: %d KiB without clients, %d KiB with both: %.1f KiB for each VU", without, with, each)
	assert.Less(t, each, float64(most))
}
