// Command kube-apiserver is the Kubernetes API server for tests and `make kube`: an embedded etcd
// and the stock kube-apiserver in one process, on loopback, built from Go modules only.
//
// It keeps everything under -dir. An empty directory makes an empty cluster. Once /readyz answers,
// it writes <dir>/kubeconfig, whose context "admin" may do anything, and prints that path on one
// line of standard output. The token file <dir>/tokens.csv has one line for each user:
// token,user,uid,"group,…"; lines that were there before the start are kept.
//
// It ends on SIGINT or SIGTERM. With -with-parent it also ends at the end of its standard input, so
// that a test that dies does not leave it behind. etcd and the API server log to <dir>/log.
package main

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/hex"
	"encoding/pem"
	"errors"
	"flag"
	"fmt"
	"io"
	"math/big"
	"net"
	"net/http"
	"net/url"
	"os"
	"os/signal"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"go.etcd.io/etcd/server/v3/embed"
	"golang.org/x/sys/unix"
	"k8s.io/kubernetes/cmd/kube-apiserver/app"
)

func main() {
	dir := flag.String("dir", "", "directory for etcd's data, certificates, tokens and the kubeconfig (required)")
	port := flag.Int("port", 0, "port of the API server on 127.0.0.1; 0 takes a free one")
	withParent := flag.Bool("with-parent", false, "end when standard input is closed")
	second := flag.Bool("second", false, "serve the objects of the API server that runs with the same -dir, beside it; prints <dir>/kubeconfig-second")
	verbose := flag.Int("v", 0, "log level of the API server")
	flag.Parse()
	if *dir == "" {
		fmt.Fprintln(os.Stderr, "kube-apiserver: -dir is required")
		os.Exit(2)
	}
	if err := os.MkdirAll(*dir, 0o700); err != nil {
		fail(os.Stderr, err)
	}
	stderr, err := divertStderr(filepath.Join(*dir, "log"))
	if err != nil {
		fail(os.Stderr, err)
	}
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
	defer stop()
	if *withParent {
		go func() {
			_, _ = io.Copy(io.Discard, os.Stdin)
			// The API server reacts only to signals, not to a context.
			_ = syscall.Kill(os.Getpid(), syscall.SIGTERM)
		}()
	}
	if err := run(ctx, *dir, *port, *verbose, *second); err != nil {
		fail(stderr, fmt.Errorf("%w (more in %s)", err, filepath.Join(*dir, "log")))
	}
}

func fail(to io.Writer, err error) {
	fmt.Fprintln(to, "kube-apiserver:", err)
	os.Exit(1)
}

