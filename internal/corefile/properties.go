package corefile

import (
	"cmp"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/coredns/coredns/core/dnsserver"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/coredns-kuadrant/kuadrant/api"
	"github.com/coredns-kuadrant/kuadrant/internal/engine"
)

// properties maps each property of the block to its reader.
var properties = map[string]func(*parser, []string) error{
	"kubeconfig":      (*parser).kubeconfig,
	"cluster":         (*parser).cluster,
	"manifests":       (*parser).manifests,
	"group":           (*parser).group,
	"resolver":        (*parser).resolver,
	"namespaces":      (*parser).namespaces,
	"policies":        (*parser).policies,
	"kinds":           (*parser).kinds,
	"secrets":         (*parser).secrets,
	"publish":         (*parser).publish,
	"zone-namespaces": (*parser).zoneNamespaces,
	"geoip":           (*parser).geoip,
	"nets":            (*parser).nets,
	"override":        (*parser).override,
	"guard":           (*parser).guard,
	"state":           (*parser).state,
	"console":         (*parser).console,
	"probes":          (*parser).probes,
	"probe-deny":      (*parser).probeDeny,
	"probe-allow":     (*parser).probeAllow,
	"fast-udp":        (*parser).fastUDP,
	"write-back":      (*parser).writeBack,
	"write-rate":      (*parser).writeRate,
	"lease":           (*parser).lease,
	"answer":          (*parser).answer,
	"ttl":             (*parser).ttl,
	"nameserver":      (*parser).nameserver,
	"rname":           (*parser).rname,
	"owner-txt":       (*parser).ownerTXT,
	"fallthrough":     (*parser).fallThrough,
}

// Properties returns the names of all properties, and for each whether a block may repeat it.
func Properties() map[string]bool {
	all := make(map[string]bool, len(properties))
	for name := range properties {
		all[name] = repeatable[name]
	}
	return all
}

func (p *parser) kubeconfig(args []string) error {
	if err := count(args, 1, 2, "FILE [CONTEXT]"); err != nil {
		return err
	}
	if len(p.dirs)+len(p.cfg.Manifests) > 0 {
		return errExclude
	}
	k := engine.Kubeconfig{File: p.path(args[0])}
	if len(args) == 2 {
		k.Context = args[1]
	}
	return share(&p.cfg.Kubeconfig, k)
}

func (p *parser) manifests(args []string) error {
	if err := count(args, 1, 2, "DIR [CLUSTER]"); err != nil {
		return err
	}
	if p.cfg.Kubeconfig != (engine.Kubeconfig{}) || len(p.clusters)+len(p.cfg.Clusters) > 0 {
		return errExclude
	}
	m, err := newManifests(p.path(args[0]), args[1:])
	if err != nil {
		return err
	}
	p.manifestsAt = p.at
	if p.c.NextArg() { // the opening brace of its block
		if err := p.lines("directory", map[string]func([]string) error{"group": groupOf(&m.Group)}); err != nil {
			return err
		}
		p.at = p.manifestsAt
	}
	if slices.ContainsFunc(p.dirs, func(o engine.Manifests) bool { return o.Cluster == m.Cluster }) {
		return fmt.Errorf("two directories for cluster %q; write another cluster name after one of them", m.Cluster)
	}
	i := len(p.dirs)
	if all := p.cfg.Manifests; all != nil && (i >= len(all) || all[i] != m) {
		return errDiffers
	}
	p.dirs = append(p.dirs, m)
	return nil
}

func (p *parser) group(args []string) error {
	var group string
	return cmp.Or(groupOf(&group)(args), share(&p.cfg.Group, group))
}

// resolver reads who resolves the names of active groups outside of the zones served here.
func (p *parser) resolver(args []string) error {
	if err := count(args, 1, -1, "ADDRESS..."); err != nil {
		return err
	}
	var servers []string
	for _, a := range args {
		at, err := netip.ParseAddrPort(a)
		if addr, plain := netip.ParseAddr(a); plain == nil {
			at, err = netip.AddrPortFrom(addr, 53), nil
		}
		if err != nil {
			return wanted([]string{a}, "an address such as 192.0.2.53, or with a port 192.0.2.53:5353 or [2001:db8::53]:5353")
		}
		servers = append(servers, at.String())
	}
	return shareOrdered(&p.cfg.Resolvers, servers)
}

