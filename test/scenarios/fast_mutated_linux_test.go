package scenarios

import (
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"net"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/miekg/dns"

	"github.com/coredns-kuadrant/kuadrant/internal/boottest"
	"github.com/coredns-kuadrant/kuadrant/internal/peertest"
)

// TestFastMutated: whatever a message is, fast-udp changes no octet of its reply, sends no second one, and none where CoreDNS sends none.
// One server gets the same messages before and after a reload that turns fast-udp off, so that both have the same serials.
func TestFastMutated(t *testing.T) {
	dir := t.TempDir()
	boottest.WriteFile(t, filepath.Join(dir, "a.yaml"), boottest.GatewayFile("a", "192.0.2.1"))
	boottest.WriteFile(t, filepath.Join(dir, "w.yaml"), boottest.GatewayAt("w", "'*.w.example.com'", "2001:db8::2"))
	corefile := fmt.Sprintf("example.com:%d {\nbind 127.0.0.1\nbufsize 1232\nkuadrant {\nmanifests %s\nfast-udp ", peertest.FreePort(t), dir)
	inst, addr := boottest.Start(t, corefile+"on\n}\n}")
	boottest.WaitFor(t, "query that the fast path answers", func() bool {
		return boottest.AskFirst(addr, "a.example.com.") == "192.0.2.1" && boottest.AskFirst(addr, "x.w.example.com.") == "NOERROR" &&
			fastOutcome(t, "answered") > 0
	})
	const seed = 1
	messages := mutated(t, rand.New(rand.NewPCG(seed, 42)), 100_000)
	answered, passed := fastOutcome(t, "answered"), fastOutcome(t, "not a plain query")
	on := exchangeAll(t, addr, messages)
	answered, passed = fastOutcome(t, "answered")-answered, fastOutcome(t, "not a plain query")-passed
	t.Logf("the fast path answers %v messages, and passes %v on that are no plain queries", answered, passed)
	if answered < 20_000 || passed < 20_000 {
		t.Error("the messages are not of both kinds")
	}
	inst, err := inst.Restart(boottest.Corefile(corefile + "off\n}\n}"))
	if err != nil {
		t.Fatal(err)
	}
	off := exchangeAll(t, addr, messages)
	_ = inst.Stop() // when all that came has been answered
	inst.ShutdownCallbacks()
	difference := func() string {
		for i, message := range messages {
			if with, without := on(i), off(i); with != without {
				return fmt.Sprintf("seed %d: message %d, %x, has with fast-udp the reply\n%x\nand without\n%x", seed, i, message, with, without)
			}
		}
		return ""
	}
	boottest.WaitOr(t, difference, func() bool { return difference() == "" })
}

// bases are the messages that mutated changes.
func bases(t *testing.T) (all [][]byte) {
	long := strings.Repeat(strings.Repeat("l", 63)+".", 3) + strings.Repeat("l", 49) + ".example.com."
	a := &dns.A{Hdr: dns.RR_Header{Name: "a.example.com.", Rrtype: dns.TypeA, Class: dns.ClassINET}, A: net.IPv4zero}
	for _, change := range []func(*dns.Msg){
		func(*dns.Msg) {},
		func(m *dns.Msg) { m.Question[0].Name = "x.W.example.com." },
		func(m *dns.Msg) { m.Question[0].Name = long },
		func(m *dns.Msg) { m.SetEdns0(1232, true) },
		func(m *dns.Msg) { boottest.WithSubnet(m, 1, "198.51.100.0", 24, 0) },
		func(m *dns.Msg) { boottest.WithSubnet(m, 2, "2001:db8::", 48, 0) },
		func(m *dns.Msg) {
			m.SetEdns0(4096, false)
			m.IsEdns0().Option = []dns.EDNS0{&dns.EDNS0_COOKIE{Code: dns.EDNS0COOKIE, Cookie: "0102030405060708"}}
		},
		func(m *dns.Msg) { m.SetTsig("key.", dns.HmacSHA256, 300, 1) },
		func(m *dns.Msg) { m.SetUpdate("example.com.") },
		func(m *dns.Msg) { m.SetNotify("example.com.") },
		func(m *dns.Msg) { m.Question = append(m.Question, m.Question[0]) },
		func(m *dns.Msg) { m.Compress, m.Answer = true, []dns.RR{a} },
	} {
		m := boottest.Question("a.example.com.", dns.TypeA)
		change(m)
		message, err := m.Pack()
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, message)
	}
	// The root at the end of a name is compressed: it is the first octet of QDCOUNT.
	compressed := append([]byte(nil), all[0][:len(all[0])-5]...)
	return append(all, append(compressed, 0xc0, 4, 0, byte(dns.TypeA), 0, dns.ClassINET))
}

