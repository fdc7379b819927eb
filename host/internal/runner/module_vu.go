package runner

import (
	"context"

	"github.com/grafana/sobek"

	"go.k6.io/k6/v2/internal/eventloop"
	"go.k6.io/k6/v2/js/common"
	"go.k6.io/k6/v2/lib"
)

// moduleVU is a VU as modules see it.
type moduleVU struct {
	ctx     context.Context //nolint:containedctx // it is the answer to Context
	initEnv *common.InitEnvironment
	state   *lib.State
	rt      *sobek.Runtime
	loop    *eventloop.EventLoop
	events  common.Events
}

func (m *moduleVU) Context() context.Context             { return m.ctx }
func (m *moduleVU) Events() common.Events                { return m.events }
func (m *moduleVU) InitEnv() *common.InitEnvironment     { return m.initEnv }
func (m *moduleVU) State() *lib.State                    { return m.state }
func (m *moduleVU) Runtime() *sobek.Runtime              { return m.rt }
func (m *moduleVU) RegisterCallback() func(func() error) { return m.loop.RegisterCallback() }
