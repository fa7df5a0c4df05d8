package kuadrant

import (
	"sync"
	"sync/atomic"

	"github.com/coredns/coredns/plugin"

	"github.com/coredns-kuadrant/kuadrant/corefile"
)

// instance is what all server blocks of one Corefile share. Its engine is that of the Corefile before where there is one:
// a CoreDNS has one engine, however often it is reloaded.
type instance struct {
	config *corefile.Options
	blocks *serverBlocks
	engine *engine
	// alive reports whether CoreDNS has started the instance and has it still: it
	// drops one that it could not start, without telling anybody.
	alive func() bool
}

// reload is what instances find each other by: CoreDNS shares nothing between the old one and the new one. It guards the
// holders of engines, too.
var reload struct {
	sync.Mutex
	// handed is the engine that a restart under way hands on; nil for none, and once it was taken.
	handed *engine
	// begun is the instance that was the last to begin with an engine of its own: where a reload brings the first kuadrant into
	// the Corefile and fails, nobody is told.
	begun *instance
}

// answering is the engine that metrics tell of: the newest; nil for none.
var answering atomic.Pointer[engine]

// newInstance returns an instance with the engine that was handed on, else with one of its own.
func newInstance() *instance {
	reload.Lock()
	defer reload.Unlock()
	i := &instance{config: new(corefile.Options), blocks: new(serverBlocks), engine: reload.handed, alive: func() bool { return true }}
	reload.handed = nil
	if i.engine == nil {
		i.engine = newEngine()
	}
	return i
}

// start configures the engine.
func (i *instance) start() error {
	reload.Lock()
	defer reload.Unlock()
	e, begins := i.engine, i.engine.holder == nil
	if f := reload.begun; f != nil && f.engine != e && !f.alive() {
		answering.CompareAndSwap(f.engine, nil)
		f.engine.stop()
		reload.begun = nil
	}
	if err := e.configure(i.config, i.blocks); err != nil {
		return plugin.Error(pluginName, err)
	}
	for _, w := range i.config.Warnings() {
		log.Warning(w)
	}
	e.holder = i
	switch {
	case begins:
		reload.begun = i
		answering.Store(e)
		e.awaitFirst()
	case reload.begun != nil && reload.begun.engine == e: // it was reloaded, so it has begun well
		reload.begun = nil
	}
	return nil
}

// restart says that a new instance is about to start in place of this one.
func (i *instance) restart() error {
	reload.Lock()
	defer reload.Unlock()
	reload.handed = i.engine
	return nil
}

// takeBack lets the options of this instance come back where a reload has failed. CoreDNS calls it as well where the old servers
// have ended and the new ones answer, and the end of some other plugin failed.
func (i *instance) takeBack() error {
	reload.Lock()
	defer reload.Unlock()
	e, next := i.engine, i.engine.holder
	if reload.handed == e && i.alive() {
		reload.handed = nil // nobody has taken it
	}
	switch {
	case !i.alive() && (next == i || !next.alive()):
		i.end()
	case i.alive() && next != i:
		if err := e.configure(i.config, i.blocks); err != nil {
			log.Errorf("the Corefile of before cannot be read again after a reload that failed: %v; the options of the new one go on. Reload once more", err)
			return nil
		}
		e.holder = i
	}
	return nil
}

// stop ends the engine, unless another instance has it now.
func (i *instance) stop() error {
	reload.Lock()
	defer reload.Unlock()
	if i.engine.holder == i {
		i.end()
	}
	return nil
}

// end ends the engine. Metrics go on to tell of it, as it goes on to answer until the
// lame duck time ends; but not at the end of a reload. The caller holds reload.
func (i *instance) end() {
	if reload.handed == i.engine {
		reload.handed = nil
		answering.CompareAndSwap(i.engine, nil)
	}
	if reload.begun == i {
		reload.begun = nil
	}
	i.engine.stop()
}
