package records_test

import (
	"fmt"
	"testing"

	"github.com/coredns-kuadrant/kuadrant/api"
	"github.com/coredns-kuadrant/kuadrant/records"
)

// BenchmarkWildcards has a wildcard come and go over 100,000 names of its namespace or another. Then a Record elsewhere changes, without the
// wildcard and beside it.
func BenchmarkWildcards(b *testing.B) {
	const wildcard, gone, elsewhere = "record apps/w *.w.example.com. at=2h A 192.0.2.2", "delete record apps/w", "record apps/e e.example.com. A 192.0.2.%d"
	for _, covered := range []struct{ name, format string }{
		{"hosts", "gateway apps/g%d host=x%d.w.example.com addr=192.0.2.1\npolicy apps/g%d"},
		{"own-txt", "record apps/r%d x%d.w.example.com. at=3h TXT t"},
		{"kept-txt", "record mail/r%d x%d.w.example.com. at=1h TXT t"},
		{"refused-txt", "record mail/r%d x%d.w.example.com. at=3h TXT t"},
	} {
		w := open(b, lines(100_000, covered.format))
		advance(w)
		measure := func(name string, change func(i int) string) {
			b.Run(covered.name+"/"+name, func(b *testing.B) {
				in := make([]api.Objects, b.N)
				used := inParts(b, func(i int) {
					w.Apply(b, change(i))
					in[i] = w.Objects()
				}, func(i int) {
					w.Snapshot = records.Compile(w.Snapshot, in[i], w.Options, w.Now)
				})
				for i := range used {
					used[i] /= 1e3
				}
				report(b, "cpu-µs", used)
			})
		}
		moves := func(i int) string { return fmt.Sprintf(elsewhere, i%250) }
		measure("elsewhere-before", moves)
		measure("wildcard", func(i int) string { return [...]string{wildcard, gone}[i%2] })
		w.Apply(b, wildcard)
		advance(w)
		measure("elsewhere", moves)
	}
}
