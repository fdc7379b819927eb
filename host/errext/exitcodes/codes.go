// Package exitcodes names the exit codes a test run can end with.
package exitcodes

// ExitCode is a process exit code.
type ExitCode uint8

// The exit codes, one per cause that a caller of the binary may want to tell apart.
const (
	CloudTestRunFailed       ExitCode = 97
	CloudFailedToGetProgress ExitCode = 98
	ThresholdsHaveFailed     ExitCode = 99
	SetupTimeout             ExitCode = 100
	TeardownTimeout          ExitCode = 101
	GenericTimeout           ExitCode = 102
	ScriptStoppedFromRESTAPI ExitCode = 103
	InvalidConfig            ExitCode = 104
	ExternalAbort            ExitCode = 105
	CannotStartRESTAPI       ExitCode = 106
	ScriptException          ExitCode = 107
	ScriptAborted            ExitCode = 108
	GoPanic                  ExitCode = 109
	MarkedAsFailed           ExitCode = 110
)
