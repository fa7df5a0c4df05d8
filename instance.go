package kuadrant

import (
	"sync"
	"sync/atomic"

	"github.com/coredns/coredns/plugin"

	"github.com/coredns-kuadrant/kuadrant/corefile"
	"github.com/coredns-kuadrant/kuadrant/engine"
	"github.com/coredns-kuadrant/kuadrant/records"
)

// server is what goes on from Corefile to Corefile, however often a CoreDNS is reloaded. reload guards what is not the
// engine's or the notifier's.
type server struct {
	engine   *engine.Engine
	notifier *notifier      // tells secondaries of changes
	console  *consoleServer // nil where the Corefile says nothing of one
	shown    engine.Console // what it was made of
	// blocks are those of the Corefile that is in force; nil before the first.
	blocks atomic.Pointer[serverBlocks]
	// holder is the instance that has configured the server last.
	holder *instance
}

// serverBlocks is what the server blocks of one Corefile have in common beside their server.
type serverBlocks struct {
	// lent find clients for those who ask without a query.
	lent lentLocators
	// signings are the dnssec plugins of all server blocks. They are known before the first query.
	signings []*signing
	// listeners are the transfer plugins.
	listeners []*listening
}

func newServer() *server {
	s := new(server)
	s.notifier = newNotifier(func() *records.Snapshot { return s.engine.Snapshot() })
	s.engine = engine.New(log, newSaid(log, s.notifier.ring))
	return s
}

// configure makes the server what the Corefile of an instance says. Where that cannot work, it stays as it is. The caller
// holds reload.
func (s *server) configure(i *instance) (err error) {
	if err := corefile.Check(i.config); err != nil {
		return err
	}
	console := s.console
	if i.config.Console != s.shown {
		if console, err = s.openConsole(i.config); err != nil {
			return err
		}
	}
	runs := engine.Parts{s.notifier: s.notifier.run}
	if console != nil {
		runs[console] = console.run
	}
	if err := s.engine.Configure(i.config, runs); err != nil {
		if console != nil && console != s.console {
			console.close()
		}
		return err
	}
	s.console, s.shown, s.holder = console, i.config.Console, i
	s.blocks.Store(i.blocks)
	s.notifier.use(i.blocks.listeners)
	return nil
}

// stop ends everything. The caller holds reload.
func (s *server) stop() {
	if s.console != nil {
		s.console.close()
	}
	s.engine.Stop()
}

// instance is what all server blocks of one Corefile share. Its server is that of the Corefile before where there is one.
type instance struct {
	config *engine.Options
	blocks *serverBlocks
	server *server
	// alive reports whether CoreDNS has started the instance and has it still: it
	// drops one that it could not start, without telling anybody.
	alive func() bool
}

// reload is what instances find each other by: CoreDNS shares nothing between the old one and the new one. It guards the
// servers, too.
var reload struct {
	sync.Mutex
	// handed is the server that a restart under way hands on; nil for none, and once it was taken.
	handed *server
	// begun is the instance that was the last to begin with a server of its own: where a reload brings the first kuadrant into
	// the Corefile and fails, nobody is told.
	begun *instance
}

// answering is the server that metrics tell of: the newest; nil for none.
var answering atomic.Pointer[server]

// newInstance returns an instance with the server that was handed on, else with one of its own.
func newInstance() *instance {
	reload.Lock()
	defer reload.Unlock()
	i := &instance{config: new(engine.Options), blocks: new(serverBlocks), server: reload.handed, alive: func() bool { return true }}
	reload.handed = nil
	if i.server == nil {
		i.server = newServer()
	}
	return i
}

// start configures the server.
func (i *instance) start() error {
	reload.Lock()
	defer reload.Unlock()
	s, begins := i.server, i.server.holder == nil
	if f := reload.begun; f != nil && f.server != s && !f.alive() {
		answering.CompareAndSwap(f.server, nil)
		f.server.stop()
		reload.begun = nil
	}
	if err := s.configure(i); err != nil {
		return plugin.Error(pluginName, err)
	}
	for _, w := range corefile.Warnings(i.config) {
		log.Warning(w)
	}
	switch {
	case begins:
		reload.begun = i
		answering.Store(s)
	case reload.begun != nil && reload.begun.server == s: // it was reloaded, so it has begun well
		reload.begun = nil
	}
	return nil
}

// restart says that a new instance is about to start in place of this one.
func (i *instance) restart() error {
	reload.Lock()
	defer reload.Unlock()
	reload.handed = i.server
	return nil
}

// takeBack lets the options of this instance come back where a reload has failed. CoreDNS calls it as well where the old servers
// have ended and the new ones answer, and the end of some other plugin failed.
func (i *instance) takeBack() error {
	reload.Lock()
	defer reload.Unlock()
	s, next := i.server, i.server.holder
	if reload.handed == s && i.alive() {
		reload.handed = nil // nobody has taken it
	}
	switch {
	case !i.alive() && (next == i || !next.alive()):
		i.end()
	case i.alive() && next != i:
		if err := s.configure(i); err != nil {
			log.Errorf("the Corefile of before cannot be read again after a reload that failed: %v; the options of the new one go on. Reload once more", err)
			return nil
		}
	}
	return nil
}

// stop ends the server, unless another instance has it now.
func (i *instance) stop() error {
	reload.Lock()
	defer reload.Unlock()
	if i.server.holder == i {
		i.end()
	}
	return nil
}

// end ends the server. Metrics go on to tell of it, as it goes on to answer until the
// lame duck time ends; but not at the end of a reload. The caller holds reload.
func (i *instance) end() {
	if reload.handed == i.server {
		reload.handed = nil
		answering.CompareAndSwap(i.server, nil)
	}
	if reload.begun == i {
		reload.begun = nil
	}
	i.server.stop()
}
