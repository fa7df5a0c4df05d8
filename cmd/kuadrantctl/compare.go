package main

import (
	"bufio"
	"cmp"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"github.com/miekg/dns"
	"github.com/spf13/cobra"

	"github.com/coredns-kuadrant/kuadrant/inspect"
	"github.com/coredns-kuadrant/kuadrant/source"
)

// comparing are the flags of compare.
type comparing struct {
	namesFile, clientsFile string
	from, types            []string
	zone                   string
	rate                   float64
}

// newCompare returns the command compare.
func newCompare(o *options) *cobra.Command {
	var f comparing
	c := &cobra.Command{
		Use:   "compare SERVER [NAME...]",
		Short: "Ask another DNS server the same, and explain each difference",
		Long: `Ask another DNS server the same, and explain each difference: what would change for whom, if the
names were answered here.

SERVER is an address or a name, with a port if that is not 53. Asked are the NAMEs, or all that are
served here, each for one network of every country in the geo databases and of every geo code that
members have; a name that is the same for everybody, on both sides, once. An answer that some
draw gives here counts as the same.

The exit code is 1 where answers differ; TTLs alone are told, and no difference.`,
		Example: `  kuadrantctl compare 192.0.2.1 -f manifests/ --corefile Corefile
  kuadrantctl compare ns-1.example.net shop.k.example.com --from 198.51.100.0/24 --server http://localhost:8090
  dig @192.0.2.1 k.example.com AXFR | kuadrantctl compare 192.0.2.1 --names - --corefile Corefile`,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) == 0 {
				return errors.New("say which server")
			}
			return nil
		},
		RunE: func(c *cobra.Command, args []string) error {
			return o.tell(c, func(p *progress) (*outcome, error) {
				found, err := o.compare(c, &f, args, p)
				if found == nil {
					return nil, err
				}
				return &outcome{
					found, func(w io.Writer) error { return inspect.WriteComparison(w, found) },
					len(found.Differences) > 0 || found.Unanswered > 0,
				}, err
			})
		},
	}
	c.Flags().StringVar(&f.namesFile, "names", "",
		"ask for the names in a file, or - for standard input: the first word of each line, as in the output of dig AXFR")
	c.Flags().StringArrayVar(&f.from, "from", nil, "ask for a client's address or network; repeatable")
	c.Flags().StringVar(&f.clientsFile, "clients", "", "ask for the clients in a file: the first word of each line, an address or a network")
	c.Flags().StringSliceVar(&f.types, "types", nil,
		"ask for these types; without it for those that each name has here, and A and AAAA for a name that is not here")
	c.Flags().StringVar(&f.zone, "in", "", "only names of this zone")
	c.Flags().Float64Var(&f.rate, "rate", 50, "send so many questions a second at the most")
	return c
}

// compare asks, and compares. With an error it returns what has been found before, or nil.
func (o *options) compare(c *cobra.Command, f *comparing, args []string, p *progress) (*inspect.Comparison, error) {
	if !(f.rate > 0) { // nor NaN
		return nil, fmt.Errorf("--rate %v is not more than 0", f.rate)
	}
	if f.namesFile == source.Stdin && o.readsStdin() {
		return nil, errors.New("-f - and --names - are both the standard input: leave one out, or name a file")
	}
	p.begin("looking up " + args[0])
	addr, err := parseServer(c.Context(), args[0])
	if err != nil {
		return nil, err
	}
	run := &compareRun{other: newDNSServer(addr, f.rate), found: inspect.NewComparison(addr)}
	var lacks error
	if run.reader, run.world, lacks, err = o.look(c, p); err != nil {
		return nil, err
	}
	if err := run.clientsOf(f, p); err != nil {
		return nil, err
	}
	if err := run.namesOf(c, f, args[1:], p); err != nil {
		return nil, err
	}
	found, err := run.do(c.Context(), p)
	return found, cmp.Or(err, lacks)
}

