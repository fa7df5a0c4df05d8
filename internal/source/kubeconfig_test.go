package source

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/base64"
	"encoding/pem"
	"math/big"
	"os"
	"strings"
	"sync"
	"testing"
	"time"
)

// certificate returns a PEM certificate and its key, each in base64.
var certificate = sync.OnceValue(func() (pair struct{ cert, key string }) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		panic(err)
	}
	of := &x509.Certificate{SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "test"}, NotAfter: time.Now().Add(time.Hour)}
	der, err := x509.CreateCertificate(rand.Reader, of, of, &key.PublicKey, key)
	if err != nil {
		panic(err)
	}
	private, err := x509.MarshalECPrivateKey(key)
	if err != nil {
		panic(err)
	}
	in64 := func(kind string, data []byte) string {
		return base64.StdEncoding.EncodeToString(pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: data}))
	}
	pair.cert, pair.key = in64("CERTIFICATE", der), in64("EC PRIVATE KEY", private)
	return pair
})

// kubeconfigOf returns a kubeconfig with the given fields of its cluster and its user.
func kubeconfigOf(cluster, user string) string {
	return "apiVersion: v1\nkind: Config\npreferences: {}\ncurrent-context: c\n" +
		"contexts: [{name: c, context: {cluster: k, user: u, namespace: x}}]\n" +
		"clusters: [{name: k, cluster: {" + cluster + "}}]\nusers: [{name: u, user: {" + user + "}}]\n"
}

const (
	atServer  = "server: 'https://192.0.2.1:6443'"
	withToken = "token: s3cret-t0ken"
)

// TestReadKubeconfig checks that a Secret's valid fields are read, and others are refused: the
// error names the field, and quotes nothing from the Secret.
func TestReadKubeconfig(t *testing.T) {
	pair := certificate()
	good := kubeconfigOf(atServer, withToken)
	type row struct{ name, text, want string }
	rows := []row{
		{"JSON", `{"contexts":[{"name":"a","context":{"cluster":"k","user":"u"}}],"clusters":[{"name":"k","cluster":{"server":"https://k"}}],"users":[{"name":"u","user":{"token":"x"}}]}`, ""},
		{"empty", "", "current-context does not name a context"},
		{"null", "null", "current-context does not name a context"},
		{"text", "s3cret-t0ken", "not a kubeconfig, or"},
		{"garbage", "\x00{s3cret-t0ken: [", "neither YAML nor JSON"},
		{"long", strings.Repeat("#", maxKubeconfig+1), "262145 bytes"},
		{"a list", "clusters: {}", "clusters has a value of the wrong type"},
		{"no context", strings.Replace(good, "current-context: c", "current-context: other", 1), "current-context does not name a context"},
		{"no cluster", strings.Replace(good, "cluster: k,", "cluster: s3cret-t0ken,", 1), "the context does not name one of clusters"},
		{"no user", strings.Replace(good, "user: u,", "user: s3cret-t0ken,", 1), "the context does not name one of users"},
		{"exec of a user that is not used", strings.Replace(good, "users: [", "users: [{name: o, user: {exec: {command: x}}}, ", 1), "users[0].user.exec is refused"},
		{"a field at the top", "s3cret-t0ken: x", "it has a field that is not part of a kubeconfig"},
	}
	table, err := os.ReadFile("testdata/kubeconfig.table")
	if err != nil {
		t.Fatal(err)
	}
	put := strings.NewReplacer("SERVER", atServer, "TOKEN", withToken, "CERT", pair.cert, "KEY", pair.key)
	for line := range strings.Lines(string(table)) {
		if cells := strings.Split(line, " | "); len(cells) == 4 && strings.HasSuffix(line, " |\n") && cells[1] != "cluster" {
			want := strings.TrimPrefix(strings.TrimSuffix(cells[3], " |\n"), "taken")
			rows = append(rows, row{strings.TrimPrefix(cells[0], "| "), kubeconfigOf(put.Replace(cells[1]), put.Replace(cells[2])), want})
		}
	}
	if len(rows) < 40 {
		t.Fatalf("%d rows", len(rows))
	}
	for _, c := range rows {
		t.Run(c.name, func(t *testing.T) {
			config, err := ReadKubeconfig([]byte(c.text))
			switch {
			case c.want == "" && err != nil:
				t.Fatal(err)
			case c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)):
				t.Fatalf("%v, want %s", err, c.want)
			case err != nil && strings.Contains(err.Error(), "s3cret"):
				t.Errorf("what the Secret holds is told: %v", err)
			case err == nil && (!strings.HasPrefix(config.Host, "https://") || config.BearerToken == "" && len(config.CertData) == 0):
				t.Errorf("taken is %v", config)
			}
		})
	}
}

// FuzzKubeconfig checks that no accepted Secret runs a program, reads a file, or leads to an
// unverified server.
func FuzzKubeconfig(f *testing.F) {
	f.Add([]byte(kubeconfigOf(atServer, withToken)))
	f.Add([]byte(kubeconfigOf(atServer+", insecure-skip-tls-verify: true", "exec: {command: x}, tokenFile: /x")))
	f.Add([]byte("a: &a [*a]\nclusters: *a"))
	f.Add([]byte(bomb()))
	f.Fuzz(func(t *testing.T, text []byte) {
		c, err := ReadKubeconfig(text)
		if err != nil {
			return
		}
		tls := c.TLSClientConfig
		if !strings.HasPrefix(strings.ToLower(c.Host), "https://") || tls.Insecure || tls.CAFile != "" || tls.CertFile != "" ||
			tls.KeyFile != "" ||
			c.BearerTokenFile != "" || c.ExecProvider != nil || c.AuthProvider != nil || c.Username != "" || c.Password != "" ||
			c.Impersonate.UserName != "" || c.Proxy != nil {
			t.Errorf("taken is %v", c)
		}
	})
}
