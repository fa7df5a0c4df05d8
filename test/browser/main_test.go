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
	// coredns is the program under test: the one that KUADRANT_COREDNS names, or else one that is built.
	coredns string
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

// run starts the browser, and runs the tests. Where there is no browser, nothing is tested, which
// is an error where the environment says that it has to be.
func run(m *testing.M) (int, error) {
	path, err := exec.LookPath("chromium")
	if err != nil {
		if os.Getenv("KUADRANT_REQUIRE_BROWSER") == "1" {
			return 1, errors.New("chromium is not installed: it is in Debian's package chromium")
		}
		fmt.Println("test/browser: skipped, as chromium is not installed: it is in Debian's package chromium")
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
	if coredns = os.Getenv("KUADRANT_COREDNS"); coredns == "" {
		coredns = filepath.Join(dir, "coredns")
		if out, err := exec.Command("go", "build", "-o", coredns, "../../cmd/coredns").CombinedOutput(); err != nil {
			return 1, fmt.Errorf("build: %w\n%s", err, out)
		}
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