// clientsOf takes the clients of the flags, or those of the geo databases.
func (r *compareRun) clientsOf(f *comparing, p *progress) error {
	texts := slices.Clone(f.from)
	if f.clientsFile != "" {
		words, err := firstWords("--clients", f.clientsFile, nil)
		if err != nil {
			return err
		}
		texts = append(texts, words...)
	}
	var view inspect.View // the server knows where clients are
	if r.world != nil {
		view = r.world.view()
	}
	for i, text := range texts {
		place, err := view.ClientOf(text)
		if err != nil && i >= len(f.from) {
			return failed(fmt.Errorf("--clients %s: %q is neither an address nor a network", f.clientsFile, text))
		}
		if err != nil {
			return err
		}
		r.clients = append(r.clients, place)
	}
	r.named = len(r.clients) > 0
	if r.named || r.world == nil {
		return nil
	}
	var err error
	r.clients, err = view.Clients(r.world.space(p), f.zone)
	return err
}

// namesOf takes the names of the flags, or all that are served.
func (r *compareRun) namesOf(c *cobra.Command, f *comparing, args []string, p *progress) error {
	p.begin("listing names")
	for i, t := range f.types {
		if _, err := inspect.ParseType(t); err != nil {
			return err
		}
		f.types[i] = strings.ToUpper(strings.TrimSpace(t))
	}
	ctx := c.Context()
	served, err := allNames(ctx, r.reader, inspect.Filter{Zone: f.zone})
	if err != nil {
		return failed(err)
	}
	var fromFile []string
	if f.namesFile != "" {
		if fromFile, err = firstWords("--names", f.namesFile, c.InOrStdin()); err != nil {
			return err
		}
	}
	if len(args)+len(fromFile) > 0 {
		zones, err := r.reader.Zones(ctx)
		if err != nil {
			return failed(err)
		}
		if err := r.listed(args, fromFile, served, zones, f, p); err != nil {
			return err
		}
	} else {
		for i := range served {
			if n := &served[i]; len(n.Types) > 0 || n.Owner != nil { // else it stands in for a name server that nobody has named
				r.names = append(r.names, compareNameOf(n, f.types))
			}
		}
	}
	if len(r.names) == 0 {
		return failed(errors.New("there is no name to compare: none is served here, none of those that are named lies in --in ZONE, " +
			"or they are no names"))
	}
	var none []string // of which nothing is asked
	r.names = slices.DeleteFunc(r.names, func(n compareName) bool {
		if len(n.types) == 0 {
			none = append(none, dns.Fqdn(n.name))
		}
		return len(n.types) == 0
	})
	switch {
	case len(r.names) == 0:
		return failed(fmt.Errorf("there is nothing to compare: %s has nothing here but what names its own servers: say what to ask "+
			"for with --types", strings.Join(none, ", ")))
	case len(args)+len(fromFile) > 0 && len(none) > 0:
		p.warn("%s is left out: it has nothing here but what names its own servers (--types asks for more)", strings.Join(none, ", "))
	}
	return nil
}

// longestLine is how long a line of a file may be: 64 KiB of data, each octet of which may be written with four characters.
const longestLine = 1 << 19

// firstWords returns the first word of each line of the file that a flag names, once each, less what begins with ; or #.
func firstWords(flag, path string, in io.Reader) (all []string, err error) {
	if path != source.Stdin || in == nil {
		file, err := os.Open(path)
		if err != nil {
			return nil, failed(fmt.Errorf("%s: %w", flag, err))
		}
		defer func() { _ = file.Close() }()
		in = file
	}
	seen := make(map[string]bool)
	lines := bufio.NewScanner(in)
	lines.Buffer(nil, longestLine)
	for lines.Scan() {
		words := strings.Fields(lines.Text())
		if len(words) == 0 || strings.HasPrefix(words[0], ";") || strings.HasPrefix(words[0], "#") || seen[words[0]] {
			continue
		}
		seen[words[0]] = true
		all = append(all, words[0])
	}
	if err := lines.Err(); errors.Is(err, bufio.ErrTooLong) {
		return nil, failed(fmt.Errorf("%s %s: a line has more than %d KiB: write one name or client on each line", flag, path, longestLine>>10))
	} else if err != nil {
		return nil, failed(fmt.Errorf("read %s: %w", path, err))
	}
	if len(all) == 0 {
		return nil, failed(fmt.Errorf("there is nothing in %s", path))
	}
	return all, nil
}
