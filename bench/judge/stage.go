package main

import (
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"testing"

	"github.com/miekg/dns"

	"github.com/coredns-kuadrant/kuadrant/api"
	"github.com/coredns-kuadrant/kuadrant/records"
	"github.com/coredns-kuadrant/kuadrant/records/recordstest"
)

// reply is what comes of a command.
type reply struct {
	// Octets are the answer to a query, packed, in base 64, with how far it holds.
	Octets string `json:"octets,omitempty"`
	// Facts are statuses, children and transfers, by what they are of.
	Facts map[string]string `json:"facts,omitempty"`
}

// stage plays the commands of one world after the other.
type stage struct{ world *recordstest.World }

// strict is the testing.TB of worlds outside tests.
type strict struct{ testing.TB }

func (strict) Helper() {}

func (strict) Fatalf(format string, args ...any) { panic(fmt.Errorf(format, args...)) }

func (p *stage) do(c *command) (r reply) {
	defer func() {
		if err, bad := recover().(error); bad {
			r.Facts = map[string]string{"fault": err.Error()}
		}
	}()
	switch {
	case c.World != nil:
		p.world = recordstest.New(strict{}, c.World.options())
		p.world.Aside = c.World.Aside
	case c.Query != nil:
		r.Octets = c.Query.answer(p.world.Snapshot)
	default:
		p.world.Apply(strict{}, c.Apply...)
		p.world.Compile()
		r.Facts = facts(p.world.Snapshot)
	}
	return r
}

func (set *setup) options() *records.Options {
	opt := recordstest.Zones(set.Zones...)
	if set.OwnerTXT {
		opt.Zones[0].OwnerTXT = "_owner-"
	}
	opt.Zones[0].Flatten, opt.ProbesOff, opt.ZoneNamespaces = set.Flatten, set.ProbesOff, set.ZoneNamespaces
	if set.Publish {
		opt.Publish = []records.Publish{
			{Domain: "example.com.", Namespaces: []string{"n1"}}, {Domain: "a.example.com.", Namespaces: []string{"n2"}},
		}
		opt.Zones[0].Nameservers = []records.Nameserver{{Name: "ns1.example.com.", Addresses: []netip.Addr{netip.MustParseAddr("192.0.2.53")}}}
	}
	return opt
}

func (q *query) answer(s *records.Snapshot) string {
	name := strings.ToLower(q.Name)
	z := s.ZoneOf(name, q.Type)
	if z == nil {
		return ""
	}
	of := records.Query{
		Name: name, Owner: q.Name, Type: q.Type, Client: q.Client, Bits: q.Bits, Locator: recordstest.Network, Random: q.Random, Signed: q.Signed,
	}
	if q.Signed {
		of.Owner = name
	}
	if q.Within {
		of.Within = func(origin string) bool { return origin == z.Origin() }
	}
	var a records.Answer
	s.Lookup(z, &of, &a)
	m := new(dns.Msg).SetQuestion(q.Name, q.Type)
	m.Id, m.Response, m.Authoritative, m.Rcode = 0, true, !a.Referral, a.Rcode
	m.Answer, m.Ns, m.Extra, m.Compress = a.Answer, a.Ns, a.Extra, true
	packed, err := m.Pack()
	if err != nil {
		return err.Error()
	}
	how := fmt.Sprintf(" scope %d unlisted %v closed %v located %v owner %s member %s geo %s",
		a.Scope, a.Unlisted, a.Closed, a.Located, a.Owner(), a.Member(), a.Geo)
	return base64.StdEncoding.EncodeToString(packed) + how
}

// message is the text of an answer.
func message(octets string) string {
	text, how, _ := strings.Cut(octets, " ")
	packed, err := base64.StdEncoding.DecodeString(text)
	m := new(dns.Msg)
	if err = errors.Join(err, m.Unpack(packed)); err != nil {
		return octets
	}
	return strings.ReplaceAll(m.String(), "\n", "\n    ") + how
}

// facts returns what a snapshot tells objects and has written, and what it transfers.
func facts(s *records.Snapshot) map[string]string {
	f := make(map[string]string)
	for _, c := range s.Objects().Clusters {
		for _, k := range [...]api.Kind{api.KindDNSPolicy, api.KindZone, api.KindRecord, api.KindDNSRecord, api.KindDNSEndpoint} {
			for name := range c.Names(k, "") {
				of, ref := c.Name+" "+k.String()+" "+name, api.Ref{Kind: k, Name: name}
				if v := s.Verdict(c.Name, ref); v != nil {
					f["status of "+of] = text(v.Conditions, v.TotalRecords, v.Records, v.FQDN, v.Parent)
				}
				if k != api.KindDNSPolicy && k != api.KindDNSRecord {
					continue
				}
				there, wanted := s.Existing(c.Name, ref), s.Children(c.Name, ref)
				if len(there)+len(wanted) > 0 {
					slices.SortFunc(there, func(a, b api.Ref) int { return strings.Compare(a.Kind.String()+a.Name, b.Kind.String()+b.Name) })
					f["children of "+of] = text(wanted, there)
				}
				if status, rows := s.RecordStatus(c.Name, name); k == api.KindDNSRecord && status != nil {
					f["written status of "+of] = text(status, rows)
				}
			}
		}
	}
	for _, z := range s.Zones() {
		var lines []string
		for set := range z.Transfer() {
			for _, rr := range set {
				if rr.Header().Rrtype != dns.TypeSOA { // its serial depends on the history
					lines = append(lines, rr.String())
				}
			}
		}
		slices.Sort(lines)
		f["transfer of "+z.Origin()] = strings.Join(lines, "\n    ")
	}
	return f
}

func text(all ...any) string {
	b, err := json.Marshal(all)
	if err != nil {
		panic(err)
	}
	return string(b)
}
