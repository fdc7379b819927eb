package scratch

import (
	"os"
	"strings"
	"sync"
)

// processSpace names the namespace in which this process's id counts: each container has its own.
var processSpace = sync.OnceValue(func() string {
	link, err := os.Readlink("/proc/self/ns/pid") // pid:[4026531836]
	if err != nil {
		return unknownSpace
	}
	id := strings.TrimSuffix(strings.TrimPrefix(link, "pid:["), "]")
	if id == "" || strings.Trim(id, "0123456789") != "" {
		return unknownSpace
	}
	return id
})
