package main

import (
	"strings"
	"testing"

	"github.com/coredns-kuadrant/kuadrant/records/recordstest"
)

// manifests converts the short form of recordstest to manifests.
func manifests(t *testing.T, short string) string {
	t.Helper()
	text, err := new(recordstest.Texts).YAML("local", short)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// expect checks the exit code and parts of the output: of stdout, or of stderr for parts that begin with !.
func (r result) expect(t *testing.T, what any, code int, parts ...string) {
	t.Helper()
	if r.code != code {
		t.Errorf("%v: code %d, want %d\n%s%s", what, r.code, code, r.out, r.errs)
	}
	for _, part := range parts {
		text := r.out
		if warned, is := strings.CutPrefix(part, "!"); is {
			part, text = warned, r.errs
		}
		if !strings.Contains(text, part) {
			t.Errorf("%v: lacks %q:\n%s%s", what, part, r.out, r.errs)
		}
	}
}

// change is a change of objects in the short form, with parts of the expected preview; none if nothing changes.
type change struct {
	name, before, after string
	wants               []string
}

// expect previews the change with flags and checks the output.
func (c change) expect(t *testing.T, flags ...string) {
	t.Helper()
	dir := t.TempDir()
	before, after := writeFile(t, dir+"/before.yaml", manifests(t, c.before)), writeFile(t, dir+"/after.yaml", manifests(t, c.after))
	code := 1
	if c.wants == nil {
		code, c.wants = 0, []string{"nothing changes"}
	}
	args := append([]string{"preview", "--against", before, "-f"}, append([]string{after, "--prune"}, flags...)...)
	kdns(t, "", args...).expect(t, c.name, code, c.wants...)
	args[4] = before
	kdns(t, "", args...).expect(t, c.name+", against itself", 0)
}

// previewed are the objects before a change, in the short form.
const previewed = `gateway shop/eu host=shop.k.example.com addr=192.0.2.1
gateway shop/na host=shop.k.example.com addr=192.0.2.2
policy shop/eu weight=100 geo=GEO-EU default
policy shop/na weight=100 geo=GEO-NA check=HTTPS:80/healthz,interval=30s
zone shop/z k.example.com. refresh=86400 delegate=*/*,@
record shop/www www in=z A 192.0.2.7
dnsendpoint shop/ep wiki.k.example.com A 192.0.2.8 ttl=30
`

// TestPreviewTells: each kind of change shows in a preview.
func TestPreviewTells(t *testing.T) {
	for _, c := range []struct {
		name, old, new string
		wants          []string
	}{
		{"nothing", "", "", nil},
		{"the operator's drain", "addr=192.0.2.2", "addr=192.0.2.2 override=drain", []string{
			"~ shop.k.example.com: ", "of the countries get other addresses",
			"(GEO-NA, local)  up -> drained (the operator says drain)", "clients of 1 name move",
		}},
		{"a word that changes no answer", "addr=192.0.2.2", "addr=192.0.2.2 override=up", []string{
			"~ shop.k.example.com\n", "up -> up (the operator says up)",
		}},
		{"a Gateway that is not programmed", "addr=192.0.2.2", "addr=192.0.2.2 programmed=False", []string{
			"of the countries get other addresses", "up -> down (its Gateway is not programmed)",
		}},
		{"a weight of 0", "weight=100 geo=GEO-NA", "weight=0 geo=GEO-NA", []string{"(GEO-NA, local)  weight 100 -> 0\n"}},
		{"a check with other terms", "interval=30s", "interval=1m,failures=2", []string{
			"~ shop.k.example.com\n", "- check https to port 80, path /healthz, every 30s, down after 5 failures, up after 1 success",
			"+ check https to port 80, path /healthz, every 1m, down after 2 failures",
		}},
		{"no check", " check=HTTPS:80/healthz,interval=30s", "", []string{
			"- CNAME at shop.k.example.com with TTL 60, ", "+ CNAME at shop.k.example.com with TTL 300, ",
			"        - check https", "\n- check https://192.0.2.2:80/healthz, host shop.k.example.com, every 30s",
		}},
		{"a check of another member", "default", "default check=HTTPS:80/healthz,interval=30s", []string{
			"~ shop.k.example.com\n", "(GEO-EU, local)", "        + check https to port 80, path /healthz",
		}},
		{"the SOA", "refresh=86400", "refresh=3600", []string{"~ k.example.com\n", " 3600 7200 3600000 360 (whatever the serial)"}},
		{"a TTL", "ttl=30", "ttl=3000", []string{"~ wiki.k.example.com\n", "- TTL 30\n", "+ TTL 3000\n"}},
		{"the address of a Record", "192.0.2.7", "192.0.2.9", []string{
			"~ www.k.example.com: 100 % of the countries", "+ record www.k.example.com. 360 IN A 192.0.2.9",
		}},
	} {
		change{c.name, previewed, strings.Replace(previewed, c.old, c.new, 1), c.wants}.expect(t, "--zone", "k.example.com")
	}
}

// TestPreviewBeneath: names below klb can be queried directly, and other names can lead to them. A preview shows
// their changes even if the host's own answer stays the same.
func TestPreviewBeneath(t *testing.T) {
	corefile := writeFile(t, t.TempDir()+"/Corefile", "example.com {\n  kuadrant {\n    answer flatten\n  }\n}\n")
	const chain = `dnsendpoint ns/h h.example.com CNAME klb.h.example.com ttl=300
    klb.h.example.com CNAME eu.klb.h.example.com ttl=300 set=any geo=*
    eu.klb.h.example.com CNAME m.klb.h.example.com ttl=300 set=m weight=1
    m.klb.h.example.com A 192.0.2.1 ttl=60
`
	const beside = `dnsendpoint ns/e h.example.com A 192.0.2.1 ttl=300
    x.klb.h.example.com A 192.0.2.7 ttl=300
dnsendpoint ns/www www.example.com CNAME x.klb.h.example.com ttl=300
`
	other := func(text string, oldnew ...string) string { return strings.NewReplacer(oldnew...).Replace(text) }
	for _, c := range []change{
		{"another address", beside, other(beside, "192.0.2.7", "192.0.2.99"), []string{"~ x.klb.h.example.com", "192.0.2.99", "1 name changed"}},
		{"no address any more", beside, other(beside, "    x.klb.h.example.com A 192.0.2.7 ttl=300\n", ""), []string{
			"- x.klb.h.example.com", "192.0.2.7", "1 name removed",
		}},
		{"another address, and one of the host", beside, other(beside, "192.0.2.7", "192.0.2.99", "192.0.2.1 ", "192.0.2.2 "), []string{
			"~ h.example.com", "~ x.klb.h.example.com", "192.0.2.99", "clients of 2 names move",
		}},
		{"another address, and a TTL of the host", beside, other(beside, "192.0.2.7", "192.0.2.99", "192.0.2.1 ttl=300", "192.0.2.1 ttl=200"), []string{
			"~ h.example.com", "~ x.klb.h.example.com", "clients of 1 name move",
		}},
		{"the TTL of a CNAME", chain, other(chain, "CNAME eu.klb.h.example.com ttl=300", "CNAME eu.klb.h.example.com ttl=200"), []string{
			"~ klb.h.example.com", "with TTL 200",
		}},
		{"the name of a group", chain, other(chain, "eu.klb", "xx.klb"), []string{"- eu.klb.h.example.com", "+ xx.klb.h.example.com"}},
		{"an address of the host", chain, other(chain, "192.0.2.1", "192.0.2.2"), []string{"~ h.example.com", "1 name changed"}},
	} {
		c.expect(t, "--corefile", corefile)
	}
}

// TestPreviewOfDS: changed DS records show under the child zone, if that is served here too.
func TestPreviewOfDS(t *testing.T) {
	const before = `zone ns/z k.example.com. delegate=*/*
record ns/ds sub in=z DS 12345 13 2 000102030405060708090a0b0c0d0e0f000102030405060708090a0b0c0d0e0f
`
	const gone = "    - record sub.k.example.com. 360 IN DS 12345 13 2 "
	for _, c := range []change{
		{"it goes", before, strings.Replace(before, "ns/ds sub", "ns/other other", 1), []string{"~ sub.k.example.com\n", gone}},
		{"another key", before, strings.Replace(before, "12345", "54321", 1), []string{
			"~ sub.k.example.com\n", gone, "    + record sub.k.example.com. 360 IN DS 54321 13 2 ",
		}},
	} {
		c.expect(t, "--zone", "k.example.com", "--zone", "sub.k.example.com")
	}
}

// TestPreviewOfChecks: a preview compares the health checks, whatever object defines them, and never shows header
// values.
func TestPreviewOfChecks(t *testing.T) {
	const https = `gateway ns/g host=h.example.com:443 addr=192.0.2.1,192.0.2.2
policy ns/p gateway=g check=HTTPS:443/healthz,headers=hs
secret ns/hs labels=kuadrant.io/probe-headers:true X-Key=not-to-be-seen
`
	const probe = "probe ns/pr 192.0.2.1 host=h.example.com check=HTTP:8081/other,interval=1m\n"
	const plain = "spec.listeners=[{name: l0, hostname: h.example.com, port: 443, protocol: HTTP}]"
	grpc := strings.Replace(https, "HTTPS:443/healthz,headers=hs", "gRPC:443/healthz", 1)
	for _, c := range []change{
		{"a probe comes", https, https + probe, []string{
			"+ check http://192.0.2.1:8081/other, host h.example.com, every 1m", "no name changes; 1 check begins, ends or changes\n",
		}},
		{"another probe", https + probe, https + strings.NewReplacer("ns/pr", "ns/other", "8081", "8082").Replace(probe), []string{
			"- check http://192.0.2.1:8081/other, host h.example.com, every 1m", "+ check http://192.0.2.1:8082/other",
		}},
		{"TLS goes", grpc, strings.Replace(grpc, ":443 ", ":443 "+plain+" ", 1), []string{
			"- check grpcs://192.0.2.1:443/healthz", "+ check grpc://192.0.2.2:443/healthz",
		}},
		{"a check of any certificate", https + probe, https + probe[:len(probe)-1] + " spec.allowInsecureCertificate=true\n", []string{
			"- check http://192.0.2.1:8081/other, host h.example.com, every",
			"+ check http://192.0.2.1:8081/other, host h.example.com, any certificate, every",
		}},
		{"another Secret", https, strings.Replace(https, "headers=hs", "headers=hs2", 1), []string{
			", headers of Secret local/ns/hs, every", ", headers of Secret local/ns/hs2, every",
		}},
		{"the value of a header", https, strings.Replace(https, "not-to-be-seen", "not-to-be-seen-too", 1), []string{
			"~ check https://192.0.2.1:443/healthz, host h.example.com, ", ", with other headers\n",
		}},
	} {
		c.expect(t, "--zone", "example.com")
		dir := t.TempDir()
		before, after := writeFile(t, dir+"/before.yaml", manifests(t, c.before)), writeFile(t, dir+"/after.yaml", manifests(t, c.after))
		for _, form := range outputs {
			r := kdns(t, "", "preview", "--zone", "example.com", "--against", before, "-f", after, "--prune", "-o", form)
			if r.code != 1 || strings.Contains(r.out+r.errs, "not-to-be-seen") {
				t.Errorf("%s: code %d\n%s%s", c.name, r.code, r.out, r.errs)
			}
		}
	}
}

// TestPreviewOfProbeStatus: with an external prober, a preview shows the state that it writes for an address.
func TestPreviewOfProbeStatus(t *testing.T) {
	corefile := writeFile(t, t.TempDir()+"/Corefile", "example.com {\n  kuadrant {\n    probes off\n  }\n}\n")
	const before = `gateway ns/g host=h.example.com addr=192.0.2.1,192.0.2.2
policy ns/p gateway=g check=HTTP:443/healthz
probe ns/p 192.0.2.2 host=h.example.com check=HTTP:443/healthz healthy=true
`
	change{
		"a state", before, strings.Replace(before, "healthy=true", "healthy=false", 1),
		[]string{"    - address 192.0.2.2\n    + address 192.0.2.2, down\n"},
	}.expect(t, "--corefile", corefile)
}

// TestExplainForNobody: an answer that depends on the client is not presented as everybody's.
func TestExplainForNobody(t *testing.T) {
	file := writeFile(t, t.TempDir()+"/x.yaml", manifests(t, previewed))
	for args, want := range map[string]string{
		"shop.k.example.com":                   "answer: NOERROR, for unknown clients; others may get another answer",
		"shop.k.example.com --from 192.0.2.77": "location unknown: no geo database and no nets file",
		"wiki.k.example.com":                   "answer: NOERROR, the same for every client",
		"wiki.k.example.com --from 192.0.2.77": "the answer does not depend on the client",
	} {
		kdns(t, "", append([]string{"explain", "-f", file, "--zone", "k.example.com"}, strings.Fields(args)...)...).expect(t, args, 0, want)
	}
}
