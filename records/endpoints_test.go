package records_test

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/coredns-kuadrant/kuadrant/api"
	"github.com/coredns-kuadrant/kuadrant/records"
	"github.com/coredns-kuadrant/kuadrant/records/recordstest"
)

// TestEndpointWorlds has worlds of endpoints, and what questions are answered with, and verdicts say: after => is what is in it.
func TestEndpointWorlds(t *testing.T) {
	pool := ""
	for i := range 60 {
		pool += fmt.Sprintf(`dnsrecord n/x%d root=a.example.com served=example.com
    a.example.com CNAME klb.a.example.com ttl=300
    klb.a.example.com CNAME ie.klb.a.example.com set=IE geo=IE
    klb.a.example.com CNAME ie.klb.a.example.com set=default geo=*
    ie.klb.a.example.com CNAME c%d.klb.a.example.com set=c%d weight=10
    c%d.klb.a.example.com A 192.0.2.%d
`, i, i, i, i, i+1)
	}
	// The default is a row of its own, of a member without a geography; klb.H' comes after the one host, and before the other.
	ownDefault := func(host string) string {
		return strings.ReplaceAll(`dnsrecord n/x root=HOST served=example.com
    HOST CNAME klb.HOST
    klb.HOST CNAME ie.klb.HOST set=IE geo=IE
    klb.HOST CNAME default.klb.HOST set=default geo=*
    ie.klb.HOST CNAME one.klb.HOST set=one weight=10
    default.klb.HOST CNAME two.klb.HOST set=two weight=10
    one.klb.HOST A 192.0.2.1
    two.klb.HOST A 192.0.2.2`, "HOST", host)
	}
	twoClusters := "dnsrecord n/x root=a.example.com served=example.com a.example.com A 192.0.2.1\ncluster c2\ndnsrecord n/x root=a.example.com served=example.com at=0s a.example.com A 192.0.2.2\n"
	for _, c := range []struct {
		what, text string
		want       []string
	}{
		{
			"of two defaults the older's is the default; where it is down, the other one answers (rules 4.6 and 5.6)",
			`overrides target 192.0.2.1 down
dnsrecord n/us root=a.example.com served=example.com
    a.example.com CNAME klb.a.example.com ttl=300
    klb.a.example.com CNAME us.klb.a.example.com set=US geo=US
    klb.a.example.com CNAME us.klb.a.example.com set=default geo=*
    us.klb.a.example.com CNAME one.klb.a.example.com set=one weight=10
    one.klb.a.example.com A 192.0.2.1
dnsrecord n/any root=a.example.com served=example.com
    a.example.com CNAME klb.a.example.com ttl=300
    klb.a.example.com CNAME default.klb.a.example.com set=default geo=*
    default.klb.a.example.com CNAME two.klb.a.example.com set=two weight=10
    two.klb.a.example.com A 192.0.2.2`,
			[]string{"a.example.com A => A 192.0.2.2"},
		},
		{"klb.H' by itself, where the default is a row of its own (rule 2.4)", ownDefault("a.example.com"), []string{
			"a.example.com A from=10.1.0.1 => A 192.0.2.1", "klb.a.example.com A from=10.1.0.1 => A 192.0.2.1", "a.example.com A => A 192.0.2.2", "klb.a.example.com A => A 192.0.2.2",
		}},
		{"the same, of another spelling", ownDefault("z.example.com"), []string{
			"z.example.com A from=10.1.0.1 => A 192.0.2.1", "klb.z.example.com A from=10.1.0.1 => A 192.0.2.1", "z.example.com A => A 192.0.2.2", "klb.z.example.com A => A 192.0.2.2",
		}},
		{
			"the first of several targets of a CNAME (rule 1.7)", "dnsendpoint n/x a.example.com CNAME b.example.net a.example.net",
			[]string{"a.example.com A => CNAME b.example.net."},
		},
		{
			"the first of two CNAMEs that nothing tells apart, and the other is reported (rule 1.7)",
			"dnsendpoint n/x\n    a.example.com CNAME a.example.net\n    a.example.com CNAME b.example.net",
			[]string{"a.example.com A times=64 => 100% a.example.net.", "DNSEndpoint n/x => b.example.net"},
		},
		{"one of two clusters is down (rules 4.5 and 4.6)", twoClusters + "overrides cluster c1 down", []string{"a.example.com A times=8 => 100% 192.0.2.2"}},
		{"the other one", twoClusters + "overrides cluster c2 down", []string{"a.example.com A times=8 => 100% 192.0.2.1"}},
		{"it is drained", twoClusters + "overrides cluster c2 drain", []string{"a.example.com A times=8 => 100% 192.0.2.1"}},
		{
			"a wildcard's CNAME that a TXT keeps away is told, whoever has the host without the star (rule 2.7)",
			"dnsendpoint ns1/x a.example.com A 192.0.2.1\ndnsendpoint ns2/x\n    *.a.example.com CNAME lb.example.net\n    *.a.example.com TXT hi",
			[]string{"DNSEndpoint ns2/x => *.a.example.com"},
		},
		{"many objects in one pool (rules 2.3 and 5.6)", pool, []string{"DNSRecord n/x0 => served", "DNSRecord n/x59 => served", "members a.example.com. => 60", "members klb.a.example.com. => 60"}},
		{
			"a transfer has each name of endpoints that are no chain of rule 2.3 (rules 6.10 and 7.5)",
			"dnsrecord n/x root=a.example.com served=example.com\n    a.example.com CNAME klb.a.example.com\n    klb.a.example.com CNAME lb.example.net",
			[]string{"transfer => a.example.com.\t60\tIN\tCNAME\tklb.a.example.com.\nexample.com.\t3600\tIN\tNS\tns.example.net.\nklb.a.example.com.\t60\tIN\tCNAME\tlb.example.net."},
		},
		{
			"texts as external-dns writes them are one text each (rule 6.10)",
			"dnsendpoint n/x\n    a.example.com TXT 'v=DMARC1; p=none; rua=mailto:a@example.com'\n    b.example.com TXT 'v=spf1 include:_spf.example.net ~all'\n    c.example.com TXT 'a(b)c'\n    d.example.com TXT 'k=rsa;p=MIGf'",
			[]string{
				`a.example.com TXT => TXT "v=DMARC1; p=none; rua=mailto:a@example.com"`, `b.example.com TXT => TXT "v=spf1 include:_spf.example.net ~all"`,
				`c.example.com TXT => TXT "a(b)c"`, `d.example.com TXT => TXT "k=rsa;p=MIGf"`,
			},
		},
		{
			"a name with addresses of a great weight is drawn by the weight of the CNAME that leads there (rules 2.6 and 4.6)",
			fmt.Sprintf(`dnsendpoint n/x
    h.example.com CNAME y.klb.h.example.com set=k weight=3
    h.example.com CNAME lb.example.net set=m weight=1
    y.klb.h.example.com A 192.0.2.1 set=a weight=%d
    y.klb.h.example.com CNAME z.klb.h.example.com set=c weight=1
    z.klb.h.example.com A 192.0.2.2 set=p weight=1
    z.klb.h.example.com A 192.0.2.3 set=q weight=1`, 1<<31-1),
			[]string{"h.example.com A times=400 => 25% lb.example.net."},
		},
		{
			"what stands behind quotes is told (rule 8.1)",
			"dnsendpoint n/x\n    a.example.com TXT '\"v=DKIM1\"; p=abc'\nrecord n/r b.example.com. TXT \"v=DMARC1\" ; \"p=none\"",
			[]string{"DNSEndpoint n/x => semicolon", "Record n/r => semicolon"},
		},
	} {
		w := recordstest.New(t, recordstest.Zones("example.com."), c.text)
		s := w.Step(t)
		for _, line := range c.want {
			question, want, _ := strings.Cut(line, " => ")
			var got string
			what, name, _ := strings.Cut(question, " ")
			switch kind, ok := api.ParseKind(what); {
			case ok:
				got = fmt.Sprint(s.Verdict("c1", api.Ref{Kind: kind, Name: name}).Conditions)
			case what == "members":
				tree, _ := s.Tree(name)
				got = fmt.Sprint(tree.Members)
			case what == "transfer":
				got = recordstest.Facts(s)["transfer example.com."]
			default:
				got = w.Ask(t, question)
			}
			if !strings.Contains(got, want) {
				t.Errorf("%s: %s\n%s\nwant %s", c.what, question, got, want)
			}
		}
	}
}

