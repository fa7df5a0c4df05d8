package browsertest

import (
	"encoding/base64"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/chromedp/cdproto/fetch"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/chromedp"
)

// token is what the console asks for.
const token = "0123456789abcdef-no-secret"

// newTokenServer starts the small world with a console that asks for the token.
func newTokenServer(t *testing.T) *small {
	t.Helper()
	file := filepath.Join(t.TempDir(), "token")
	if err := os.WriteFile(file, []byte(token+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	return newSmall(t, file)
}

// TestTokenHeader: with the token in a header of either form, everything is shown, and followed.
func TestTokenHeader(t *testing.T) {
	t.Parallel()
	s := newTokenServer(t)
	b := newTab(t, s.base, quick)
	for _, header := range []string{"Basic " + base64.StdEncoding.EncodeToString([]byte("anybody:"+token)), "Bearer " + token} {
		call(b, network.SetExtraHTTPHeaders, network.SetExtraHTTPHeadersParams{Headers: network.Headers{"Authorization": header}})
		b.open("/")
		b.waitsText(".calm", "Nothing needs attention")
	}
	s.eu.off()
	s.na.off()
	b.waitsText(".alarm.grave", hostChecked)
}

// TestTokenAsked: the browser asks the user for the password. Who has none, or a wrong one, sees
// nothing; for who has it, the page follows.
func TestTokenAsked(t *testing.T) {
	t.Parallel()
	s := newTokenServer(t)
	b := openTab(t, s.base, quick) // it notes that the status is 401, and that the style needs the token too
	passwords := make(chan string, 1)
	b.check(chromedp.Listen(b.ctx, func(event any) {
		switch e := event.(type) {
		case *fetch.EventRequestPaused:
			go func() {
				_, _ = chromedp.Call(b.ctx, fetch.ContinueRequest, fetch.ContinueRequestParams{RequestID: e.RequestID})
			}()
		case *fetch.EventAuthRequired:
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
