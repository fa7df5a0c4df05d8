// Command kube starts a local API server with the CRDs of the Gateway API and
// ours, to play with: `make kube`. Its data stays in build/kube. It ends on an
// interrupt.
package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"

	"github.com/coredns-kuadrant/kuadrant/internal/kubetest"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
	defer stop()
	if err := run(ctx); err != nil {
		fmt.Fprintln(os.Stderr, "kube:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context) error {
	root := kubetest.ModuleRoot()
	dir := filepath.Join(root, "build", "kube")
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	server, err := kubetest.Open(filepath.Join(root, "build", "bin", "kube-apiserver"), dir)
	if err != nil {
		return err
	}
	defer server.Stop()
	if err := server.Install(ctx); err != nil {
		return err
	}
	fmt.Printf(`The API server is up. In another terminal:

    export KUBECONFIG=%s
    ./bin/coredns -conf examples/Corefile.kube

and, where kubectl is installed:

    for n in shop dns dev docs; do kubectl create namespace $n; done
    kubectl apply -f examples/eu
    kubectl -n shop patch gateway web --subresource=status --type=merge \
        -p '{"status":{"addresses":[{"type":"IPAddress","value":"192.0.2.10"}]}}'
    dig @127.0.0.1 -p 1053 status.k.example.com

It ends with ^C; its data stays in %s.
`, server.Kubeconfig, dir)
	<-ctx.Done()
	return nil
}