// divertStderr appends standard error to file, and returns the original standard error: etcd, the
// API server and their libraries write hundreds of lines at each start.
func divertStderr(file string) (*os.File, error) {
	log, err := os.OpenFile(file, os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
	if err != nil {
		return nil, err
	}
	defer log.Close()
	old, err := unix.Dup(unix.Stderr)
	if err != nil {
		return nil, fmt.Errorf("duplicate standard error: %w", err)
	}
	unix.CloseOnExec(old)
	if err := unix.Dup2(int(log.Fd()), unix.Stderr); err != nil {
		return nil, fmt.Errorf("divert standard error: %w", err)
	}
	return os.NewFile(uintptr(old), "stderr"), nil
}

func run(ctx context.Context, dir string, port, verbose int, second bool) error {
	dir, err := filepath.Abs(dir)
	if err != nil {
		return err
	}
	kubeconfig, etcdURL, shared := filepath.Join(dir, "kubeconfig"), "", filepath.Join(dir, "etcd-url")
	if second {
		kubeconfig += "-second"
		text, err := os.ReadFile(shared)
		if err != nil {
			return fmt.Errorf("find the first API server's etcd: %w", err)
		}
		etcdURL = string(text)
	} else {
		url, closeEtcd, err := startEtcd(filepath.Join(dir, "etcd"))
		if err != nil {
			return fmt.Errorf("start etcd: %w", err)
		}
		defer closeEtcd()
		etcdURL = url
		if err := os.WriteFile(shared, []byte(url), 0o600); err != nil {
			return err
		}
	}

	token, err := adminToken(filepath.Join(dir, "tokens.csv"))
	if err != nil {
		return err
	}
	saKey, certs := filepath.Join(dir, "service-account.key"), filepath.Join(dir, "certs")
	if err := writeKey(saKey, nil); err != nil {
		return err
	}
	if err := writeCertificate(certs); err != nil {
		return err
	}
	if port == 0 {
		if port, err = freePort(); err != nil {
			return err
		}
	}
	cmd := app.NewAPIServerCommand()
	cmd.SilenceUsage = true
	cmd.SetArgs([]string{
		"--etcd-servers=" + etcdURL,
		"--bind-address=127.0.0.1",
		"--advertise-address=127.0.0.1",
		"--secure-port=" + strconv.Itoa(port),
		"--cert-dir=" + certs,
		"--token-auth-file=" + filepath.Join(dir, "tokens.csv"),
		"--service-account-issuer=https://kubernetes.default.svc",
		"--service-account-key-file=" + saKey,
		"--service-account-signing-key-file=" + saKey,
		"--authorization-mode=RBAC",
		"--service-cluster-ip-range=10.0.0.0/24",
		"--disable-admission-plugins=ServiceAccount",
		"--endpoint-reconciler-type=none",
		// The defaults for small clusters would queue the load of tests.
		"--enable-priority-and-fairness=false",
		"--max-requests-inflight=2000",
		"--max-mutating-requests-inflight=1000",
		"--v=" + strconv.Itoa(verbose),
	})
	done := make(chan error, 1)
	go func() { done <- cmd.ExecuteContext(ctx) }()

	server := "https://127.0.0.1:" + strconv.Itoa(port)
	if err := waitReady(ctx, server, token, done); err != nil {
		return err
	}
	if err := writeKubeconfig(kubeconfig, server, filepath.Join(certs, "apiserver.crt"), token); err != nil {
		return err
	}
	fmt.Println(kubeconfig)
	return <-done
}

// startEtcd runs an embedded etcd on free loopback ports and returns its client URL.
func startEtcd(dir string) (clientURL string, closeFn func(), err error) {
	cfg := embed.NewConfig()
	cfg.Dir = dir
	cfg.LogLevel = "error"
	// The data are worthless after the test: do not wait for the disk.
	cfg.UnsafeNoFsync = true
	cfg.QuotaBackendBytes = 4 << 30
	// Port 0 does not work: etcd's own gateway would dial it.
	peer, err := freeURL()
	if err != nil {
		return "", nil, err
	}
	client, err := freeURL()
	if err != nil {
		return "", nil, err
	}
	cfg.ListenPeerUrls, cfg.AdvertisePeerUrls = []url.URL{peer}, []url.URL{peer}
	cfg.ListenClientUrls, cfg.AdvertiseClientUrls = []url.URL{client}, []url.URL{client}
	cfg.InitialCluster = cfg.InitialClusterFromName(cfg.Name)
	e, err := embed.StartEtcd(cfg)
	if err != nil {
		return "", nil, err
	}
	select {
	case <-e.Server.ReadyNotify():
	case err := <-e.Err():
		e.Close()
		return "", nil, err
	case <-time.After(time.Minute):
		e.Close()
		return "", nil, errors.New("not ready after one minute")
	}
	return client.String(), e.Close, nil
}

func freeURL() (url.URL, error) {
	port, err := freePort()
	return url.URL{Scheme: "http", Host: "127.0.0.1:" + strconv.Itoa(port)}, err
}

// adminToken returns the token of user admin in file, and adds a new one if there is none.
func adminToken(file string) (string, error) {
	old, err := os.ReadFile(file)
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return "", err
	}
	for line := range strings.Lines(string(old)) {
		if f := strings.SplitN(line, ",", 3); len(f) == 3 && f[1] == "admin" {
			return f[0], nil
		}
	}
	b := make([]byte, 16)
	if _, err := rand.Read(b); err != nil {
		return "", err
	}
	token := hex.EncodeToString(b)
	text := string(old) + token + ",admin,admin,\"system:masters\"\n"
	return token, os.WriteFile(file, []byte(text), 0o600)
}