// groupOf returns a function that reads the group of a cluster (rule 9.5).
func groupOf(to *string) func([]string) error {
	return func(args []string) error {
		if err := count(args, 1, 1, "GROUP"); err != nil {
			return err
		}
		*to = args[0]
		return api.CheckGroup(args[0])
	}
}

func (p *parser) namespaces(args []string) error {
	if err := count(args, 1, -1, "NAMESPACE..."); err != nil {
		return err
	}
	if err := checkNamespaces(args); err != nil {
		return err
	}
	return shareList(&p.cfg.Selection.Namespaces, args)
}

func (p *parser) policies(args []string) error {
	if err := count(args, 1, -1, "SELECTOR"); err != nil {
		return err
	}
	text := strings.Join(args, " ")
	selector, err := labels.Parse(text)
	if err != nil {
		return fmt.Errorf("%q is not a label selector: %w", text, err)
	}
	if selector.Empty() {
		return errEmptySelector
	}
	if set := p.cfg.Selection.Policies; set != nil && set.String() != selector.String() {
		return errDiffers
	}
	p.cfg.Selection.Policies = selector
	return nil
}

func (p *parser) kinds(args []string) error {
	if err := count(args, 1, -1, "KIND..."); err != nil {
		return err
	}
	var kinds []api.Kind
	var known []string
	for k := range api.NumKinds {
		known = append(known, k.String())
	}
	for _, a := range args {
		k, ok := api.ParseKind(a)
		if !ok {
			return fmt.Errorf("unknown kind %q; want one of %s", a, strings.Join(known, ", "))
		}
		kinds = append(kinds, k)
	}
	return shareList(&p.cfg.Selection.Kinds, kinds)
}

func (p *parser) secrets(args []string) error {
	if len(args) != 1 || args[0] != "off" {
		return wanted(args, "off")
	}
	return share(&p.cfg.Selection.NoSecrets, true)
}

func (p *parser) geoip(args []string) error {
	if err := count(args, 1, -1, "FILE..."); err != nil {
		return err
	}
	files := make([]string, len(args))
	for i, a := range args {
		files[i] = p.path(a)
	}
	return shareOrdered(&p.cfg.GeoIP, files)
}

func (p *parser) nets(args []string) error {
	if err := count(args, 1, 1, "FILE"); err != nil {
		return err
	}
	return share(&p.cfg.Nets, p.path(args[0]))
}

func (p *parser) override(args []string) error {
	if err := count(args, 1, 1, "FILE"); err != nil {
		return err
	}
	return share(&p.cfg.Override, p.path(args[0]))
}

func (p *parser) guard(args []string) error {
	const wants = "a DURATION such as 5m, at most 24h, or 0 to turn the guard off"
	if len(args) != 1 {
		return wanted(args, wants)
	}
	d, err := time.ParseDuration(args[0])
	if err != nil || d < 0 || d > MaxGuard {
		return wanted(args, wants)
	}
	if p.cfg.Guard != nil && *p.cfg.Guard != d {
		return errDiffers
	}
	p.cfg.Guard = &d
	return nil
}

func (p *parser) state(args []string) error {
	if err := count(args, 1, 1, "DIR"); err != nil {
		return err
	}
	return share(&p.cfg.State, p.path(args[0]))
}

func (p *parser) probes(args []string) error {
	if len(args) != 1 || args[0] != "off" {
		return wanted(args, "off")
	}
	p.cfg.Selection.NoHeaders = true // no probe sends any
	return share(&p.cfg.ProbesOff, true)
}

func (p *parser) fastUDP(args []string) error {
	if len(args) != 1 || args[0] != "on" && args[0] != "off" {
		return wanted(args, "on or off")
	}
	return share(&p.cfg.FastUDP, args[0])
}

func (p *parser) probeDeny(args []string) error { return p.prefixes(&p.cfg.ProbeDeny, args) }

