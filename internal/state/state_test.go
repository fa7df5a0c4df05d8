package state

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
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
		Written: time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC),
		Clusters: []Cluster{
			{decoded(t, "c"), `kubernetes "https://192.0.2.1"`, "all", time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC), ""},
			{decoded(t, "d\ufffd"), `directory "/d"`, "", time.Time{}, ""},
			{Cluster: &api.Cluster{Name: "empty", UID: "u", Pools: api.PoolsIn("n")}, Place: `"https://192.0.2.1" namespace="dns"`},
			{Cluster: &api.Cluster{Name: "apart", UID: "u", Pools: api.PoolsIn()}, Place: "p"},
		},
		Place:  `"https://192.0.2.1" namespace="dns"`,
		Groups: map[string]*api.ActiveGroups{"example.com.": api.NewActiveGroups("blue", "green"), "none.example.": {}},
		Owners: maps.All(map[string]api.Owner{"a.example.com.": {Cluster: "c", Kind: api.KindDNSRecord, Name: "n/o", UID: "u"}, api.ZoneKey("example.com."): {Kind: api.KindZone}}),
		Health: maps.All(map[string]string{"https://192.0.2.1:443/ host=a\n5m0s": "down"}),
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
	return []any{all, c.Place, c.Written, c.Groups, maps.Collect(c.Owners), maps.Collect(c.Health)}
}

