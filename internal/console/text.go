package console

import (
	"embed"
	"fmt"
	"net/url"
	"strconv"
	"time"

	"github.com/coredns-kuadrant/kuadrant/internal/inspect"
)

//go:embed pages assets
var files embed.FS

// pathOf returns a path with parameters, from alternating names and values.
func pathOf(path string, pairs ...string) string {
	u := url.URL{Path: path, RawQuery: values(pairs...).Encode()}
	return u.String()
}

// values returns URL parameters from alternating names and values, without the empty ones.
func values(pairs ...string) url.Values {
	q := make(url.Values)
	for i := 0; i < len(pairs); i += 2 {
		if pairs[i+1] != "" {
			q.Set(pairs[i], pairs[i+1])
		}
	}
	return q
}

// lasting formats a duration coarsely: a page that follows is sent again only if its text changes.
func lasting(d time.Duration) string {
	const day = 24 * time.Hour
	switch {
	case d < time.Minute:
		return "< 1 min"
	case d < time.Hour:
		return fmt.Sprintf("%d min", d/time.Minute)
	case d < 2*day:
		return fmt.Sprintf("%d h", d/time.Hour)
	default:
		return fmt.Sprintf("%d days", d/day)
	}
}

// plural returns n with the noun in the right number.
func plural(n int, word string) string { return strconv.Itoa(n) + " " + inspect.Plural(n, word) }

// stamp formats a time to the second, in UTC.
func stamp(t time.Time) string {
	if t.IsZero() || t.Unix() <= 0 {
		return "never"
	}
	return fmt.Sprint(t.UTC().Format(time.DateTime), " UTC")
}
