package modulestest

import (
	"context"

	"github.com/grafana/sobek"

	"go.k6.io/k6/v2/js/common"
	"go.k6.io/k6/v2/js/modules"
	"go.k6.io/k6/v2/lib"
)

// VU is a modules.VU whose answers are its fields.
type VU struct {
	CtxField              context.Context //nolint:containedctx // it is the answer to Context
	InitEnvField          *common.InitEnvironment
	EventsField           common.Events
	StateField            *lib.State
	RuntimeField          *sobek.Runtime
	RegisterCallbackField func() func(f func() error)
}

var _ modules.VU = (*VU)(nil)

// Context returns CtxField.
func (m *VU) Context() context.Context { return m.CtxField }

// InitEnv returns InitEnvField.
func (m *VU) InitEnv() *common.InitEnvironment {
	m.checkPhase()
	return m.InitEnvField
}

// Events returns EventsField.
func (m *VU) Events() common.Events { return m.EventsField }

// State returns StateField.
func (m *VU) State() *lib.State {
	m.checkPhase()
	return m.StateField
}

// Runtime returns RuntimeField.
func (m *VU) Runtime() *sobek.Runtime { return m.RuntimeField }

// RegisterCallback calls RegisterCallbackField.
func (m *VU) RegisterCallback() func(f func() error) { return m.RegisterCallbackField() }

// checkPhase stops a test that mixes up the two phases of a VU: no real VU has both.
func (m *VU) checkPhase() {
	if m.InitEnvField != nil && m.StateField != nil {
		panic("the test's VU has both an init environment and a state: clear one, as MoveToVUContext does")
	}
}