// writeKey creates a key in file, unless it exists, and passes it to also. It is elliptic: the RSA
// keys that the API server would create take a fifth of its start.
func writeKey(file string, also func(*ecdsa.PrivateKey) error) error {
	if _, err := os.Stat(file); err == nil {
		return nil
	}
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return err
	}
	if also != nil {
		if err := also(key); err != nil {
			return err
		}
	}
	der, err := x509.MarshalECPrivateKey(key)
	if err != nil {
		return err
	}
	return os.WriteFile(file, pem.EncodeToMemory(&pem.Block{Type: "EC PRIVATE KEY", Bytes: der}), 0o600)
}

// writeCertificate creates the API server's serving certificate and its key, at the paths where it
// looks for them.
func writeCertificate(dir string) error {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	return writeKey(filepath.Join(dir, "apiserver.key"), func(key *ecdsa.PrivateKey) error {
		now := time.Now()
		of := &x509.Certificate{
			SerialNumber: big.NewInt(now.UnixNano()), Subject: pkix.Name{CommonName: "kube-apiserver"},
			NotBefore: now.Add(-time.Hour), NotAfter: now.AddDate(1, 0, 0),
			KeyUsage: x509.KeyUsageDigitalSignature | x509.KeyUsageCertSign, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
			BasicConstraintsValid: true, IsCA: true,
			DNSNames: []string{"localhost"}, IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)},
		}
		der, err := x509.CreateCertificate(rand.Reader, of, of, key.Public(), key)
		if err != nil {
			return err
		}
		return os.WriteFile(filepath.Join(dir, "apiserver.crt"), pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}), 0o600)
	})
}

func freePort() (int, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return 0, err
	}
	defer l.Close()
	return l.Addr().(*net.TCPAddr).Port, nil
}

// waitReady polls /readyz until it answers ok, the server ends, or a minute has passed.
func waitReady(ctx context.Context, server, token string, done <-chan error) error {
	client := &http.Client{
		Timeout: 5 * time.Second,
		// This checks only readiness; the kubeconfig verifies the certificate.
		Transport: &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true}},
	}
	defer client.CloseIdleConnections()
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	for {
		req, err := http.NewRequestWithContext(ctx, http.MethodGet, server+"/readyz", nil)
		if err != nil {
			return err
		}
		req.Header.Set("Authorization", "Bearer "+token)
		if resp, err := client.Do(req); err == nil {
			resp.Body.Close()
			if resp.StatusCode == http.StatusOK {
				return nil
			}
		}
		select {
		case err := <-done:
			return fmt.Errorf("the API server ended before it was ready: %w", err)
		case <-ctx.Done():
			return fmt.Errorf("wait for %s/readyz: %w", server, ctx.Err())
		case <-tick.C:
		}
	}
}

// writeKubeconfig writes a kubeconfig for user admin, atomically.
func writeKubeconfig(file, server, ca, token string) error {
	text := fmt.Sprintf(`apiVersion: v1
kind: Config
clusters:
- name: local
  cluster: {server: %q, certificate-authority: %q}
users:
- name: admin
  user: {token: %q}
contexts:
- name: admin
  context: {cluster: local, user: admin}
current-context: admin
`, server, ca, token)
	tmp := file + ".tmp"
	if err := os.WriteFile(tmp, []byte(text), 0o600); err != nil {
		return err
	}
	return os.Rename(tmp, file)
}
