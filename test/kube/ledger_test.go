package kube

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/miekg/dns"

	"github.com/coredns-kuadrant/kuadrant/internal/boottest"
)

// ledger records the serials that processes show for zones, and with which content. No process may
// go back, and a serial must not have two contents (rule 6.7).
type ledger struct {
	faults
	zones []string
	stop  func()

	mu       sync.Mutex
	last     map[string]shownSerial        // by address and zone
	contents map[string]map[uint32]content // by zone
	// counts reports whether to compare a process's contents; others are not compared.
	counts func(*process) bool
}

// shownSerial is the serial shown last, 0 for none, and the number of the zone's transfers.
type shownSerial struct {
	serial    uint32
	transfers int
}

// content is what was transferred under a serial, and who served it first.
type content struct{ text, addr string }

// keepLedger starts to query processes for SOA records and transfers of zones.
func keepLedger(t *testing.T, processes []*process, counts func(*process) bool, zones ...string) *ledger {
	t.Helper()
	l := &ledger{zones: zones, last: make(map[string]shownSerial), contents: make(map[string]map[uint32]content), counts: counts}
	end := make(chan struct{})
	var running sync.WaitGroup
	l.stop = sync.OnceFunc(func() {
		close(end)
		running.Wait()
	})
	t.Cleanup(l.stop)
	for _, p := range processes {
		running.Go(func() {
			pace := time.NewTicker(10 * time.Millisecond)
			defer pace.Stop()
			for n := 0; ; n++ {
				select {
				case <-end:
					return
				case <-pace.C:
				}
				for _, zone := range zones {
					l.askSOA(p, zone)
					if n%5 == 0 {
						l.transfer(p, zone)
					}
				}
			}
		})
	}
	return l
}

// askSOA records the serial of a zone, from an answer and from a denial.
func (l *ledger) askSOA(p *process, zone string) {
	for _, name := range []string{zone, "no." + zone} {
		m, _, err := (&dns.Client{Timeout: 10 * time.Second}).Exchange(boottest.Question(name, dns.TypeSOA), p.addr)
		if err != nil {
			continue
		}
		for _, rr := range slices.Concat(m.Answer, m.Ns) {
			if soa, ok := rr.(*dns.SOA); ok {
				l.shows(p, zone, soa.Serial, 0)
			}
		}
	}
}

// shows records a serial.
func (l *ledger) shows(p *process, zone string, serial uint32, transfers int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	key := p.addr + " " + zone
	last := l.last[key]
	if last.serial != 0 && int32(serial-last.serial) < 0 {
		l.add("%s shows serial %d of %s after %d", p.addr, serial, zone, last.serial)
	}
	l.last[key] = shownSerial{serial, last.transfers + transfers}
}

// transfer records the content of a zone. A transfer may fail: secondaries retry.
func (l *ledger) transfer(p *process, zone string) {
	serial, text := transferOf(p.addr, zone)
	if text == "" {
		return
	}
	l.shows(p, zone, serial, 1)
	if l.counts != nil && !l.counts(p) {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.contents[zone] == nil {
		l.contents[zone] = make(map[uint32]content)
	}
	switch before, known := l.contents[zone][serial]; {
	case !known:
		l.contents[zone][serial] = content{text, p.addr}
	case before.text != text:
		l.add("%s of %s is with %s\n%s\nand with %s\n%s", zone, fmt.Sprint(serial), before.addr, before.text, p.addr, text)
	}
}

// transferOf returns the serial and the sorted records of a transfer; "" if there is none.
func transferOf(addr, zone string) (serial uint32, text string) {
	answers, err := new(dns.Transfer).In(new(dns.Msg).SetAxfr(zone), addr)
	if err != nil {
		return 0, ""
	}
	set := make(map[string]bool)
	for a := range answers {
		if a.Error != nil {
			err = a.Error
		}
		for _, rr := range a.RR {
			set[rr.String()] = true
			if soa, ok := rr.(*dns.SOA); ok {
				serial = soa.Serial
			}
		}
	}
	if err != nil {
		return 0, ""
	}
	return serial, strings.Join(slices.Sorted(maps.Keys(set)), "\n")
}

// serial returns the serial that a process shows for a zone; 0 if it shows none yet.
func (l *ledger) serial(p *process, zone string) uint32 {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.last[p.addr+" "+zone].serial
}

// forget lets a process show any serial of a zone next.
func (l *ledger) forget(p *process, zone string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	key := p.addr + " " + zone
	l.last[key] = shownSerial{transfers: l.last[key].transfers}
}

// holds reports whether a transfer of the zone with that serial contained the text.
func (l *ledger) holds(zone string, serial uint32, text string) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return strings.Contains(l.contents[zone][serial].text, text)
}

// settles waits until all processes show the same serial for each zone, with a content that
// contains the text.
func (l *ledger) settles(t *testing.T, text string, processes ...*process) {
	t.Helper()
	said := ""
	boottest.WaitOr(t, func() string { return said }, func() bool {
		for _, zone := range l.zones {
			first := l.serial(processes[0], zone)
			for _, p := range processes {
				if serial := l.serial(p, zone); serial != first || !l.holds(zone, serial, text) {
					said = fmt.Sprintf("%s shows %d of %s, %s shows %d; %q in it: %v", p.addr, serial, zone, processes[0].addr, first, text, l.holds(zone, serial, text))
					return false
				}
			}
		}
		return true
	})
}

// check ends the ledger, and fails the test if something wrong was shown.
func (l *ledger) check(t *testing.T) {
	t.Helper()
	l.stop()
	l.report(t)
	for key, shown := range l.last {
		if shown.transfers == 0 {
			t.Errorf("%s was never transferred", key)
		}
	}
	for zone, contents := range l.contents {
		t.Logf("%s: %d contents, up to %d", zone, len(contents), slices.Max(slices.Collect(maps.Keys(contents))))
	}
}