func write(t testing.TB, dir string, c *Contents) []byte {
	t.Helper()
	if err := Write(dir, c); err != nil {
		t.Fatal(err)
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
	write(t, dir, &Contents{Written: time.Now(), Owners: got.Owners, Health: got.Health})
	if again, err := Read(dir); err != nil || len(again.Clusters) != 0 {
		t.Errorf("written over: %+v, %v", again, err)
	}
	entries, err := os.ReadDir(dir)
	if err != nil || len(entries) != 1 {
		t.Errorf("left behind: %v, %v", entries, err)
	}
}

// serials are what TestFiles expects.
var serials = Serials{"example.com.": {Hash: "ab", Serial: 1<<32 - 1}, "gone.example.": {Serial: 7}}

// old returns a file of version 2, which the last release with that version wrote.
func old(t testing.TB) string {
	t.Helper()
	text, err := os.ReadFile("testdata/state-2.json")
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// oldWith returns a file of version 2 with another body, from a server that stopped or not.
func oldWith(t testing.TB, runs uint32, body string) string {
	t.Helper()
	sum := sha256.Sum256([]byte(body))
	h := oldLine{Version: 2, Runs: runs, Size: int64(len(body)), Sum: hex.EncodeToString(sum[:])}
	text, err := json.Marshal(h)
	if err != nil {
		t.Fatal(err)
	}
	sum = sha256.Sum256(text)
	h.Line = hex.EncodeToString(sum[:])
	if text, err = json.Marshal(h); err != nil {
		t.Fatal(err)
	}
	return fmt.Sprintf("%-255s\n%s", text, body)
}

// TestFiles: a file of the version before, and one of this, are read as they were written (bug B3). If this fails because a member
// has another name or meaning, let version grow, and keep a reader for files of the version before.
func TestFiles(t *testing.T) {
	want := full(t)
	want.Clusters = want.Clusters[:1]
	for _, file := range []string{"testdata/state-2.json", "testdata/state-3.json"} {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		c, err := readContents(bytes.NewReader(text), int64(len(text)))
		if err != nil {
			t.Errorf("%s: %v", file, err)
		} else if !reflect.DeepEqual(flat(c), flat(want)) {
			t.Errorf("%s is read as\n%+v\nwant\n%+v", file, flat(c), flat(want))
		}
	}
	for file, name := range map[string]string{
		"testdata/state-2.json": Name, "testdata/state-2-first.json": Name, "testdata/serials-3.json": SerialsName,
	} {
		dir := t.TempDir()
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := readContents(bytes.NewReader(text), int64(len(text))); file == "testdata/state-2-first.json" && !errors.Is(err, ErrVersion) {
			t.Errorf("%s, of an earlier release with that version: %v", file, err)
		}
		if err := os.WriteFile(filepath.Join(dir, name), text, 0o600); err != nil {
			t.Fatal(err)
		}
		if got, err := ReadSerials(dir); err != nil || !maps.Equal(got, serials) {
			t.Errorf("%s: %v, %v", file, got, err)
		}
	}
}

// TestOldSerials: serials in a file of version 2 are used even if its objects cannot be read. Where nobody else kept them and the
// server did not stop, they are a bound.
func TestOldSerials(t *testing.T) {
	const serial = `{"serial":{"zone":"example.com.","hash":"ab","serial":2026112912}}` + "\n"
	const unknown = `{"Gateway":{"Name":"n/g","Cluster":"c","Sites":[1]}}` + "\n"
	for _, c := range []struct {
		runs uint32
		body string
		want api.Kept
	}{
		{0, serial, api.Kept{Hash: "ab", Serial: 2026112912}},
		{0, unknown + serial, api.Kept{Hash: "ab", Serial: 2026112912}},
		{2, unknown + serial, api.Kept{Serial: 2026132912}},
		{2, `{"owner":{}}` + "\n" + serial, api.Kept{Hash: "ab", Serial: 2026112912}},
	} {
		dir := t.TempDir()
		if err := os.WriteFile(filepath.Join(dir, Name), []byte(oldWith(t, c.runs, c.body)), 0o600); err != nil {
			t.Fatal(err)
		}
		if got, err := ReadSerials(dir); err != nil || got["example.com."] != c.want {
			t.Errorf("%s, %d runs: %v, %v", c.body, c.runs, got, err)
		}
	}
}

// TestLines: each line is an object with one member, but for the first, and docs/state.md names all members.
func TestLines(t *testing.T) {
	page, err := os.ReadFile("../../docs/state.md")
	if err != nil {
		t.Fatal(err)
	}
	text := write(t, t.TempDir(), full(t))
	text = append(text, written(t, func(w *writer) error { return w.serials(serials) })...)
	for line := range bytes.Lines(text) {
		var object map[string]json.RawMessage
		if err := json.Unmarshal(line, &object); err != nil || len(object) != 1 && object["kuadrant-state"] == nil {
			t.Errorf("%s: %v", line, err)
		}
		for name := range object {
			if _, kind := api.ParseKind(name); !kind && !bytes.Contains(page, []byte("`"+name+"`")) {
				t.Errorf("docs/state.md does not name %s", name)
			}
		}
	}
}

// TestDamage: a file of either version with one changed bit, a truncated file and one with data appended are refused whole.
func TestDamage(t *testing.T) {
	for _, text := range [][]byte{write(t, t.TempDir(), full(t)), []byte(old(t))} {
		refused := func(what string, damaged []byte) {
			t.Helper()
			_, err := readContents(bytes.NewReader(damaged), int64(len(damaged)))
			if !errors.Is(err, ErrSum) && !errors.Is(err, ErrNotState) && !errors.Is(err, ErrVersion) {
				t.Fatalf("%s: %v", what, err)
			}
			if errors.Is(err, ErrVersion) && bytes.HasPrefix(damaged, text[:len(beginning)+1]) {
				t.Errorf("%s: %v", what, err)
			}
		}
		for i := range text {
			for bit := 0; bit < 8; bit += 1 + i/headerSize { // all bits of the first line
				damaged := bytes.Clone(text)
				damaged[i] ^= 1 << bit
				refused(fmt.Sprintf("octet %d, %q for %q", i, damaged[i], text[i]), damaged)
			}
		}
		for i := range text {
			refused(fmt.Sprintf("cut at %d", i), text[:i])
		}
		refused("a line added", append(bytes.Clone(text), '\n'))
	}
}

// TestRefused: an unusable file is refused with the reason.
func TestRefused(t *testing.T) {
	const other = ": written by another version of this server"
	for _, c := range []struct{ text, want string }{
		{"", ErrNotState.Error()},
		{"\n", ErrNotState.Error()},
		{"{}\n", ErrNotState.Error()},
		{strings.Repeat(" ", 1000), ErrNotState.Error()},
		{`{"kuadrant-state":2}` + "\n", ErrSum.Error()},
		{`{"kuadrant-state":3}` + "\n", ErrSum.Error()},
		{`{"kuadrant-state":"3"}` + "\n", ErrSum.Error()},
		{`{"kuadrant-state":4,"form":"another"}` + "\nwhatever", ErrVersion.Error() + ": format 4, while this one reads 2 and 3"},
		{`{"kuadrant-state":1}` + "\n", ErrVersion.Error() + ": format 1, while this one reads 2 and 3"},
		{summed("x\n"), "line 2: not an object with one member"},
		{summed("{\"pod\":{}}\n"), `line 2: unknown member "pod"` + other},
		{summed("{\"serial\":{}}\n"), `line 2: unknown member "serial"` + other},
		{summed("{\"Gateway\":{}}\n"), "line 2: Gateway before any cluster" + other},
		{summed("{\"cluster\":{}}\n"), "line 2: a cluster without a name or UID" + other},
		{summed("{\"cluster\":{\"more\":1}}\n"), `line 2: json: cannot unmarshal JSON string into Go state.clusterLine: unknown object member name "more"` + other},
		{summed("{\"cluster\":{\"name\":\"c\",\"uid\":\"u\",\"listings\":{\"Pod\":{\"state\":\"listed\"}}}}\n"), `line 2: kind "Pod" is "listed"` + other},
		{summed("{\"cluster\":{\"name\":\"c\",\"uid\":\"u\"}}\n{\"Gateway\":{\"name\":\"n/g\"}}\n"), `line 3: read Gateway: object "n/g" is in cluster "", not in cluster "c"` + other},
		{summed("{\"owner\":{\"owner\":{\"kind\":200}}}\n"), `line 2: json: cannot unmarshal into Go *api.Kind within "/owner/kind": unknown kind "200"` + other},
		{oldWith(t, 0, "{\"cluster\":{\"name\":\"c\",\"uid\":\"u\"}}\n{\"Gateway octets\":{\"Name\":\"n/g\"}}\n"), `line 3: unknown member "Gateway octets"` + other},
	} {
		contents, err := readContents(strings.NewReader(c.text), int64(len(c.text)))
		if contents != nil || err == nil || strings.Replace(err.Error(), "unable to unmarshal", "cannot unmarshal", 1) != c.want {
			t.Errorf("%.100q: %v, want %s", c.text, err, c.want)
		}
	}
}

// summed returns a file with body after a first line, and a matching checksum.
func summed(body string) string {
	text := `{"kuadrant-state":3,"written":"2026-01-02T03:04:05Z"}` + "\n" + body
	return text + fmt.Sprintf(lastLine, sha256.Sum256([]byte(text)))
}

// TestSizes: a file above the maximum size is not read.
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
}

// TestWriteFails: a failed write leaves the old file.
func TestWriteFails(t *testing.T) {
	dir := t.TempDir()
	write(t, dir, full(t))
	w := writer{size: maxSize - 1000}
	if err := w.all(io.Discard, time.Time{}, func(w *writer) error { return w.body(full(t)) }); !errors.Is(err, ErrTooLarge) {
		t.Error(err)
	}
	if got, err := Read(dir); err != nil || !reflect.DeepEqual(flat(got), flat(full(t))) {
		t.Errorf("%+v, %v", got, err)
	}
	if entries, _ := os.ReadDir(dir); len(entries) != 1 {
		t.Errorf("left behind: %v", entries)
	}
	if err := Write(filepath.Join(dir, "none"), full(t)); !errors.Is(err, fs.ErrNotExist) {
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
	if err := Write(dir, full(t)); err == nil {
		t.Error("a directory is replaced")
	}
	if entries, _ := os.ReadDir(dir); len(entries) != 1 {
		t.Errorf("left behind: %v", entries)
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
