package state

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/coredns-kuadrant/kuadrant/api"
)

// decoded returns a cluster with one object of each kind, decoded from JSON.
func decoded(t testing.TB, name string) *api.Cluster {
	t.Helper()
	c := &api.Cluster{Name: name, UID: name}
	for k := range c.Listings {
		c.Listings[k] = api.Listing(k % 5)
		if c.Listings[k] == api.NotListed {
			c.ListedIn[k] = []string{"a", "b"}
		}
	}
	meta := `"metadata":{"namespace":"n","name":"o","uid":"u","creationTimestamp":"2026-01-01T00:00:00Z","labels":{"kuadrant.io/probe-headers":"true","a":"b\u2028"},"annotations":{"kuadrant.io/geo-fallback":"any"}}`
	const check = `"healthCheck":{"path":"/healthz","additionalHeadersRef":{"name":"h"},"interval":"90s"}`
	gateways, policies, probes, secrets := c.Gateways.Edit(), c.Policies.Edit(), c.Probes.Edit(), c.Secrets.Edit()
	zones, records, dnsRecords, endpoints := c.Zones.Edit(), c.Records.Edit(), c.DNSRecords.Edit(), c.DNSEndpoints.Edit()
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	g, err := api.DecodeGateway(name,
		[]byte("{"+meta+`,"spec":{"listeners":[{"name":"l","hostname":"*.Example.com","port":443,"protocol":"HTTPS"}]},"status":{"addresses":[{"value":"192.0.2.1"}]}}`))
	must(err)
	gateways.Set(g.Name, g)
	// The octet 0xff is not UTF-8 and is replaced.
	g, err = api.DecodeGateway(name, []byte(`{"metadata":{"namespace":"n","name":"odd","labels":{"a`+"\xff"+`":"`+"\xff"+`"}}}`))
	must(err)
	gateways.Set(g.Name, g)
	p, err := api.DecodePolicy(name,
		[]byte("{"+meta+`,"spec":{"targetRef":{"group":"gateway.networking.k8s.io","kind":"Gateway","name":"o"},"routingStrategy":"weightedGeo","providerSelector":{"matchLabels":{"a":"b"}},"excludeAddresses":["192.0.2.0/24"],`+check+`}}`))
	must(err)
	policies.Set(p.Name, p)
	probe, err := api.DecodeProbe(name, []byte("{"+meta+`,"spec":{"address":"192.0.2.1","host":"a.example.com"},"status":{"healthy":true}}`))
	must(err)
	probes.Set(probe.Name, probe)
	var delegations []string
	for i := range 20 {
		delegations = append(delegations, fmt.Sprintf(`{"namespaces":["n%d"],"records":[{"pattern":"*"}]}`, i))
	}
	zone, err := api.DecodeZone(name, []byte("{"+meta+`,"spec":{"domainName":"example.com.","delegations":[`+strings.Join(delegations,
		",")+`]},"status":{"hash":"ab","serial":2026010100}}`))
	must(err)
	zones.Set(zone.Name, zone)
	record, err := api.DecodeRecord(name,
		[]byte("{"+meta+`,"spec":{"domainName":"a","zoneRef":{"name":"o"},"type":"TXT","rdata":"\"<&> é\""}}`))
	must(err)
	records.Set(record.Name, record)
	dnsRecord, err := api.DecodeDNSRecord(name,
		[]byte("{"+meta+`,"spec":{"rootHost":"a.example.com","endpoints":[{"dnsName":"a.example.com","recordType":"A","targets":["192.0.2.1"]}],`+check+`}}`))
	must(err)
	dnsRecords.Set(dnsRecord.Name, dnsRecord)
	endpoint, err := api.DecodeDNSEndpoint(name,
		[]byte("{"+meta+`,"spec":{"endpoints":[{"dnsName":"a.example.com","recordType":"A","targets":["192.0.2.1"],"recordTTL":5}]}}`))
	must(err)
	endpoints.Set(endpoint.Name, endpoint)
	secret, err := api.DecodeSecret(name, []byte("{"+meta+`,"stringData":{"X-Key":"hidden"}}`))
	must(err)
	secrets.Set(secret.Name, secret)
	c.Gateways, c.Policies, c.Probes, c.Secrets = gateways.Map(), policies.Map(), probes.Map(), secrets.Map()
	c.Zones, c.Records, c.DNSRecords, c.DNSEndpoints = zones.Map(), records.Map(), dnsRecords.Map(), endpoints.Map()
	return c
}

