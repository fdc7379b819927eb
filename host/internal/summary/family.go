package summary

import (
	"slices"
	"strings"

	"go.k6.io/k6/v2/metrics"
)

// family is a section of the text that metrics are sorted into.
type family string

// The families in the order of their sections.
const (
	familyCustom    family = "CUSTOM"
	familyHTTP      family = "HTTP"
	familyExecution family = "EXECUTION"
	familyNetwork   family = "NETWORK"
	familyBrowser   family = "BROWSER"
	familyWebVitals family = "WEB_VITALS"
	familyGRPC      family = "GRPC"
	familyWebSocket family = "WEBSOCKET"
)

func families() []family {
	return []family{
		familyCustom, familyHTTP, familyExecution, familyNetwork,
		familyBrowser, familyWebVitals, familyGRPC, familyWebSocket,
	}
}

// httpDetails are the parts of a request's duration, which compact mode leaves out.
func httpDetails() []string {
	return []string{
		metrics.HTTPReqBlockedName, metrics.HTTPReqConnectingName, metrics.HTTPReqReceivingName,
		metrics.HTTPReqSendingName, metrics.HTTPReqTLSHandshakingName, metrics.HTTPReqWaitingName,
	}
}

func isHTTPDetail(name string) bool { return slices.Contains(httpDetails(), name) }

// familyOf returns the family of a metric, by its name.
func familyOf(name string) family {
	switch name {
	case metrics.HTTPReqsName, metrics.HTTPReqFailedName, metrics.HTTPReqDurationName:
		return familyHTTP
	case metrics.VUsName, metrics.VUsMaxName, metrics.IterationsName, metrics.IterationDurationName,
		metrics.DroppedIterationsName:
		return familyExecution
	case metrics.DataSentName, metrics.DataReceivedName:
		return familyNetwork
	}
	switch {
	case isHTTPDetail(name):
		return familyHTTP
	case strings.HasPrefix(name, "browser_web_vital_"):
		return familyWebVitals
	case strings.HasPrefix(name, "browser_"):
		return familyBrowser
	case strings.HasPrefix(name, "grpc_"):
		return familyGRPC
	case strings.HasPrefix(name, "ws_"):
		return familyWebSocket
	default:
		return familyCustom
	}
}

// isHidden says whether the metric is never listed: the checks have a section of their own.
func isHidden(name string) bool {
	return strings.HasPrefix(name, metrics.ChecksName) || strings.HasPrefix(name, metrics.GroupDurationName)
}
