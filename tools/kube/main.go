// Command kube starts a local API server to try things out, with the CRDs of Gateways and ours:
// `make kube`. Its data stay in the directory that it is given. It ends on an interrupt.
package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/coredns-kuadrant/kuadrant/internal/kubetest"
)

func main() {
	if len(os.Args) != 2 {
		fmt.Fprintln(os.Stderr, "usage: kube DIR")
		os.Exit(2)
	}
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, os.Args[1]); err != nil {
		fmt.Fprintln(os.Stderr, "kube:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, dir string) error {
	dir, err := filepath.Abs(dir)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	release, err := lock(dir)
	if err != nil {
		return err
	}
	defer release()
	server, err := kubetest.Open(filepath.Join(kubetest.ModuleRoot(), "build", "bin", "kube-apiserver"), dir)
	if err != nil {
		return err
	}
	defer server.Stop()
	if err := server.Install(ctx); err != nil {
		return err
	}
	fmt.Printf(`The API server is up. docs/quick-start.md goes on from here. Or, in another terminal:

    export KUBECONFIG=%[1]s
    ./bin/coredns -conf examples/Corefile.kube

and in a third one, with the kubectl of build/bin where none is installed:

    export KUBECONFIG=%[1]s PATH=$PATH:$PWD/build/bin
    for n in shop dns dev docs; do kubectl create namespace $n; done
    kubectl apply -f examples/eu
    kubectl -n shop patch gateway web --subresource=status --type=merge \
        -p '{"status":{"addresses":[{"type":"IPAddress","value":"192.0.2.10"}]}}'
    dig @127.0.0.1 -p 1053 status.k.example.com

It ends with ^C; its data stays in %[2]s.
`, server.Kubeconfig, dir)
	<-ctx.Done()
	return nil
}

// lock locks dir until release is called: two API servers over the same data would wait for each
// other forever.
func lock(dir string) (release func(), err error) {
	file, err := os.OpenFile(filepath.Join(dir, "lock"), os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, err
	}
	if err := unix.Flock(int(file.Fd()), unix.LOCK_EX|unix.LOCK_NB); err != nil {
		_ = file.Close()
		return nil, fmt.Errorf("%s is in use by another one that runs: end that first (%w)", dir, err)
	}
	return func() { _ = file.Close() }, nil
}
