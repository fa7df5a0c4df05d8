package inspect

import (
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"testing"

	"github.com/miekg/dns"

	"github.com/coredns-kuadrant/kuadrant/geo"
	"github.com/coredns-kuadrant/kuadrant/records"
	"github.com/coredns-kuadrant/kuadrant/records/recordstest"
)

// world compiles objects in the short form of recordstest, in the cluster a, whose zone is example.com.
func world(t testing.TB, lines ...string) *View {
	t.Helper()
	w := recordstest.New(t, recordstest.Zones("example.com."), append([]string{"cluster a"}, lines...)...)
	return &View{Snapshot: records.Compile(nil, w.Objects(), w.Options, w.Now)}
}

// hosts returns the lines of Gateways with their policies, each of NAME HOST ADDRESSES, "-" for none, words of the policy, and behind a
// bar words of the Gateway. A name without a namespace is in n.
func hosts(lines ...string) string {
	var b strings.Builder
	for _, line := range lines {
		policy, gateway, _ := strings.Cut(line, " | ")
		f := append(strings.SplitN(policy, " ", 4), "")
		if !strings.Contains(f[0], "/") {
			f[0] = "n/" + f[0]
		}
		if f[2] != "-" {
			gateway += " addr=" + f[2]
		}
		fmt.Fprintf(&b, "gateway %[1]s host=%[2]s %[3]s\npolicy %[1]s %[4]s\n", f[0], f[1], gateway, f[3])
	}
	return b.String()
}

// checked is a health check of a policy.
const checked = " check=HTTP:80/Up,interval=1m,failures=1,successes=1"

// europe locates everybody in Ireland.
type europe struct{}

func (europe) Locate(netip.Addr, geo.Need) (*geo.Codes, int) {
	return &geo.Codes{"", "", "IE", "GEO-EU"}, 8
}

// rrs returns records of example.com from lines of a zone file, or such with semicolons between them.
func rrs(t testing.TB, lines ...string) (all []dns.RR) {
	t.Helper()
	zone := dns.NewZoneParser(strings.NewReader(strings.ReplaceAll(strings.Join(lines, "\n"), "; ", "\n")+"\n"), "example.com.", "")
	zone.SetDefaultTTL(60)
	for rr, ok := zone.Next(); ok; rr, ok = zone.Next() {
		all = append(all, rr)
	}
	if err := zone.Err(); err != nil {
		t.Fatal(err)
	}
	return all
}

// reply is a good one with records.
func reply(t testing.TB, answer string) *Reply {
	t.Helper()
	return &Reply{Rcode: rcodeFine, Answer: rrs(t, answer)}
}

// lasts returns the records of addresses of h.example.com that end in words.
func lasts(words string) string {
	var all []string
	for _, last := range strings.Fields(words) {
		all = append(all, "h A 192.0.2."+last)
	}
	return strings.Join(all, "; ")
}

// client is one of many, by number.
func client(i int) *Place {
	return &Place{Network: netip.PrefixFrom(netip.AddrFrom4([4]byte{203, 0, byte(i), 0}), 24)}
}

// hereOf is our side of a comparison, which asks a view, about each name once.
func hereOf(v *View, q Question) *Here {
	trees := make(map[string]*records.Tree)
	return &Here{
		Tree: func(name string) *records.Tree {
			if _, known := trees[name]; !known {
				trees[name], _ = v.Tree(name)
			}
			return trees[name]
		},
		Explain: func(name string) *records.Explanation {
			x, _ := v.Explain(Question{Name: name, Type: q.Type, From: q.From})
			return x
		},
	}
}

// addTo asks a view, and compares a reply.
func addTo(t *testing.T, c *Comparison, v *View, q Question, of *Place, r *Reply) {
	t.Helper()
	x, err := v.Explain(q)
	if err != nil {
		t.Fatal(err)
	}
	c.Add(of, CompareReply(x, hereOf(v, q), r, of != nil))
}

// compared compares one reply, whatever is drawn here: that does not change what is said.
func compared(t *testing.T, v *View, q Question, of *Place, r *Reply) (first *Comparison) {
	t.Helper()
	for draw := range uint64(16) {
		v.Random = func() uint64 { return draw << 60 }
		found := NewComparison("192.0.2.53:53")
		addTo(t, found, v, q, of, r)
		found.Finish()
		if first == nil {
			first = found
		} else if text := found.Text(); text != first.Text() {
			t.Errorf("%+v, draw %d says\n%s\nand the first\n%s", q, draw, text, first.Text())
		}
	}
	return first
}

// expectDifference compares the only difference with its kind and parts of its reasons, with bars between them; where these are all, in
// order, with their number behind the kind. "" is none.
func expectDifference(t *testing.T, what string, c *Comparison, want string) {
	t.Helper()
	if want == "" {
		if len(c.Differences) > 0 || c.Same != 1 {
			t.Errorf("%s differs:\n%s", what, c.Text())
		}
		return
	}
	if len(c.Differences) != 1 || c.Same != 0 {
		t.Errorf("%s: no difference:\n%s", what, c.Text())
		return
	}
	d := &c.Differences[0]
	parts := strings.Split(want, "|")
	kind, n, all := strings.Cut(parts[0], " ")
	if string(d.Kind) != kind || all && fmt.Sprint(len(d.Why)) != n {
		t.Errorf("%s: %s %q, want %s", what, d.Kind, d.Why, want)
		return
	}
	for i, part := range parts[1:] {
		why := d.Why
		if all {
			why = d.Why[i : i+1]
		}
		if !slices.ContainsFunc(why, func(line string) bool { return strings.Contains(line, part) }) {
			t.Errorf("%s: lacks %q: %q", what, part, d.Why)
		}
	}
}
