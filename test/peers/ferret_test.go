package peers

import (
	"bufio"
	"compress/gzip"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/miekg/dns"

	"github.com/coredns-kuadrant/kuadrant/api"
	"github.com/coredns-kuadrant/kuadrant/records"

	"github.com/coredns-kuadrant/kuadrant/internal/boottest"
)

const (
	// ferretFile has the cases unless KUADRANT_FERRET names another file. It is not part of this
	// repository.
	ferretFile = "../shared/ferret/cases.jsonl.gz"
	// maxFerretShown bounds the failures printed for one tag.
	maxFerretShown = 20
)

// ferretCase is one zone of the Ferret dataset (MIT licence), one question to it, and the answer on
// which BIND, NSD, Knot and PowerDNS agree.
type ferretCase struct {
	ID        int      `json:"id"`
	Zone      []string `json:"zone"` // lines of a master file, the SOA first
	QName     string   `json:"qname"`
	QType     string   `json:"qtype"`
	Tag       string   `json:"tag"` // the part of the RFCs that the case exercises
	Rcode     string   `json:"rcode"`
	AA        bool     `json:"aa"`
	Answer    []string `json:"answer"`
	Authority []string `json:"authority"`
}

// TestFerret asks about the zones of the Ferret dataset, each as a Zone and its Records, the
// questions that other servers were asked (rule 7.1). The case's answer must come from the snapshot
// and, in a message, from the server.
func TestFerret(t *testing.T) {
	cases := readFerret(t)
	t.Logf("%d cases", len(cases))
	byTag := make(map[string][]*ferretCase)
	for _, c := range cases {
		byTag[c.Tag] = append(byTag[c.Tag], c)
	}
	tags := make([]string, 0, len(byTag))
	for tag := range byTag {
		tags = append(tags, tag)
	}
	slices.Sort(tags)
	s := newServer(t)
	before := fastAnswers(t)
	for _, tag := range tags {
		t.Run(tag, func(t *testing.T) {
			failed := 0
			for _, c := range byTag[tag] {
				wrong := c.play(t, s)
				if wrong == "" {
					continue
				}
				if failed++; failed <= maxFerretShown {
					t.Errorf("case %d, %s %s:\n  zone\n    %s\n  want\n    %s\n%s",
						c.ID, c.QName, c.QType, strings.Join(c.Zone, "\n    "), c.want(t), wrong)
				}
			}
			if failed > 0 {
				t.Errorf("%d of %d cases fail", failed, len(byTag[tag]))
			}
		})
	}
	if n := fastAnswers(t) - before; runtime.GOOS == "linux" && n < float64(len(cases))/2 {
		t.Errorf("the fast path answers %v of %d cases", n, len(cases))
	}
}

func readFerret(t *testing.T) (cases []*ferretCase) {
	t.Helper()
	name := os.Getenv("KUADRANT_FERRET")
	if name == "" {
		name = ferretFile
	}
	file, err := os.Open(name)
	if errors.Is(err, fs.ErrNotExist) && name == ferretFile {
		t.Skipf("there is no %s: set KUADRANT_FERRET to a file of cases", name)
	}
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	var in io.Reader = bufio.NewReader(file)
	if strings.HasSuffix(name, ".gz") {
		if in, err = gzip.NewReader(in); err != nil {
			t.Fatal(err)
		}
	}
	d := json.NewDecoder(in)
	for d.More() {
		c := new(ferretCase)
		if err := d.Decode(c); err != nil {
			t.Fatalf("case after %d: %v", len(cases), err)
		}
		cases = append(cases, c)
	}
	if len(cases) == 0 {
		t.Fatalf("%s has no cases", name)
	}
	return cases
}

// play asks the case's question in both ways, and returns the answers that differ from the case's;
// "" for none.
func (c *ferretCase) play(t *testing.T, s server) string {
	t.Helper()
	origin, cluster := c.objects(t)
	opt := &records.Options{Zones: []records.ZoneOptions{{Origin: origin, TTL: records.DefaultTTL, LoadBalancedTTL: records.DefaultLoadBalancedTTL}}}
	snap := records.Compile(nil, api.Objects{Clusters: []*api.Cluster{cluster}}, opt, time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC))
	want, wrong := c.want(t), ""

	var a records.Answer
	zone := snap.Zone(c.QName)
	if zone == nil {
		return "  no zone answers"
	}
	snap.Lookup(zone, &records.Query{Name: c.QName, Owner: c.QName, Type: dns.StringToType[c.QType]}, &a)
	// The snapshot does not decide the flag AA.
	if got := c.format(origin, a.Rcode, c.AA, a.Answer, a.Ns); got != want {
		wrong = "  snapshot\n    " + got + "\n"
	}

	s.Publish(snap)
	m := ask(t, s.addr, c.QName, c.QType)
	if got := c.format(origin, m.Rcode, m.Authoritative, m.Answer, m.Ns); got != want {
		wrong += "  message\n    " + got + "\n"
	}
	return wrong
}

