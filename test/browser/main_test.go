// Package browser drives the console in a real browser: the program of cmd/coredns in a separate
// process, manifests that change, targets that are switched off, and Debian's chromium. It has only
// tests. Screenshots go to build/screenshots.
package browser

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/chromedp/chromedp"
)

// All tests share these.
var (
	// browser is the context of the browser, from which tabs are made.
	browser context.Context
	// coredns is the program under test.
	coredns = os.Getenv("KUADRANT_COREDNS")
	// pictures is where screenshots go.
	pictures = filepath.Join("..", "..", "build", "screenshots")
)

func TestMain(m *testing.M) {
	code, err := run(m)
	if err != nil {
		fmt.Fprintln(os.Stderr, "test/browser:", err)
		code = 1
	}
	os.Exit(code)
}

// run starts the browser, and runs the tests. Without a program or a browser it skips them, or
// fails if the environment requires them.
func run(m *testing.M) (int, error) {
	path, err := exec.LookPath("chromium")
	if err != nil {
		err = errors.New("chromium is not installed: it is in Debian's package chromium")
	} else if coredns == "" {
		err = errors.New("KUADRANT_COREDNS names no program: run `make browser`")
	}
	if err != nil {
		if os.Getenv("KUADRANT_REQUIRE_BROWSER") == "1" {
			return 1, err
		}
		fmt.Println("test/browser: skipped:", err)
		return 0, nil
	}
	dir, err := os.MkdirTemp("", "browser")
	if err != nil {
		return 1, err
	}
	defer func() { _ = os.RemoveAll(dir) }()
	if err := os.MkdirAll(pictures, 0o755); err != nil {
		return 1, err
	}
	end, err := startBrowser(path, filepath.Join(dir, "profile"))
	if err != nil {
		return 1, err
	}
	defer end()
	return m.Run(), nil
}

// startBrowser runs a browser until end is called. It opens only what it is told to, so it runs
// without the sandbox, which root cannot use.
func startBrowser(path, profile string) (end func(), err error) {
	options := append(chromedp.DefaultExecAllocatorOptions[:],
		chromedp.ExecPath(path), chromedp.UserDataDir(profile), chromedp.NoSandbox,
		chromedp.Flag("disable-gpu", true), chromedp.Flag("disable-quic", true), chromedp.Flag("disable-component-update", true),
		chromedp.Flag("explicitly-allowed-ports", "10080"), // a free port may have this number
	)
	ctx, cancel := chromedp.NewExecAllocator(context.Background(), options...)
	first, _ := chromedp.NewContext(ctx)
	if err := chromedp.Do(first); err != nil {
		cancel()
		return nil, fmt.Errorf("start %s: %w", path, err)
	}
	browser = first
	return func() {
		_ = chromedp.Cancel(first) // waits until it has ended
		cancel()
	}, nil
}