func (p *parser) probeAllow(args []string) error { return p.prefixes(&p.cfg.ProbeAllow, args) }

// prefixes reads a list of CIDRs.
func (p *parser) prefixes(setting *[]netip.Prefix, args []string) error {
	if err := count(args, 1, -1, "CIDR..."); err != nil {
		return err
	}
	var list []netip.Prefix
	for _, a := range args {
		prefix, err := netip.ParsePrefix(a)
		if addr, wrong := netip.ParseAddr(a); wrong == nil {
			addr = addr.Unmap().WithZone("")
			prefix, err = netip.PrefixFrom(addr, addr.BitLen()), nil
		}
		if err != nil || prefix.Addr().Is4In6() {
			return wanted([]string{a}, "a CIDR such as 192.0.2.0/24, or an address")
		}
		list = append(list, prefix.Masked())
	}
	slices.SortFunc(list, netip.Prefix.Compare)
	return shareOrdered(setting, slices.Compact(list))
}

// path makes file relative to the root plugin's directory, as CoreDNS's plugins do.
func (p *parser) path(file string) string {
	return rootedPath(dnsserver.GetConfig(p.c).Root, file)
}

// console reads the property console.
func (p *parser) console(args []string) error {
	if err := count(args, 1, -1, "ADDR [TOKENFILE [NAME...]]"); err != nil {
		return err
	}
	var c engine.Console
	if len(args) > 1 {
		c.TokenFile = p.path(args[1])
		for _, name := range args[2:] {
			host, wrong := api.CanonicalName(name)
			if wrong != "" || strings.ContainsAny(name, ":*") {
				return wanted([]string{name}, "a hostname of the console, without a port")
			}
			c.Hosts += " " + strings.TrimSuffix(host, ".")
		}
	}
	if err := checkAddress(args[0], c.TokenFile != ""); err != nil {
		return err
	}
	c.Address = args[0]
	return share(&p.cfg.Console, c)
}

// checkAddress checks the console's address: off loopback, a token is required.
func checkAddress(addr string, token bool) error {
	host, port, err := net.SplitHostPort(addr)
	if err != nil || port == "" {
		return fmt.Errorf("want ADDR as HOST:PORT, such as localhost:8090, found %q", addr)
	}
	ip, err := netip.ParseAddr(host)
	switch {
	case host == "localhost", err == nil && ip.Unmap().IsLoopback():
	case host != "" && err != nil:
		return fmt.Errorf("want an IP address or localhost before the port, found %q", host)
	case !token:
		return errors.New("not a loopback address; add a token file, or the console is open to everyone")
	}
	return nil
}

func (p *parser) writeBack(args []string) error {
	if len(args) != 1 || args[0] != "all" && args[0] != "status" && args[0] != "off" {
		return wanted(args, "all, status or off")
	}
	return share(&p.cfg.Writing.Mode, args[0])
}

func (p *parser) writeRate(args []string) error {
	const form = "QPS BURST, requests per second and at once, each from 1 to 10000"
	if len(args) != 2 {
		return wanted(args, form)
	}
	var rate [2]int
	for i, a := range args {
		n, err := strconv.Atoi(a)
		if err != nil || n < 1 || n > 10000 {
			return wanted(args[i:i+1], form)
		}
		rate[i] = n
	}
	if err := share(&p.cfg.Writing.QPS, rate[0]); err != nil {
		return err
	}
	return share(&p.cfg.Writing.Burst, rate[1])
}

func (p *parser) lease(args []string) error {
	const form = "NAMESPACE[/NAME]"
	if len(args) != 1 {
		return wanted(args, form)
	}
	namespace, name, named := strings.Cut(args[0], "/")
	if len(validation.IsDNS1123Label(namespace)) > 0 || named && len(validation.IsDNS1123Subdomain(name)) > 0 {
		return wanted(args, form)
	}
	if !named {
		name = engine.DefaultLease
	}
	w := &p.cfg.Writing
	both := [2]string{w.Namespace, w.Lease}
	if err := share(&both, [2]string{namespace, name}); err != nil {
		return err
	}
	w.Namespace, w.Lease = both[0], both[1]
	return nil
}