// mutated returns n messages: bases of which some octets are changed, or that are cut off or longer. The first two octets are the id.
func mutated(t *testing.T, r *rand.Rand, n int) [][]byte {
	from, all := bases(t), make([][]byte, n)
	for i := range all {
		m := append([]byte(nil), from[r.IntN(len(from))]...)
		for range r.IntN(5) {
			switch at := 2 + r.IntN(max(1, len(m)-2)); r.IntN(16) {
			case 0:
				m = m[:at]
			case 1:
				for range 1 + r.IntN([]int{16, 600}[r.IntN(2)]) {
					m = append(m, byte(r.Uint32()))
				}
			case 2, 3: // a header's bit, or a length
				m[min(at, len(m)-1)] ^= 1 << r.IntN(8)
			default:
				m[min(at, len(m)-1)] = byte(r.Uint32())
			}
		}
		binary.BigEndian.PutUint16(m, uint16(i%perSocket))
		all[i] = m
	}
	return all
}

// perSocket is how many messages leave from one socket, each with an id of its own: the ids above are those of pacers.
const perSocket = 50_000

// exchangeAll sends messages to a server, and returns the reply to each; "" is none. Replies to the last ones may still come.
func exchangeAll(t *testing.T, addr string, messages [][]byte) (reply func(int) string) {
	var all []*exchanger
	for some := range slices.Chunk(messages, perSocket) {
		e := newExchanger(t, addr)
		e.send(t, some)
		all = append(all, e)
	}
	return func(i int) string { return all[i/perSocket].reply(uint16(i % perSocket)) }
}

// exchanger sends messages from a socket of its own, and keeps the replies.
type exchanger struct {
	conn    net.Conn
	paced   chan struct{} // has the replies to pacers
	mu      sync.Mutex
	replies map[uint16]string // one behind the other, if there are several
}

func newExchanger(t *testing.T, addr string) *exchanger {
	conn, err := net.Dial("udp", addr)
	if err != nil {
		t.Fatal(err)
	}
	e := &exchanger{conn: conn, paced: make(chan struct{}, 100), replies: make(map[uint16]string)}
	var reading sync.WaitGroup
	reading.Go(e.read)
	t.Cleanup(func() {
		_ = conn.Close()
		reading.Wait()
	})
	return e
}

// read keeps replies until the socket closes.
func (e *exchanger) read() {
	buf := make([]byte, dns.MaxMsgSize)
	for {
		n, err := e.conn.Read(buf)
		if err != nil {
			return
		}
		id := binary.BigEndian.Uint16(buf)
		if id >= perSocket {
			e.paced <- struct{}{}
			continue
		}
		e.mu.Lock()
		e.replies[id] += string(buf[:n])
		e.mu.Unlock()
	}
}

func (e *exchanger) reply(id uint16) string {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.replies[id]
}

// send sends messages, a few at a time, so that no socket's buffer overflows. Behind them go pacers, queries whose replies it waits for:
// some that the fast path answers, at one of its sockets or another, one that it passes on, and one that CoreDNS reads.
func (e *exchanger) send(t *testing.T, messages [][]byte) {
	const atOnce = 30
	plain, passed, other := boottest.Question("a.example.com.", dns.TypeA), boottest.Question("a.example.com.", dns.TypeDS), new(dns.Msg)
	var pacers [][]byte
	for i, m := range []*dns.Msg{plain, plain, plain, plain, passed, other.SetNotify("example.com.")} {
		m.Id = perSocket + uint16(i)
		message, err := m.Pack()
		if err != nil {
			t.Fatal(err)
		}
		pacers = append(pacers, message)
	}
	for some := range slices.Chunk(messages, atOnce) {
		for _, message := range slices.Concat(some, pacers) {
			if _, err := e.conn.Write(message); err != nil {
				t.Fatal(err)
			}
		}
		for range pacers {
			select {
			case <-e.paced:
			case <-time.After(20 * time.Second):
				t.Fatalf("no reply to a query behind message %x", some[len(some)-1])
			}
		}
	}
}
