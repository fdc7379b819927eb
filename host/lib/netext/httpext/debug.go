package httpext

import (
	"context"
	"crypto/rand"
	"net/http"
	"net/http/httputil"

	"github.com/sirupsen/logrus"
)

// debugLog writes a request and its response to the log, for the httpDebug option.
type debugLog struct {
	logger logrus.FieldLogger
	bodies bool
}

func newDebugLog(logger logrus.FieldLogger, mode string) *debugLog {
	return &debugLog{
		// The identifier tells which response belongs to which request.
		logger: logger.WithField("source", "http-debug").WithField("request_id", rand.Text()),
		bodies: mode == "full",
	}
}

func (d *debugLog) request(req *http.Request) {
	// Dumping consumes the body, which is in memory and can be had again, and must not set off the tracer.
	dumped := req.Clone(context.Background())
	bodies := d.bodies && (req.Body == nil || req.GetBody != nil)
	if bodies && req.Body != nil {
		body, err := req.GetBody()
		if err != nil {
			d.logger.WithField("error", err.Error()).Warn("the request could not be shown")
			return
		}
		dumped.Body = body
	}
	text, err := httputil.DumpRequestOut(dumped, bodies)
	if err != nil {
		d.logger.WithField("error", err.Error()).Warn("the request could not be shown")
		return
	}
	d.logger.Infof("Request:\n%s\n", text)
}

func (d *debugLog) response(res *http.Response) {
	text, err := httputil.DumpResponse(res, d.bodies)
	if err != nil {
		d.logger.WithField("error", err.Error()).Warn("the response could not be shown")
		return
	}
	d.logger.Infof("Response:\n%s\n", text)
}
