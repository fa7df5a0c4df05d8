package kuadrant

import (
	"sync"
	"sync/atomic"

	"github.com/coredns/coredns/plugin"

	"github.com/coredns-kuadrant/kuadrant/corefile"
)

// instance is what all server blocks of one Corefile share.
type instance struct {
	config *corefile.Options
	engine *engine
	// alive tells whether CoreDNS has started the instance and has it still: it
	// drops one that it could not start, without telling anybody.
	alive func() bool
}

func newInstance() *instance {
	return &instance{config: new(corefile.Options), engine: newEngine(), alive: func() bool { return true }}
}

// reload is the reload under way in this process, if there is one. CoreDNS
// starts the new instance before it stops the old one, and shares nothing
// between the two: they find each other here.
var reload struct {
	sync.Mutex
	from, to *instance
	// first is the instance that was started last without one before it.
	first *instance
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
	for _, w := range i.config.Warnings() {
		log.Warning(w)
	}
	reload.Lock()
	defer reload.Unlock()
	if f := reload.first; f != nil && !f.alive() {
		// A reload that brought the first kuadrant into the Corefile has failed.
		answering.CompareAndSwap(f.engine, nil)
		f.engine.stop()
	}
	reload.first = nil
	if reload.from != nil {
		reload.to = i
		i.engine.start(reload.from.engine)
		return nil
	}
	reload.first = i
	answering.Store(i.engine)
	i.engine.start(nil)
	i.engine.awaitFirst()
	return nil
}

// restart says that a new instance is about to start in place of this one.
func (i *instance) restart() error {
	reload.Lock()
	defer reload.Unlock()
	reload.from, reload.to = i, nil
	return nil
}

// takeBack ends the engine that was to replace this one: CoreDNS calls it where
// a reload failed, and drops the new instance without stopping it. But it calls
// it as well where the old servers have ended and the new ones answer, and the
// end of some other plugin failed.
func (i *instance) takeBack() error {
	reload.Lock()
	next := reload.to
	if !i.alive() && (next == nil || next.alive()) {
		reload.Unlock()
		return i.stop()
	}
	defer reload.Unlock()
	if next != nil {
		next.engine.stop()
	}
	reload.from, reload.to = nil, nil
	return nil
}

// stop ends the engine. At the end of a reload the new one answers instead.
// Otherwise metrics go on to tell of this one, which goes on to answer until the
// lame duck time ends.
func (i *instance) stop() error {
	var next *instance
	reload.Lock()
	if reload.from == i {
		if next = reload.to; next != nil {
			answering.CompareAndSwap(i.engine, next.engine)
		} else {
			answering.CompareAndSwap(i.engine, nil)
		}
		reload.from, reload.to = nil, nil
	}
	if reload.first == i {
		reload.first = nil
	}
	reload.Unlock()
	i.engine.stop()
	if next != nil {
		next.engine.ring() // its serials follow the last of this one
	}
	return nil
}