// full returns a state with every field set.
func full(t testing.TB) *Contents {
	return &Contents{
		Written: time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC), Runs: 3,
		Clusters: []Cluster{
			{decoded(t, "c"), `kubernetes "https://192.0.2.1"`, "all", time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC), ""},
			{decoded(t, "d\ufffd"), `directory "/d"`, "", time.Time{}, ""},
			{Cluster: &api.Cluster{Name: "empty", UID: "u", Pools: api.PoolsIn("n")}, Place: `"https://192.0.2.1" namespace="dns"`},
			{Cluster: &api.Cluster{Name: "apart", UID: "u", Pools: api.PoolsIn()}, Place: "p"},
		},
		Place:   `"https://192.0.2.1" namespace="dns"`,
		Groups:  map[string]*api.ActiveGroups{"example.com.": api.NewActiveGroups("blue", "green"), "none.example.": {}},
		Owners:  maps.All(map[string]api.Owner{"a.example.com.": {Cluster: "c", Kind: api.KindDNSRecord, Name: "n/o", UID: "u"}, api.ZoneKey("example.com."): {Kind: api.KindZone}}),
		Serials: maps.All(map[string]api.Kept{"example.com.": {Hash: "ab", Serial: 1<<32 - 1}, "gone.example.": {Serial: 7}}),
		Health:  maps.All(map[string]string{"https://192.0.2.1:443/ host=a\n5m0s": "down"}),
	}
}

// flat returns a comparable form of a state.
func flat(c *Contents) any {
	type cluster struct {
		Identity, Selection, Place, Name, UID, Pools string
		Heard                                        time.Time
		Listings                                     [api.NumKinds]api.Listing
		ListedIn                                     [api.NumKinds][]string
		Objects                                      [api.NumKinds][]any
	}
	var all []cluster
	for _, one := range c.Clusters {
		f := cluster{one.Identity, one.Selection, one.Place, one.Name, one.UID, fmt.Sprint(one.Pools), one.Heard, one.Listings, one.ListedIn, [api.NumKinds][]any{}}
		for k := range api.NumKinds {
			for object := range one.All(k) {
				if s, ok := object.(*api.Secret); ok {
					kept := *s
					kept.Headers, kept.Invalid, kept.Unlabelled = nil, "", true
					object = &kept
				}
				f.Objects[k] = append(f.Objects[k], object)
			}
		}
		all = append(all, f)
	}
	return []any{all, c.Place, c.Written, c.Runs, c.Groups, maps.Collect(c.Owners), maps.Collect(c.Serials), maps.Collect(c.Health)}
}

