package cliclient

import (
	"runtime"
	"sync"
	"time"
)

// spawn starts the processes of all clients. The thread of a process is what its parent-death signal is tied to, so it
// belongs to the whole program and not to a client.
var spawn spawner

// spawner owns the operating-system thread that starts processes.
//
// The kernel sends the parent-death signal when the thread that forked ends, not the process, and Go ends threads as
// it likes. So one goroutine keeps its thread to itself as long as any of its processes lives, and ends, with its
// thread, once there has been none for a while.
type spawner struct {
	mu       sync.Mutex
	requests chan *spawnRequest
	alive    int
}

type spawnRequest struct {
	launch launch
	done   chan struct{}
	child  *child
	took   time.Duration
	err    error
}

// spawnerIdle is how long the thread outlives its last process.
const spawnerIdle = 100 * time.Millisecond

// start starts a process; unless it fails, release has to follow once the process has been reaped.
func (s *spawner) start(l launch) (*child, time.Duration, error) {
	r := &spawnRequest{launch: l, done: make(chan struct{})}
	s.mu.Lock()
	s.alive++
	if s.requests == nil {
		s.requests = make(chan *spawnRequest)
		go s.loop(s.requests)
	}
	requests := s.requests
	s.mu.Unlock()
	requests <- r
	<-r.done
	if r.err != nil {
		s.release()
	}
	return r.child, r.took, r.err
}

func (s *spawner) release() {
	s.mu.Lock()
	s.alive--
	s.mu.Unlock()
}

func (s *spawner) loop(requests chan *spawnRequest) {
	// Never unlocked: the thread ends with the goroutine.
	runtime.LockOSThread()
	tick := time.NewTicker(spawnerIdle)
	defer tick.Stop()
	used := true
	for {
		select {
		case r := <-requests:
			used = true
			began := time.Now()
			r.child, r.err = forkExec(&r.launch)
			r.took = time.Since(began)
			close(r.done)
		case <-tick.C:
			if !used && s.retire() {
				return
			}
			used = false
		}
	}
}

// retire gives up the thread if no process of it lives and none is asked for.
func (s *spawner) retire() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.alive > 0 {
		return false
	}
	s.requests = nil
	return true
}
