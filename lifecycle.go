package kuadrant

import (
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/coredns-kuadrant/kuadrant/internal/corefile"
	"github.com/coredns-kuadrant/kuadrant/internal/engine"
	"github.com/coredns-kuadrant/kuadrant/records"
	"github.com/coredns/caddy"
	"github.com/coredns/coredns/plugin"
)

// The life of a server. CoreDNS makes an instance of each Corefile that it reads; the server of the first goes on in the next.
//
//	the Corefile is read       setup → newInstance      takes the server that was handed over, or makes one
//	it is right                start                    configures the server by this Corefile; the fast path begins at its sockets
//	a reload begins            restart (the old one)    hands the server over, before the new Corefile is read
//	  it succeeds              stop (the old one)       ends the fast path of the old instance; the server has another holder
//	  it fails                 takeBack (the old one)   configures the server by the old Corefile again
//	the process ends           stop, then fast.leave    ends the server; after the lame duck time, the fast path
//
// CoreDNS tells nobody that a reload failed which added the first kuadrant block: the next start finds that instance by reload.begun.

// server outlives reloads of the Corefile. reload guards the fields that do not belong to the engine or the notifier.
type server struct {
	engine   *engine.Engine
	events   *eventLog
	news     *news
	started  time.Time
	notifier *notifier      // notifies secondaries
	console  *consoleServer // nil if the Corefile has none
	shown    engine.Console // its settings
	// blocks belong to the Corefile in force; nil before the first.
	blocks atomic.Pointer[serverBlocks]
	// holder is the instance that configured the server last.
	holder *instance
}

func newServer() *server {
	s := &server{news: &news{Logger: log}, started: time.Now()}
	s.notifier = newNotifier(func() *records.Snapshot { return s.engine.Snapshot() })
	s.notifier.warnf, s.notifier.infof = s.news.Warningf, s.news.Infof
	s.events = newEventLog(s.news, s.notifier.ring)
	s.engine = engine.New(s.news, s.events)
	s.events.corefile = func() *engine.Options { return s.engine.Current().Listed }
	return s
}

// configure applies an instance's Corefile to the server. On an error the server stays as it is. The caller holds reload.
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
	s.events.ask.Store(&i.blocks.ask)
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
	if s.console != nil && s.console != console {
		s.console.close() // at once: a reload may want its port back
	}
	s.console, s.shown, s.holder = console, i.config.Console, i
	s.blocks.Store(i.blocks)
	s.notifier.use(i.blocks.listeners)
	return nil
}

// stop stops the server. The caller holds reload.
func (s *server) stop() {
	if s.console != nil {
		s.console.close()
	}
	s.engine.Stop()
}

// instanceKey finds the instance in the storage that all server blocks of a Corefile share.
type instanceKey struct{}

// instance is what all server blocks of one Corefile share. It takes over the previous Corefile's server, if there is one.
type instance struct {
	config *engine.Options
	blocks *serverBlocks
	server *server
	fast   fastServers
	// first are the blocks' look-ups of other plugins, which run before the server is configured.
	first []func()
	// alive reports whether CoreDNS has started the instance and still has it. CoreDNS silently
	// drops one that it could not start.
	alive func() bool
}

// reload lets instances find each other: CoreDNS passes nothing from the old one to the new one. It also guards the servers.
var reload struct {
	sync.Mutex
	// handed is the server that a restart under way hands over; nil if none, or once it was taken.
	handed *server
	// begun is the last instance that started a server of its own. It is needed when a reload adds the first kuadrant block and fails:
	// CoreDNS tells nobody.
	begun *instance
}

// answering is the server that metrics describe: the newest; nil for none.
var answering atomic.Pointer[server]

// newInstance returns an instance with the server that was handed over, else with a new one. own is CoreDNS's; nil for none.
func newInstance(own *caddy.Instance) *instance {
	reload.Lock()
	defer reload.Unlock()
	i := &instance{config: new(engine.Options), blocks: new(serverBlocks), server: reload.handed, alive: alive(own)}
	i.fast.of, i.fast.options = own, i.config
	reload.handed = nil
	if i.server == nil {
		i.server = newServer()
	}
	return i
}

// register has CoreDNS call the instance.
func (i *instance) register(c *caddy.Controller) {
	reload.Lock()
	defer reload.Unlock()
	hookDecorated()
	c.Set(instanceKey{}, i)
	c.OnStartup(i.start)
	c.OnRestart(i.restart)
	c.OnRestartFailed(i.takeBack)
	c.OnShutdown(i.stop)
	c.OnFinalShutdown(i.fast.leave)
}

// start configures the server.
func (i *instance) start() error {
	reload.Lock()
	defer reload.Unlock()
	i.fast.prepare()
	s, begins := i.server, i.server.holder == nil
	for _, look := range i.first {
		look()
	}
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
	case reload.begun != nil && reload.begun.server == s: // after its reload, it has started well
		reload.begun = nil
	}
	return nil
}

// restart prepares the server for a new instance that replaces this one.
func (i *instance) restart() error {
	reload.Lock()
	defer reload.Unlock()
	reload.handed = i.server
	return nil
}

// takeBack restores this instance's options after a failed reload. CoreDNS also calls it if the new servers answer, the old ones have
// stopped, and another plugin's shutdown failed.
func (i *instance) takeBack() error {
	reload.Lock()
	defer reload.Unlock()
	s, next := i.server, i.server.holder
	if !i.alive() {
		i.fast.release() // CoreDNS has stopped its servers
	}
	if reload.handed == s && i.alive() {
		reload.handed = nil // no instance took it
	}
	switch {
	case !i.alive() && (next == i || !next.alive()):
		i.end()
	case i.alive() && next != i:
		if err := s.configure(i); err != nil {
			log.Errorf("reload: failed, and the previous options cannot be restored: %v; those of the new Corefile stay in force. Reload again", err)
			return nil
		}
	}
	return nil
}

// stop stops the server, unless another instance has taken it over.
func (i *instance) stop() error {
	reload.Lock()
	defer reload.Unlock()
	if i.server.holder != i || reload.handed == i.server {
		i.fast.release() // at the end of a reload; else fastServers.leave does, after the lame duck time
	}
	if i.server.holder == i {
		i.end()
	}
	return nil
}

// end stops the server. Metrics still describe it, as it still answers until the lame duck time is
// over; not so at the end of a reload. The caller holds reload.
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

// newest returns the instance that CoreDNS is setting up: during that it is the newest. It is nil if nobody starts one.
func newest() *caddy.Instance {
	if all := caddy.Instances(); len(all) > 0 {
		return all[len(all)-1]
	}
	return nil
}

// alive returns a function that reports whether CoreDNS has started an instance, and still has it. One whose start panicked stays listed.
func alive(own *caddy.Instance) func() bool {
	return func() bool { return own == nil || slices.Contains(caddy.Instances(), own) && len(own.Servers()) > 0 }
}
