package rdata

import (
	"slices"
	"strings"

	"github.com/miekg/dns"
)

// FromRoot returns a name with its labels reversed, the last one first. Applied twice, it returns
// the name.
func FromRoot(name string) string {
	var b strings.Builder
	b.Grow(len(name))
	end := len(name)
	for _, off := range slices.Backward(dns.Split(name)) {
		b.WriteString(name[off:end])
		end = off
	}
	return b.String()
}
