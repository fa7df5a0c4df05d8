//go:build linux

package checks

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"log"
	"math/big"
	"net"
	"net/http"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
	"google.golang.org/grpc"
	grpchealth "google.golang.org/grpc/health"
	"google.golang.org/grpc/health/grpc_health_v1"

	"github.com/coredns-kuadrant/kuadrant/health"
)

// Ports are those of the servers, by protocol. Each server is at every address of
// 127.0.0.0/8.
type Ports [health.GRPC + 1]uint16

// The ports that are tried: checks may go there, and the system gives out
// others.
const firstPort, lastPort = 20000, 30000

// Serve starts a server for each protocol but gRPC over TLS. They run until the
// process ends. The certificate of the one that speaks TLS is for every name
// right below example.com and is signed by ca, in PEM.
func Serve() (ports Ports, ca []byte, err error) {
	ca, cert, err := certificates()
	if err != nil {
		return ports, nil, err
	}
	quiet := log.New(io.Discard, "", 0)
	answer := http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "ok\n") })
	plain := &http.Server{Handler: answer, ErrorLog: quiet, ReadHeaderTimeout: time.Minute}
	secure := &http.Server{Handler: answer, ErrorLog: quiet, ReadHeaderTimeout: time.Minute, TLSConfig: &tls.Config{
		Certificates: []tls.Certificate{cert}, MinVersion: tls.VersionTLS12,
	}}
	calls := grpc.NewServer()
	grpc_health_v1.RegisterHealthServer(calls, grpchealth.NewServer())
	serve := [len(ports)]func(net.Listener) error{
		health.HTTP:  plain.Serve,
		health.HTTPS: func(l net.Listener) error { return secure.ServeTLS(l, "", "") },
		health.TCP:   accept,
		health.GRPC:  calls.Serve,
	}
	for p, run := range serve {
		l, err := listen()
		if err != nil {
			return ports, nil, fmt.Errorf("listen for %s: %w", health.Protocol(p), err)
		}
		ports[p] = uint16(l.Addr().(*net.TCPAddr).Port)
		go func() { _ = run(l) }()
	}
	return ports, ca, nil
}

// listen opens a listener for all of 127.0.0.0/8 and nothing else: at every
// address, and on the loopback device.
func listen() (net.Listener, error) {
	config := net.ListenConfig{Control: func(_, _ string, conn syscall.RawConn) error {
		var err error
		return errors.Join(conn.Control(func(fd uintptr) { err = unix.BindToDevice(int(fd), "lo") }), err)
	}}
	for port := firstPort; port < lastPort; port++ {
		l, err := config.Listen(context.Background(), "tcp4", fmt.Sprintf("0.0.0.0:%d", port))
		if !errors.Is(err, unix.EADDRINUSE) {
			return l, err
		}
	}
	return nil, fmt.Errorf("no port from %d to %d is free", firstPort, lastPort)
}

// accept takes connections, and closes each when the other side has.
func accept(l net.Listener) error {
	for {
		conn, err := l.Accept()
		if err != nil {
			return err
		}
		go func() {
			_, _ = io.Copy(io.Discard, conn)
			_ = conn.Close()
		}()
	}
}

// certificates returns an authority's certificate in PEM, and one that it has
// signed.
func certificates() (ca []byte, cert tls.Certificate, err error) {
	form := func(serial int64, name string) *x509.Certificate {
		return &x509.Certificate{
			SerialNumber: big.NewInt(serial), Subject: pkix.Name{CommonName: name},
			NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(24 * time.Hour),
		}
	}
	authority, leaf := form(1, "bench"), form(2, "servers")
	authority.IsCA, authority.BasicConstraintsValid, authority.KeyUsage = true, true, x509.KeyUsageCertSign
	leaf.DNSNames, leaf.KeyUsage = []string{"*.example.com"}, x509.KeyUsageDigitalSignature
	leaf.ExtKeyUsage = []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth}
	caKey, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, cert, err
	}
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, cert, err
	}
	root, err := x509.CreateCertificate(rand.Reader, authority, authority, caKey.Public(), caKey)
	if err != nil {
		return nil, cert, err
	}
	signed, err := x509.CreateCertificate(rand.Reader, leaf, authority, key.Public(), caKey)
	if err != nil {
		return nil, cert, err
	}
	cert = tls.Certificate{Certificate: [][]byte{signed}, PrivateKey: key}
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: root}), cert, nil
}
