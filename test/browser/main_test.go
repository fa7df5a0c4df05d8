// Package browser drives the console in a real browser: the program of cmd/coredns in a process
// of its own, manifests that change, targets that are switched off, and Debian's chromium. It has
// tests alone. Screenshots go to build/screenshots.
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

// What all tests share, made once.
var (
	// browser is the context of the browser; tabs are made from it.
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

// run starts the browser, and runs the tests. Without a program or a browser nothing is tested, which is an error where the
// environment says that it has to be.
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

// startBrowser runs a browser until end is called. It opens nothing but what it is told to, so that
// it does without the sandbox, which root cannot have.
func startBrowser(path, profile string) (end func(), err error) {
	options := append(chromedp.DefaultExecAllocatorOptions[:],
		chromedp.ExecPath(path), chromedp.UserDataDir(profile), chromedp.NoSandbox,
		chromedp.Flag("disable-gpu", true), chromedp.Flag("disable-quic", true), chromedp.Flag("disable-component-update", true),
		chromedp.Flag("explicitly-allowed-ports", "10080"), // a free port may be that one
	)
	ctx, cancel := chromedp.NewExecAllocator(context.Background(), options...)
	first, _ := chromedp.NewContext(ctx)
	if err := chromedp.Do(first); err != nil {
		cancel()
		return nil, fmt.Errorf("start %s: %w", path, err)
	}
	browser = first
	return func() {
		_ = chromedp.Cancel(first) // waits for its end
		cancel()
	}, nil
}