// ask asks a server for any reply that UDP can carry.
func ask(t *testing.T, addr, name, qtype string) *dns.Msg {
	t.Helper()
	m := boottest.Question(name, dns.StringToType[qtype])
	m.RecursionDesired = false
	m.SetEdns0(dns.MaxMsgSize-1, false)
	reply, _, err := boottest.Client("").Exchange(m, addr)
	if err != nil {
		t.Fatalf("%s, %s %s: %v", addr, name, qtype, err)
	}
	return reply
}

// objects returns the zone's name, and a cluster with the zone as a Zone and Records, all decoded
// from JSON.
func (c *ferretCase) objects(t *testing.T) (origin string, cluster *api.Cluster) {
	t.Helper()
	cluster = &api.Cluster{Name: "c", UID: "c"}
	for kind := range cluster.Listings {
		cluster.Listings[kind] = api.Listed
	}
	set := cluster.Records.Edit()
	for i, rr := range parseRRs(t, c.Zone) {
		if soa, ok := rr.(*dns.SOA); ok {
			origin = soa.Hdr.Name
			zone, err := api.DecodeZone("c", ferretObject(t, "Zone", "zone", map[string]any{
				"domainName": origin, "ttl": soa.Hdr.Ttl, "mname": soa.Ns, "rname": soa.Mbox,
				"refresh": soa.Refresh, "retry": soa.Retry, "expire": soa.Expire, "negativeResponseCache": soa.Minttl,
				"delegations": []any{map[string]any{"records": []any{map[string]any{"pattern": "*"}, map[string]any{"pattern": "@"}}}},
			}))
			if err != nil || zone.Invalid != "" || zone.Fault != "" {
				t.Fatalf("case %d: %v, %+v", c.ID, err, zone)
			}
			zones := cluster.Zones.Edit()
			zones.Set(zone.Name, zone)
			cluster.Zones = zones.Map()
			continue
		}
		h := rr.Header()
		rec, err := api.DecodeRecord("c", ferretObject(t, "Record", fmt.Sprintf("r%d", i), map[string]any{
			"domainName": h.Name, "type": dns.TypeToString[h.Rrtype], "ttl": h.Ttl,
			"rdata": strings.TrimPrefix(rr.String(), h.String()),
		}))
		if err != nil || rec.Invalid != "" || rec.Fault != "" {
			t.Fatalf("case %d: %v, %+v", c.ID, err, rec)
		}
		set.Set(rec.Name, rec)
	}
	cluster.Records = set.Map()
	return origin, cluster
}

func ferretObject(t *testing.T, kind, name string, spec map[string]any) []byte {
	t.Helper()
	text, err := json.Marshal(map[string]any{
		"apiVersion": "kubi.zone/v1alpha1", "kind": kind,
		"metadata": map[string]any{"namespace": "dns", "name": name}, "spec": spec,
	})
	if err != nil {
		t.Fatal(err)
	}
	return text
}

func parseRRs(t *testing.T, lines []string) (rrs []dns.RR) {
	t.Helper()
	for _, line := range lines {
		rr, err := dns.NewRR(line)
		if err != nil {
			t.Fatalf("%s: %v", line, err)
		}
		rrs = append(rrs, rr)
	}
	return rrs
}

func (c *ferretCase) want(t *testing.T) string {
	t.Helper()
	origin := parseRRs(t, c.Zone[:1])[0].Header().Name
	return c.format(origin, dns.StringToRcode[c.Rcode], c.AA, parseRRs(t, c.Answer), parseRRs(t, c.Authority))
}

// format returns what counts in an answer: its sections as sets, names without regard to case, and
// an SOA's owner only. The zone's own NS set in the authority section of a positive answer is
// ignored.
func (c *ferretCase) format(origin string, rcode int, aa bool, answer, authority []dns.RR) string {
	head := dns.RcodeToString[rcode]
	if aa {
		head += " aa"
	}
	lines := func(prefix string, rrs []dns.RR) (lines []string) {
		for _, rr := range rrs {
			h := rr.Header()
			switch {
			case h.Rrtype == dns.TypeSOA:
				lines = append(lines, prefix+strings.ToLower(h.Name)+" SOA")
			case prefix != "" && rcode == dns.RcodeSuccess && len(answer) > 0 && h.Rrtype == dns.TypeNS && strings.EqualFold(h.Name, origin):
			default:
				lines = append(lines, prefix+strings.ToLower(strings.Join(strings.Fields(rr.String()), " ")))
			}
		}
		slices.Sort(lines)
		return lines
	}
	return strings.Join(slices.Concat([]string{head}, lines("", answer), lines("auth ", authority)), "\n    ")
}