// TestTextOctets: texts of endpoints, quoted or not, are served octet for octet.
func TestTextOctets(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 1))
	alphabet := []string{`"`, `\`, ";", " ", "(", ")", "a", "é", "\xff", "\x00", "\t", "\n", "@", "$", "v=spf1 ", "123", `\065`, "\r"}
	var want []string
	var e api.DNSEndpoint
	for i := range 3000 {
		var b, quoted strings.Builder
		n := r.IntN(12)
		if i%10 == 0 {
			n = 200 + r.IntN(400)
		}
		for range n {
			b.WriteString(alphabet[r.IntN(len(alphabet))])
		}
		text := b.String()
		if strings.TrimSpace(text) != text || text == "" {
			continue
		}
		target := text
		if strings.HasPrefix(text, `"`) || i%2 == 1 { // in quotes, as a master file
			for rest := text; rest != ""; {
				k := min(len(rest), 1+r.IntN(400))
				quoted.WriteString(` "` + strings.ReplaceAll(strings.ReplaceAll(rest[:k], `\`, `\\`), `"`, `\"`) + `"`)
				rest = rest[k:]
			}
			target = quoted.String()[1:]
		}
		e.Endpoints = append(e.Endpoints, api.Endpoint{DNSName: fmt.Sprintf("n%d.example.com.", len(want)), Type: "TXT", Targets: []string{target}, Weight: api.NoWeight})
		want = append(want, text)
	}
	w := recordstest.New(t, recordstest.Zones("example.com."))
	in := w.Objects()
	e.Meta.Name, e.Meta.Cluster = "n/x", "c1"
	edit := in.Clusters[0].DNSEndpoints.Edit()
	edit.Set("n/x", &e)
	in.Clusters[0].DNSEndpoints = edit.Map()
	w.Snapshot = records.Compile(nil, in, w.Options, w.Now)
	for i, text := range want {
		q, _ := recordstest.ParseQuestion(fmt.Sprintf("n%d.example.com TXT", i))
		reply := recordstest.Reply(w.Snapshot, nil, q.Msg, q.From, nil, 0)
		if len(reply.Answer) != 1 {
			t.Fatalf("%q: not served", text)
		}
		wire, err := reply.Pack()
		if err != nil {
			t.Fatal(err)
		}
		var got strings.Builder // the last record, which has the name as a pointer
		for data := wire[len(wire)-int(reply.Answer[0].Header().Rdlength):]; len(data) > 0; data = data[1+int(data[0]):] {
			got.WriteString(string(data[1 : 1+int(data[0])]))
		}
		if got.String() != text {
			t.Fatalf("%q is served as\n%q", text, got.String())
		}
	}
}

// TestOrderOfEndpoints: which members a host has does not depend on the order of an object's endpoints, where these have set identifiers.
func TestOrderOfEndpoints(t *testing.T) {
	rows := [...]string{"h.example.com CNAME t2.example.net set=IE geo=IE", "h.example.com CNAME t3.example.net set=US geo=US", "h.example.com CNAME t2.example.net set=default geo=*"}
	want := ""
	for _, order := range [][3]int{{0, 1, 2}, {1, 0, 2}, {2, 1, 0}, {2, 0, 1}} {
		text := "dnsendpoint n/a\n    h.example.com CNAME t1.example.net set=IE geo=IE\n    h.example.com CNAME t1.example.net set=default geo=*\ndnsendpoint n/b"
		for _, i := range order {
			text += "\n    " + rows[i]
		}
		tree, _ := recordstest.New(t, recordstest.Zones("example.com."), text).Step(t).Tree("h.example.com.")
		if got := fmt.Sprintf("%+v", tree.Groups); want == "" {
			want = got
		} else if got != want {
			t.Errorf("in the order %v the members are %s, in another %s", order, got, want)
		}
	}
}
