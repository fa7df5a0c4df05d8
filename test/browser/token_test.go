package browser

import (
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/chromedp/cdproto/fetch"
	"github.com/chromedp/chromedp"

	"github.com/coredns-kuadrant/kuadrant/internal/boottest"
)

// token is the token of the console.
const token = "0123456789abcdef-no-secret"

// newTokenServer starts the small world with a console that requires the token, which is in a file.
func newTokenServer(t *testing.T) (s *small, file string) {
	t.Helper()
	file = filepath.Join(t.TempDir(), "token")
	writeToken(t, file, token)
	return newSmall(t, file), file
}

// writeToken writes a token into a file, atomically.
func writeToken(t *testing.T, file, token string) {
	t.Helper()
	if err := os.WriteFile(file+".new", []byte(token+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(file+".new", file); err != nil {
		t.Fatal(err)
	}
}

// answers enters passwords when the browser asks for them, and cancels when there is none. asked
// returns how often it has asked.
func (b *tab) answers(passwords <-chan string) (asked func() int) {
	b.t.Helper()
	var n atomic.Int64
	b.check(chromedp.Listen(b.ctx, func(event any) {
		switch e := event.(type) {
		case *fetch.EventRequestPaused:
			go func() {
				_, _ = chromedp.Call(b.ctx, fetch.ContinueRequest, fetch.ContinueRequestParams{RequestID: e.RequestID})
			}()
		case *fetch.EventAuthRequired:
			n.Add(1)
			answer := &fetch.AuthChallengeResponse{Response: fetch.AuthChallengeResponseResponseCancelAuth}
			select {
			case password := <-passwords:
				answer = &fetch.AuthChallengeResponse{Response: fetch.AuthChallengeResponseResponseProvideCredentials, Username: "anybody", Password: password}
			default:
			}
			go func() {
				_, _ = chromedp.Call(b.ctx, fetch.ContinueWithAuth, fetch.ContinueWithAuthParams{RequestID: e.RequestID, AuthChallengeResponse: answer})
			}()
		}
	}))
	handle := true
	call(b, fetch.Enable, fetch.EnableParams{HandleAuthRequests: &handle})
	return func() int { return int(n.Load()) }
}

// TestTokenAsked: the browser asks the user for the password. Without the right one, users see
// nothing; with it, the page follows.
func TestTokenAsked(t *testing.T) {
	t.Parallel()
	s, _ := newTokenServer(t)
	b := openTab(t, s.base, quick) // the page is 401, and the style needs the token too
	passwords := make(chan string, 1)
	b.answers(passwords)
	for _, password := range []string{"", "wrong"} {
		if password != "" {
			passwords <- password
		}
		b.open("/names")
		b.waitsText("body", "the token is missing or wrong")
		if text := b.text("body"); strings.Contains(text, "example.com") {
			t.Errorf("with the password %q, the page shows\n%s", password, text)
		}
	}
	passwords <- token
	b.open("/names")
	b.waitsText("tbody", hostChecked)
	s.write("eu/c.yaml", manifest("another", "192.0.2.77", "", "another.k.example.com"))
	b.waitsText("tbody", "another.k.example.com")
}

// TestTokenChanged: if the token has changed, an open page says so. The browser asks for the new
// one when the page is reloaded, and not before.
func TestTokenChanged(t *testing.T) {
	t.Parallel()
	s, file := newTokenServer(t)
	// This does what quick does, and records in looks what the page waits for.
	const noted = `{
		window.looks = new Set();
		const set = window.setTimeout, clear = window.clearTimeout;
		window.setTimeout = (f, ms, ...rest) => {
			if (ms < 1000) return set(f, ms, ...rest);
			const id = set(() => { looks.delete(id); f(...rest); }, 200);
			looks.add(id);
			return id;
		};
		window.clearTimeout = (id) => { looks.delete(id); clear(id); };
	}`
	b := openTab(t, s.base, noted) // the page is 401
	passwords := make(chan string, 1)
	asks := b.answers(passwords)
	passwords <- token
	b.open("/names")
	b.waitsText("tbody", hostChecked)
	b.waits("look that is to come", `looks.size === 1`)
	before := asks()
	const other = "another-token-0123456789"
	writeToken(t, file, other)
	b.waits("word that the token has changed", `!lost.hidden && lost.innerText.startsWith("The token has changed: reload the page. What is shown is from ")`)
	b.waitsText("tbody", hostChecked) // the known content stays
	asked := b.asked("/names")
	if n := eval[int](b, `looks.size`); n != 0 {
		t.Errorf("%d looks are to come", n)
	}
	if got := b.asked("/names"); got != asked {
		t.Errorf("it has looked %d times more", got-asked)
	}
	eval[bool](b, `document.dispatchEvent(new Event("visibilitychange"))`)
	boottest.WaitOr(t, func() string { return "it does not look when it is seen again" }, func() bool { return b.asked("/names") > asked })
	b.waits("word that the token has changed", `!lost.hidden`)
	if got := asks(); got != before {
		t.Errorf("the browser has asked for a password %d times", got-before)
	}
	passwords <- other
	b.click("#lost a")
	b.waits("page that is new", `lost.hidden && document.querySelector("tbody").innerText.includes("checked")`)
	if got := asks(); got != before+1 {
		t.Errorf("the browser has asked for a password %d times, want once", got-before)
	}
	s.write("eu/c.yaml", manifest("another", "192.0.2.77", "", "another.k.example.com"))
	b.waitsText("tbody", "another.k.example.com")
}
