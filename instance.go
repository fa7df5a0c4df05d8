package kuadrant

import (
	"sync"
	"sync/atomic"

	"github.com/coredns/coredns/plugin"
)

// instance is what all server blocks of one Corefile share.
type instance struct {
	config *config
	engine *engine
}

func newInstance() *instance {
	return &instance{config: newConfig(), engine: newEngine()}
}

// reload is the reload under way in this process, if there is one. CoreDNS
// starts the new instance before it stops the old one, and shares nothing
// between the two: they find each other here.
var reload struct {
	sync.Mutex
	from, to *engine
}

// answering is the engine that answers queries in this process, nil for none: it
// is the one that metrics tell of. Between the start of a new instance and the
// end of the old one's servers that is the old one's.
var answering atomic.Pointer[engine]

// start configures and starts the engine. During a reload it takes over what
// the old instance's engine knows.
func (i *instance) start() error {
	if err := i.engine.configure(i.config); err != nil {
		return plugin.Error(pluginName, err)
	}
	reload.Lock()
	defer reload.Unlock()
	i.engine.start(reload.from)
	if reload.from != nil {
		reload.to = i.engine
	} else {
		answering.Store(i.engine)
	}
	return nil
}

// restart says that a new instance is about to start in place of this one.
func (i *instance) restart() error {
	reload.Lock()
	defer reload.Unlock()
	reload.from, reload.to = i.engine, nil
	return nil
}

// takeBack ends the engine that was to replace this one: CoreDNS calls it where
// a reload failed, and drops the new instance without stopping it.
func (i *instance) takeBack() error {
	reload.Lock()
	defer reload.Unlock()
	if reload.to != nil {
		reload.to.stop()
	}
	reload.from, reload.to = nil, nil
	return nil
}

// stop ends the engine. At the end of a reload the new one answers instead.
// Otherwise metrics go on to tell of this one, which goes on to answer until the
// lame duck time ends.
func (i *instance) stop() error {
	var next *engine
	reload.Lock()
	if reload.from == i.engine {
		answering.CompareAndSwap(i.engine, reload.to)
		next = reload.to
		reload.from, reload.to = nil, nil
	}
	reload.Unlock()
	i.engine.stop()
	if next != nil {
		next.ring() // its serials follow the last of this one
	}
	return nil
}
