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
	"strings"
	"sync"
	"testing"
	"time"
)

// certificate is one in PEM with its key, each in base64.
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

// TestReadKubeconfig: what a Secret may hold is taken, and all else is refused with the
// field's name, and with nothing that the Secret holds.
func TestReadKubeconfig(t *testing.T) {
	pair := certificate()
	both := "client-certificate-data: " + pair.cert + ", client-key-data: " + pair.key
	for _, c := range []struct{ name, text, want string }{
		{"token", kubeconfigOf(atServer, withToken), ""},
		{"CA", kubeconfigOf(atServer+", certificate-authority-data: "+pair.cert, withToken), ""},
		{"name", kubeconfigOf(atServer+", tls-server-name: api.example.com", withToken), ""},
		{"certificate", kubeconfigOf(atServer, both), ""},
		{"JSON", `{"contexts":[{"name":"a","context":{"cluster":"k","user":"u"}}],"clusters":[{"name":"k","cluster":{"server":"https://k"}}],"users":[{"name":"u","user":{"token":"x"}}]}`, ""},
		{"extensions", kubeconfigOf(atServer+", extensions: [{name: x, extension: {a: 1}}]", withToken), ""},
		{"verified after all", kubeconfigOf(atServer+", insecure-skip-tls-verify: false", withToken+", username: ''"), ""},
		{"empty", "", "current-context names no context"},
		{"null", "null", "current-context names no context"},
		{"text", "s3cret-t0ken", "it has another form"},
		{"garbage", "\x00{s3cret-t0ken: [", "neither YAML nor JSON"},
		{"long", strings.Repeat("#", maxKubeconfig+1), "it has 262145 bytes"},
		{"a list", "clusters: {}", "clusters has a value of another form"},
		{"a number", kubeconfigOf("server: 5", withToken), "clusters.cluster.server has a value of another form"},
		{
			"no context", strings.Replace(kubeconfigOf(atServer, withToken), "current-context: c", "current-context: other", 1),
			"current-context names no context",
		},
		{
			"no cluster", strings.Replace(kubeconfigOf(atServer, withToken), "cluster: k,", "cluster: s3cret-t0ken,", 1),
			"the context names no cluster",
		},
		{"no user", strings.Replace(kubeconfigOf(atServer, withToken), "user: u,", "user: s3cret-t0ken,", 1), "the context names no user"},
		{"no credentials", kubeconfigOf(atServer, ""), "the user has no credentials"},
		{"no server", kubeconfigOf("", withToken), "server is not the https URL"},
		{"http", kubeconfigOf("server: 'http://192.0.2.1'", withToken), "server is not the https URL"},
		{"no scheme", kubeconfigOf("server: '192.0.2.1:6443'", withToken), "server is not the https URL"},
		{"password in the URL", kubeconfigOf("server: 'https://u:s3cret-t0ken@k'", withToken), "server has more than"},
		{"query", kubeconfigOf("server: 'https://k?s3cret-t0ken'", withToken), "server has more than"},
		{"bad CA", kubeconfigOf(atServer+", certificate-authority-data: s3cret-t0ken", withToken), "not in base64"},
		{
			"CA that is none", kubeconfigOf(atServer+", certificate-authority-data: czNjcmV0", withToken),
			"certificate-authority-data is not a certificate",
		},
		{"password alone", kubeconfigOf(atServer, "password: s3cret-t0ken"), "users[0].user.password is refused"},
		{"empty CA", kubeconfigOf(atServer+", certificate-authority-data: ''", withToken), ""},
		{"no key", kubeconfigOf(atServer, "client-certificate-data: "+pair.cert), "client-certificate-data and client-key-data are not"},
		{
			"bad key", kubeconfigOf(atServer, "client-certificate-data: "+pair.cert+", client-key-data: "+pair.cert),
			"client-certificate-data and client-key-data are not",
		},
		{"token of two lines", kubeconfigOf(atServer, `token: "s3cret-t0ken\r\nX: y"`), "token has characters"},
		{"exec", kubeconfigOf(atServer, withToken+", exec: {command: s3cret-t0ken}"), "users[0].user.exec is refused: no program is run"},
		{"exec without anything", kubeconfigOf(atServer, withToken+", exec: {}"), "users[0].user.exec is refused"},
		{"exec of a user that is not used", strings.Replace(kubeconfigOf(atServer, withToken), "users: [",
			"users: [{name: o, user: {exec: {command: x}}}, ", 1), "users[0].user.exec is refused"},
		{"auth-provider", kubeconfigOf(atServer, "auth-provider: {name: gcp}"), "users[0].user.auth-provider is refused"},
		{
			"CA file", kubeconfigOf(atServer+", certificate-authority: /s3cret-t0ken", withToken),
			"clusters[0].cluster.certificate-authority is refused: no file is read",
		},
		{"certificate file", kubeconfigOf(atServer, "client-certificate: /x"), "users[0].user.client-certificate is refused"},
		{"key file", kubeconfigOf(atServer, "client-key: /x"), "users[0].user.client-key is refused"},
		{"token file", kubeconfigOf(atServer, "tokenFile: /x"), "users[0].user.tokenFile is refused"},
		{"password", kubeconfigOf(atServer, "password: s3cret-t0ken, username: u"), "users[0].user.username is refused"},
		{"proxy", kubeconfigOf(atServer+", proxy-url: 'http://k'", withToken), "clusters[0].cluster.proxy-url is refused"},
		{
			"any server", kubeconfigOf(atServer+", insecure-skip-tls-verify: true", withToken),
			"clusters[0].cluster.insecure-skip-tls-verify is refused",
		},
		{"as somebody", kubeconfigOf(atServer, withToken+", as: s3cret-t0ken"), "users[0].user.as is refused"},
		{"a token in the place of a field", kubeconfigOf(atServer, "s3cret-t0ken: x"), "it has a field that no kubeconfig has"},
		{"another case", kubeconfigOf("Server: 'https://k'", withToken), "it has a field that no kubeconfig has"},
		{"a field at the top", "s3cret-t0ken: x", "it has a field that no kubeconfig has"},
	} {
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

// FuzzKubeconfig: whatever a Secret holds, nothing is taken that runs a program, reads a
// file, or goes to a server that is not known to be the right one.
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
