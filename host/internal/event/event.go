// Package event tells interested modules about the life-cycle of a test and waits for them to react.
package event

import "fmt"

// Type is the kind of an event.
type Type uint8

// The events of a test, in the order in which they occur. Modules outside this repository subscribe by number.
const (
	Init Type = iota + 1
	TestStart
	TestEnd
	IterStart
	IterEnd
	Exit
)

// String returns the name of the type.
func (t Type) String() string {
	switch t {
	case Init:
		return "Init"
	case TestStart:
		return "TestStart"
	case TestEnd:
		return "TestEnd"
	case IterStart:
		return "IterStart"
	case IterEnd:
		return "IterEnd"
	case Exit:
		return "Exit"
	default:
		return fmt.Sprintf("Type(%d)", uint8(t))
	}
}

// Event is one occurrence. Whoever receives it calls Done when finished with it: the emitter may be waiting.
type Event struct {
	Type Type
	Data any
	Done func()
}

// ExitData is the data of an Exit event: the error the process ends with, or nil.
type ExitData struct {
	Error error
}

// IterData is the data of IterStart and IterEnd events.
type IterData struct {
	Iteration    int64
	VUID         uint64
	ScenarioName string
	Error        error
}

// Subscriber is the part of a System that modules may use.
type Subscriber interface {
	// Subscribe returns an id for Unsubscribe and the channel that events of the types arrive on.
	Subscribe(events ...Type) (subID uint64, eventsCh <-chan *Event)
	// Unsubscribe closes the channel of the id. An unknown id is ignored.
	Unsubscribe(subID uint64)
}
