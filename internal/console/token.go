package console

import (
	"crypto/sha256"
	"crypto/subtle"
	"fmt"
	"net/http"
	"os"
	"strings"
	"sync"
	"time"
)

// Token is the secret that requests must present. The file is read again when it changes; only a digest is kept. It
// is safe for concurrent use.
type Token struct {
	path string

	mu     sync.Mutex
	looked time.Time
	info   os.FileInfo // of the file that sum was read from
	sum    [sha256.Size]byte
	// trouble says why the file cannot be used now, "" if it can; since is when that began.
	trouble string
	since   time.Time
}

// Length limits of a token, in octets: shorter ones can be guessed.
const (
	minToken = 16
	maxToken = 4096
)

// lookAgain is the minimum time between two looks at the file.
const lookAgain = time.Second

// OpenToken reads a token file. Surrounding white space is ignored. The error names the file, and nothing of its
// contents.
func OpenToken(path string) (*Token, error) {
	t := &Token{path: path}
	if err := t.read(); err != nil {
		return nil, err
	}
	return t, nil
}

// read reads the file.
func (t *Token) read() error {
	f, err := os.Open(t.path)
	if err != nil {
		return err
	}
	defer func() { _ = f.Close() }()
	info, err := f.Stat()
	if err != nil {
		return err
	}
	if !info.Mode().IsRegular() {
		return fmt.Errorf("%s is not a file", t.path)
	}
	data := make([]byte, maxToken+1)
	n, err := f.Read(data)
	text := strings.TrimSpace(string(data[:n]))
	clear(data)
	switch {
	case n == 0 || text == "":
		return fmt.Errorf("%s is empty; write a token of %d to %d characters into it", t.path, minToken, maxToken)
	case err != nil:
		return err
	case len(text) < minToken || n > maxToken:
		return fmt.Errorf("the token in %s must have %d to %d characters", t.path, minToken, maxToken)
	case strings.ContainsFunc(text, func(r rune) bool { return r <= ' ' || r > '~' }):
		return fmt.Errorf("the token in %s must be printable ASCII", t.path)
	}
	t.info, t.sum = info, sha256.Sum256([]byte(text))
	return nil
}

// matches reports whether a request presents the token. If the file is missing or broken, the last good token counts.
func (t *Token) matches(r *http.Request) bool {
	shown := ""
	if scheme, rest, ok := strings.Cut(r.Header.Get("Authorization"), " "); ok && strings.EqualFold(scheme, "Bearer") {
		shown = strings.TrimSpace(rest)
	} else if _, password, ok := r.BasicAuth(); ok { // browsers can send this
		shown = password
	}
	sum := sha256.Sum256([]byte(shown))
	t.mu.Lock()
	defer t.mu.Unlock()
	return subtle.ConstantTimeCompare(sum[:], t.sum[:]) == 1
}

// refresh reads the file again if it has changed or was unusable. trouble says why it cannot be used, "" if it can;
// news reports whether that has changed.
func (t *Token) refresh(now time.Time) (trouble string, news bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if now.Sub(t.looked) < lookAgain {
		return t.trouble, false
	}
	t.looked = now
	info, err := os.Stat(t.path)
	if err == nil && (t.trouble != "" || !sameFile(info, t.info)) {
		err = t.read()
	}
	before := t.trouble
	if before == "" {
		t.since = now
	}
	if t.trouble = ""; err != nil {
		t.trouble = err.Error()
	}
	return t.trouble, t.trouble != before
}

// sameFile reports whether a and b are the same version of the same file.
func sameFile(a, b os.FileInfo) bool {
	return os.SameFile(a, b) && a.ModTime().Equal(b.ModTime()) && a.Size() == b.Size()
}

// problem returns why the file cannot be used now, "" if it can, and since when.
func (t *Token) problem() (string, time.Time) {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.trouble, t.since
}

// admits reports whether a request presents the token, and logs changes of the file's state.
func (c *console) admits(r *http.Request) bool {
	switch trouble, news := c.Token.refresh(time.Now()); {
	case !news:
	case trouble != "":
		c.Logf("console: cannot read the token: %s; the previous one is still accepted", trouble)
	default:
		c.Infof("console: %s is readable again; its token is accepted", c.Token.path)
	}
	return c.Token.matches(r)
}
