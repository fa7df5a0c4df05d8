package main

import (
	"bufio"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net/netip"
	"os"
	"slices"
	"strings"

	"github.com/miekg/dns"
	"github.com/spf13/cobra"

	"github.com/coredns-kuadrant/kuadrant/api"
	"github.com/coredns-kuadrant/kuadrant/geo"
	"github.com/coredns-kuadrant/kuadrant/internal/inspect"
	"github.com/coredns-kuadrant/kuadrant/internal/source"
	"github.com/coredns-kuadrant/kuadrant/records"
)

// comparing holds the flags of compare.
type comparing struct {
	namesFile, zone string
	from, types     []string
	rate            float64
}

// newCompare returns the command compare.
func newCompare(o *options) *cobra.Command {
	var f comparing
	c := &cobra.Command{
		Use:   "compare SERVER [NAME...]",
		Short: "Compare the answers of another DNS server, and explain each difference",
		Long: `Compare the answers of another DNS server, and explain each difference: what would change for whom if the
names were answered here.

SERVER is an address or a name, with a port if that is not 53. compare asks for the NAMEs, or for all that are
served here or wanted by objects, each for one network of every country in the geo
databases and of every geo code of members; a name that both sides answer in the same way for everyone,
once. An answer that some draw gives here counts as the same.

The exit code is 1 if answers differ; TTLs alone do not count.`,
		Example: `  kdns compare 192.0.2.1 -f manifests/ --corefile Corefile
  kdns compare ns-1.example.net shop.k.example.com --from 198.51.100.0/24 --server http://localhost:8090
  dig @192.0.2.1 k.example.com AXFR | kdns compare 192.0.2.1 --names - --corefile Corefile`,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) == 0 {
				return errors.New("name the server")
			}
			return nil
		},
		RunE: func(c *cobra.Command, args []string) error {
			return o.tell(c, func(p *progress) (*outcome, error) {
				found, err := o.compare(c, &f, args, p)
				if found == nil {
					return nil, err
				}
				return &outcome{found, found.Text, len(found.Differences) > 0 || found.Unanswered > 0}, err
			})
		},
	}
	c.Flags().StringVar(&f.namesFile, "names", "",
		"ask for the names in a file, or - for standard input: the first word of each line, as in the output of dig AXFR")
	c.Flags().StringArrayVar(&f.from, "from", nil, "ask on behalf of a client: an address, a network, or a geo code such as FR; repeatable")
	c.Flags().StringSliceVar(&f.types, "types", nil,
		"ask for these types (default: those that each name has here, and A and AAAA for a name that is not here)")
	c.Flags().StringVar(&f.zone, "in", "", "only names of this zone")
	c.Flags().Float64Var(&f.rate, "rate", 50, "most queries per second")
	return c
}