func write(t testing.TB, dir string, c *Contents) []byte {
	t.Helper()
	left, err := Write(dir, c)
	if err != nil || len(left) > 0 {
		t.Fatalf("left out %v: %v", left, err)
	}
	text, err := os.ReadFile(filepath.Join(dir, Name))
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// TestRoundTrip: Read returns what Write wrote, except the values of Secrets, and only the owner can read the file.
func TestRoundTrip(t *testing.T) {
	dir := t.TempDir()
	text := write(t, dir, full(t))
	if bytes.Contains(text, []byte("hidden")) || bytes.Contains(text, []byte("X-Key")) {
		t.Errorf("there are headers in\n%s", text)
	}
	got, err := Read(dir)
	if err != nil {
		t.Fatal(err)
	}
	if want := flat(full(t)); !reflect.DeepEqual(flat(got), want) {
		t.Errorf("read\n%+v\nwritten\n%+v", flat(got), want)
	}
	if info, err := os.Stat(filepath.Join(dir, Name)); err != nil || info.Mode() != 0o600 {
		t.Errorf("mode %v, %v", info.Mode(), err)
	}
	write(t, dir, &Contents{Written: time.Now(), Owners: got.Owners, Serials: got.Serials, Health: got.Health})
	if again, err := Read(dir); err != nil || len(again.Clusters) != 0 || again.Runs != 0 {
		t.Errorf("written over: %+v, %v", again, err)
	}
	entries, err := os.ReadDir(dir)
	if err != nil || len(entries) != 1 {
		t.Errorf("left behind: %v, %v", entries, err)
	}
}

// TestLines: each line is JSON, and each but the first is an object with one member.
func TestLines(t *testing.T) {
	for line := range bytes.Lines(write(t, t.TempDir(), full(t))) {
		var object map[string]json.RawMessage
		if err := json.Unmarshal(line, &object); err != nil || len(object) != 1 && object["kuadrant-state"] == nil {
			t.Errorf("%s: %v", line, err)
		}
	}
}

// TestDamage: a file with one changed bit, a truncated file and one with data appended are refused whole.
func TestDamage(t *testing.T) {
	text := write(t, t.TempDir(), full(t))
	for i := range text {
		want := ErrSum
		switch {
		case i < len(beginning):
			want = ErrNotState
		case i < headerSize:
			want = ErrLine
		}
		for bit := range 8 {
			if i >= headerSize && bit%3 != 0 {
				continue
			}
			damaged := bytes.Clone(text)
			damaged[i] ^= 1 << bit
			_, err := read(bytes.NewReader(damaged), int64(len(damaged)))
			if newer := i == len(beginning) && errors.Is(err, ErrNewer); !newer && !errors.Is(err, want) {
				t.Fatalf("octet %d, %q for %q: %v, want %v", i, damaged[i], text[i], err, want)
			}
		}
	}
	for i := 0; i < len(text); i += 1 + i/50 {
		if _, err := read(bytes.NewReader(text[:i]), int64(i)); err == nil {
			t.Errorf("cut at %d: it is read", i)
		}
	}
	if _, err := read(bytes.NewReader(append(text, '\n')), int64(len(text)+1)); err == nil {
		t.Error("a line added: it is read")
	}
}

// TestRefused: an unusable file is refused with the reason.
func TestRefused(t *testing.T) {
	for _, c := range []struct{ text, want string }{
		{"", ErrNotState.Error()},
		{"\n", ErrNotState.Error()},
		{"{}\n", ErrNotState.Error()},
		{strings.Repeat(" ", 1000), ErrNotState.Error()},
		{`{"kuadrant-state":0}` + "\n", ErrLine.Error()},
		{first(header{Version: version, Runs: -1}), ErrLine.Error()},
		{`{"kuadrant-state":3,"form":"another"}` + "\nwhatever", ErrNewer.Error() + ": format 3, while this one reads up to 2"},
		{`{"kuadrant-state":3}` + "\n", ErrNewer.Error() + ": format 3, while this one reads up to 2"},
		{first(header{Version: version, Size: 1}), "damaged: 0 octets follow the first line, which says 1"},
		{first(header{Version: version, Size: 1}) + "x", ErrSum.Error()},
		{summed("x\n"), "line 2: not an object with one member"},
		{summed("{\"pod\":{}}\n"), `line 2: unknown kind "pod"`},
		{summed("{\"Gateway\":{}}\n"), "line 2: Gateway before any cluster"},
		{summed("{\"cluster\":{}}\n"), "line 2: a cluster without a name or UID"},
		{summed("{\"cluster\":{\"more\":1}}\n"), `line 2: json: unknown field "more"`},
		{summed("{\"serial\":{}} {}\n"), "line 2: more than one value"},
		{summed("{\"cluster\":{\"name\":\"c\",\"uid\":\"u\",\"listings\":{\"Pod\":{\"state\":\"listed\"}}}}\n"), `line 2: kind "Pod" is "listed"`},
		{summed("{\"cluster\":{\"name\":\"c\",\"uid\":\"u\"}}\n{\"Gateway\":{\"Name\":\"n/g\"}}\n"), `line 3: read Gateway: object "n/g" is in cluster "", not in cluster "c"`},
		{summed("{\"owner\":{\"owner\":{\"Kind\":200}}}\n"), "line 2: unknown kind 200"},
		{summed("{\"health\":\"" + strings.Repeat("x", 2*maxLine) + "\"}\n"), fmt.Sprintf("line 2: more than %d octets", maxLine)},
	} {
		_, err := read(strings.NewReader(c.text), int64(len(c.text)))
		if err == nil || err.Error() != c.want {
			t.Errorf("%.100q: %v, want %s", c.text, err, c.want)
		}
	}
}

// summed returns a file with body after a matching first line.
func summed(body string) string {
	sum := sha256.Sum256([]byte(body))
	return first(header{Version: version, Size: int64(len(body)), Sum: hex.EncodeToString(sum[:])}) + body
}

// first returns a first line.
func first(h header) string {
	line, err := h.encode()
	if err != nil {
		panic(err)
	}
	return string(line)
}

// TestFirstEditionOctets: an object in the first edition's form for text that is not UTF-8 is skipped, and its kind
// becomes not listed. A cluster with such a name is skipped with its objects.
func TestFirstEditionOctets(t *testing.T) {
	text := summed(`{"cluster":{"name":[99,255],"uid":[99,255],"listings":{"Gateway":{"state":"listed"}}}}` + "\n" +
		`{"Gateway octets":{"Name":"n/g","Cluster":"c\u00ff"}}` + "\n" + `{"Zone":{"Name":"n/z","Cluster":"c"}}` + "\n" + `{"cluster":{"name":"c","uid":"u","listings":{"Gateway":{"state":"listed"},"Zone":{"state":"listed"}}}}` + "\n" +
		`{"Gateway octets":{"Name":"n/g","Cluster":"c"}}` + "\n")
	c, err := read(strings.NewReader(text), int64(len(text)))
	if err != nil {
		t.Fatal(err)
	}
	if one := c.Clusters[0]; one.Listings[api.KindGateway] != api.NotListed || one.Listings[api.KindZone] != api.Listed || one.Gateways.Len() != 0 {
		t.Errorf("listings %v, %d Gateways", one.Listings, one.Gateways.Len())
	}
}

// TestSizes: a file above the maximum size is not read; an object whose line is too long is left out, and its kind
// becomes not listed.
func TestSizes(t *testing.T) {
	dir := t.TempDir()
	file, err := os.Create(filepath.Join(dir, Name))
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	if err := file.Truncate(maxSize + 1); err != nil {
		t.Fatal(err)
	}
	if _, err := Read(dir); err == nil || err.Error() != "1073741825 octets, more than the 1073741824 allowed" {
		t.Error(err)
	}
	c := &api.Cluster{Name: "c", UID: "u", Listings: [api.NumKinds]api.Listing{api.Listed, api.Listed}}
	edit := c.Gateways.Edit()
	edit.Set("n/a", &api.Gateway{Meta: api.Meta{Name: "n/a", Cluster: "c", Fault: strings.Repeat("x", maxLine)}})
	edit.Set("n/b", &api.Gateway{Meta: api.Meta{Name: "n/b", Cluster: "c"}})
	c.Gateways = edit.Map()
	contents := full(t)
	contents.Clusters = []Cluster{{Cluster: c}}
	if left, err := Write(dir, contents); err != nil || strings.Join(left, ",") != "Gateway n/a" {
		t.Fatalf("left out %q, %v", left, err)
	}
	got, err := Read(dir)
	if err != nil {
		t.Fatal(err)
	}
	if one := got.Clusters[0]; one.Gateways.Len() != 1 || one.Listings != [api.NumKinds]api.Listing{api.NotListed, api.Listed} {
		t.Errorf("%d Gateways, %v", one.Gateways.Len(), one.Listings)
	}
}

// TestWriteFails: a failed write leaves the old file.
func TestWriteFails(t *testing.T) {
	dir := t.TempDir()
	write(t, dir, full(t))
	broken := full(t)
	broken.Clusters = append(broken.Clusters, Cluster{Cluster: &api.Cluster{Name: strings.Repeat("x", maxLine), UID: "u"}})
	if _, err := Write(dir, broken); err == nil {
		t.Error("it does not fail")
	}
	if got, err := Read(dir); err != nil || !reflect.DeepEqual(flat(got), flat(full(t))) {
		t.Errorf("%+v, %v", got, err)
	}
	if entries, _ := os.ReadDir(dir); len(entries) != 1 {
		t.Errorf("left behind: %v", entries)
	}
	if _, err := Write(filepath.Join(dir, "none"), full(t)); !errors.Is(err, fs.ErrNotExist) {
		t.Error(err)
	}
	if _, err := Read(filepath.Join(dir, "none")); !errors.Is(err, fs.ErrNotExist) {
		t.Error(err)
	}
	if err := os.Remove(filepath.Join(dir, Name)); err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(filepath.Join(dir, Name), 0o700); err != nil {
		t.Fatal(err)
	}
	if _, err := Read(dir); err == nil || err.Error() != "not a file" {
		t.Error(err)
	}
}

// TestBugD2Prepare: Prepare makes the directory, removes temporary files of dead processes, and refuses anything but
// a file under the file's name.
func TestBugD2Prepare(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "a", "b")
	if err := Prepare(dir); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{temporary + "1", "other", Name} {
		if err := os.WriteFile(filepath.Join(dir, name), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := Prepare(dir); err != nil {
		t.Fatal(err)
	}
	entries, err := os.ReadDir(dir)
	if err != nil || len(entries) != 2 {
		t.Errorf("%v, %v", entries, err)
	}
	path := filepath.Join(dir, Name)
	if err := Prepare(path); err == nil {
		t.Error("a file is a directory")
	}
	for what, create := range map[string]func() error{
		"a FIFO":      func() error { return syscall.Mkfifo(path, 0o600) },
		"a directory": func() error { return os.Mkdir(path, 0o700) },
		"a device":    func() error { return os.Symlink(os.DevNull, path) },
	} {
		if err := errors.Join(os.Remove(path), create()); err != nil {
			t.Fatal(err)
		}
		if err := Prepare(dir); err == nil || err.Error() != path+" is not a regular file: remove it" {
			t.Errorf("%s: %v", what, err)
		}
	}
}

// TestGoOn: GoOn counts runs and changes nothing else.
func TestGoOn(t *testing.T) {
	dir := t.TempDir()
	if err := GoOn(dir); !errors.Is(err, fs.ErrNotExist) {
		t.Error(err)
	}
	write(t, dir, full(t))
	for range 2 {
		if err := GoOn(dir); err != nil {
			t.Fatal(err)
		}
	}
	want := full(t)
	want.Runs += 2
	if got, err := Read(dir); err != nil || !reflect.DeepEqual(flat(got), flat(want)) {
		t.Errorf("%+v, %v", got, err)
	}
}