// compare runs the comparison. With an error it returns what was found before it, or nil.
func (o *options) compare(c *cobra.Command, f *comparing, args []string, p *progress) (*inspect.Comparison, error) {
	if !(f.rate > 0) { // also rejects NaN
		return nil, fmt.Errorf("--rate %v must be greater than 0", f.rate)
	}
	if f.namesFile == source.Stdin && o.readsStdin() {
		return nil, errors.New("-f - and --names - both read standard input; use a file for one of them")
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
	if err := run.clientsOf(c, f, p); err != nil {
		return nil, err
	}
	if err := run.namesOf(c, f, args[1:], p); err != nil {
		return nil, err
	}
	found, err := run.do(c.Context(), p)
	return found, cmp.Or(err, lacks)
}

// clientsOf sets the clients: those of the flags, or those of the geo databases, or none.
func (r *compareRun) clientsOf(c *cobra.Command, f *comparing, p *progress) error {
	var view inspect.View // a server locates clients itself
	if r.world != nil {
		view = r.world.view()
	}
	var all []inspect.Place
	for _, text := range f.from {
		place, err := r.clientOf(c.Context(), &view, text)
		if err != nil {
			return err
		}
		all = append(all, place)
	}
	if r.named = len(all) > 0; !r.named && r.world != nil {
		var err error
		if all, err = view.Clients(r.world.space(p), f.zone); err != nil {
			return err
		}
	}
	for i := range all {
		r.clients = append(r.clients, &all[i])
	}
	if len(all) == 0 {
		r.clients = []*inspect.Place{nil}
	}
	return nil
}

// clientOf returns the client that --from means. For a geo code, a server is asked for a network there, as for a
// query.
func (r *compareRun) clientOf(ctx context.Context, view *inspect.View, text string) (inspect.Place, error) {
	if r.world != nil || geo.Check(text) != nil {
		return view.ClientOf(text)
	}
	zones, err := r.reader.Zones(ctx)
	if err != nil || len(zones) == 0 {
		return inspect.Place{}, failed(cmp.Or(err, errors.New("the server has no zones")))
	}
	x, err := r.reader.Explain(ctx, inspect.Question{Name: zones[0].Name, From: text})
	if err != nil {
		return inspect.Place{}, failed(err)
	}
	return inspect.Place{Network: netip.PrefixFrom(x.Client, x.Client.BitLen()), Codes: []string{strings.ToUpper(text)}}, nil
}

// namesOf sets the names: those of the flags, or all names that are served or that objects want.
func (r *compareRun) namesOf(c *cobra.Command, f *comparing, args []string, p *progress) error {
	p.begin("listing names")
	for i, t := range f.types {
		if _, err := inspect.ParseType(t); err != nil {
			return err
		}
		f.types[i] = strings.ToUpper(strings.TrimSpace(t))
	}
	served, err := allNames(c.Context(), r.reader, inspect.Filter{Zone: f.zone})
	if err != nil {
		return failed(err)
	}
	known := make(map[string]*records.NameState, len(served))
	for i := range served {
		known[served[i].Name] = &served[i]
	}
	listed, err := r.listed(c, f, args, p)
	if err != nil {
		return err
	}
	names := listed
	if names == nil {
		for i := range served {
			if n := &served[i]; len(n.Types) > 0 || n.Owner != nil { // else it is the placeholder name server
				names = append(names, n.Name)
			}
		}
		unserved, err := allNames(c.Context(), r.reader, inspect.Filter{Zone: f.zone, State: inspect.StateUnserved})
		if err != nil {
			return failed(err)
		}
		for i := range unserved {
			names = append(names, unserved[i].Name)
		}
	}
	var none []string // names without a type to ask for
	for _, name := range names {
		if of := compareNameOf(name, known[name], f.types); len(of.types) > 0 {
			r.names = append(r.names, of)
		} else {
			none = append(none, dns.Fqdn(name))
		}
	}
	switch {
	case len(names) == 0:
		return failed(errors.New("no names to compare: none is served here, or none of the names is in --in ZONE"))
	case len(r.names) == 0:
		return failed(fmt.Errorf("nothing to compare: %s has only NS and SOA records of its own here; name other types "+
			"with --types", strings.Join(none, ", ")))
	case listed != nil && len(none) > 0:
		p.warn("skipping %s: it has only NS and SOA records of its own here (--types asks for more)", strings.Join(none, ", "))
	}
	return nil
}

// listed returns the names from arguments and --names, served or not; nil if neither is set. Lines of a file that are
// not names are skipped with a warning.
func (r *compareRun) listed(c *cobra.Command, f *comparing, args []string, p *progress) ([]string, error) {
	texts := args
	if f.namesFile != "" {
		words, err := firstWords(f.namesFile, c.InOrStdin())
		if err != nil {
			return nil, err
		}
		texts = slices.Concat(args, words)
	}
	if len(texts) == 0 {
		return nil, nil
	}
	zones, err := r.reader.Zones(c.Context())
	if err != nil {
		return nil, failed(err)
	}
	names, seen := []string{}, make(map[string]bool)
	var outside []string
	for i, text := range texts {
		name, err := inspect.ParseName(text)
		if err != nil && i < len(args) {
			return nil, err
		}
		if err != nil {
			p.warn("--names %s: skipping a name: %v", f.namesFile, err)
			continue
		}
		name = strings.TrimSuffix(name, ".") // "" is the root, as in lists
		if seen[name] || f.zone != "" && !dns.IsSubDomain(dns.Fqdn(f.zone), dns.Fqdn(name)) {
			continue
		}
		seen[name], names = true, append(names, name)
		if !slices.ContainsFunc(zones, func(z inspect.Zone) bool { return dns.IsSubDomain(dns.Fqdn(z.Name), dns.Fqdn(name)) }) {
			outside = append(outside, dns.Fqdn(name))
		}
	}
	switch n := len(outside); n { // if the other server refuses them too, they compare as equal
	case 0:
	case 1:
		p.warn("%s is in no zone served here; the answer is REFUSED", outside[0])
	default:
		p.warn("%d names, such as %s, are in no zone served here; the answers are REFUSED", n, outside[0])
	}
	return names, nil
}

// compareNameOf returns what to ask for at a name. n is the name's state here, or nil; types are those of the flags.
func compareNameOf(name string, n *records.NameState, types []string) compareName {
	of := compareName{name: name, types: types, chosen: n != nil && n.Members > 0}
	if len(types) > 0 {
		return of
	}
	if n != nil {
		for _, t := range n.Types {
			switch {
			case t == "SOA", t == "NS" && n.Name == n.Zone: // they differ by server
			case t == "CNAME" && n.Owner != nil && n.Answer != "": // a step towards addresses of either family
			default:
				of.types = append(of.types, t)
			}
		}
	}
	if len(of.types) == 0 && (n == nil || n.Owner != nil) {
		of.types = []string{"A", "AAAA"}
	}
	return of
}

// longestLine is the maximum length of a line in a --names file, in octets: 64 KiB of RDATA, with up to four
// characters per octet.
const longestLine = 1 << 19

// firstWords returns the distinct first words of the lines of the --names file, without comments (;, #) and without
// the TXT values in which operators record who owns a name.
func firstWords(path string, in io.Reader) (all []string, err error) {
	if path != source.Stdin {
		file, err := os.Open(path)
		if err != nil {
			return nil, failed(fmt.Errorf("--names: %w", err))
		}
		defer func() { _ = file.Close() }()
		in = file
	}
	seen := make(map[string]bool)
	lines := bufio.NewScanner(in)
	lines.Buffer(nil, longestLine)
	for lines.Scan() {
		words := strings.Fields(lines.Text())
		if len(words) == 0 || strings.ContainsAny(words[0][:1], ";#") || seen[words[0]] || strings.Contains(lines.Text(), api.RegistryText) {
			continue
		}
		seen[words[0]] = true
		all = append(all, words[0])
	}
	switch err := lines.Err(); {
	case errors.Is(err, bufio.ErrTooLong):
		return nil, failed(fmt.Errorf("--names %s: a line is longer than %d KiB; write one name on each line", path, longestLine>>10))
	case err != nil:
		return nil, failed(fmt.Errorf("--names: read %s: %w", path, err))
	case len(all) == 0:
		return nil, failed(fmt.Errorf("--names %s: no names in it", path))
	}
	return all, nil
}
