package endpoint

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/coredns-kuadrant/kuadrant/api"
	"github.com/coredns-kuadrant/kuadrant/records/rdata"
)

// Provision are a policy's DNS providers (docs/providers.md), which limit where it publishes; nil is no limit.
type Provision struct {
	// secrets are sorted by name.
	secrets []*api.Secret
	// ignored is how many more Secrets its selector matches, which do not count.
	ignored int
	// problem is why it can publish none of its hosts; nil if it may publish some.
	problem *Problem
	// waits is true if that is because Secrets are not loaded yet (rule 7.4).
	waits bool
	// several is true if that is because there is more than one default.
	several bool
	// filtered is true if the policy names its Secret, whose filter then counts.
	filtered bool
	// zones are the zones served here.
	zones *Zones
	opt   *Options
	// last is the last choice.
	last *via
	// told are the Secrets whose zone is noted as not served; nil for none.
	told map[string]bool
	// in and policy are its cluster and its policy; registry has the lines of the policy's hosts.
	in       *api.Cluster
	policy   *api.DNSPolicy
	registry *api.Objects
}

// maxProviders bounds the Secrets that count for one policy: the first ones by name.
const maxProviders = 100

// ProvidersOf returns the DNS providers of a cluster's policy for a Gateway; nil for no limit.
func ProvidersOf(zones *Zones, opt *Options, registry *api.Objects, in *api.Cluster, p *api.DNSPolicy, gateway *api.Gateway) *Provision {
	pr := Provision{zones: zones, opt: opt, in: in, policy: p, registry: registry}
	ref, listing := p.Provider, in.Listings[api.KindSecret]
	switch {
	case listing == api.NotWatched:
		return nil // the Corefile turns off Secrets
	case ref.Namespace != "" && ref.Namespace != p.Namespace():
		pr.problem = Problemf(reasonProvider, "The dns provider could not be loaded: Secret %s is not in the policy's namespace", ref.Namespace+"/"+ref.Name)
	case ref.Name != "":
		pr.filtered = true
		if s, ok := in.Secrets.Get(p.Namespace() + "/" + ref.Name); ok {
			pr.secrets = []*api.Secret{s}
		}
	default:
		pr.secrets, pr.ignored = selectedSecrets(in, p)
		if pr.several = ref.Selector == nil && len(pr.secrets) > 1; pr.several {
			pr.problem = Problemf(reasonProvider, "Multiple default providers secrets found. Only one expected: %s", pr.names())
		}
	}
	if pr.problem == nil && len(pr.secrets) == 0 {
		former := ""
		if ref.Name == "" && ref.Selector == nil {
			if former = pr.formerDefault(gateway); former == "" {
				return nil // no default provider: no limit
			}
		}
		pr.waits = listing == api.NotListed && !in.Knows(api.KindSecret, p.Namespace())
		pr.problem = pr.missing(&ref, former)
	}
	return new(pr)
}

// formerSecret returns the Secret that the registry names for a host of the policy's namespace, if as far as is known it does not exist, or
// it is one of several defaults; "" for none. Only an existing Secret takes a host away.
func (pr *Provision) formerSecret(host string) string {
	line, ok := pr.registry.Line(host) // not an incumbent: children are made on demand, when it is another one
	ref := pr.policy.Provider.Name
	switch {
	case !ok || line.Secret == "" || ref != "" && ref != line.Secret:
		return ""
	case !pr.registry.MetaOf(line).SameNamespace(&pr.policy.Meta):
		return ""
	}
	if _, exists := pr.in.Secrets.Get(pr.policy.Namespace() + "/" + line.Secret); exists && !pr.several {
		return ""
	}
	return line.Secret
}

// formerDefault returns the former default Secret of the policy's namespace: one that the registry names for a host of the Gateway, and
// that does not exist or is not known yet. It is "" for none, or if Secrets are turned off.
func (pr *Provision) formerDefault(gateway *api.Gateway) string {
	if pr.in.Listings[api.KindSecret] == api.NotCounted && !pr.in.Knows(api.KindSecret, pr.policy.Namespace()) {
		return ""
	}
	for _, l := range gateway.Listeners[:min(len(gateway.Listeners), maxParts)] {
		if host, err := rdata.Host(l.Hostname); err == nil {
			if secret := pr.formerSecret(host); secret != "" {
				return secret
			}
		}
	}
	return ""
}

// missing returns the problem that no Secret matches a reference, or that this is not known yet. former is formerDefault.
func (pr *Provision) missing(ref *api.Provider, former string) *Problem {
	switch {
	case pr.waits:
		return Problemf(reasonProvider, "The dns provider could not be loaded: Secrets are not read yet, or cannot be: grant the verbs get, list and watch on secrets, or set `secrets off`")
	case ref.Name != "":
		return Problemf(reasonSecretMissing, "The dns provider could not be loaded: secrets %q not found", ref.Name)
	case ref.Selector == nil:
		return Problemf(reasonSecretMissing, "The dns provider could not be loaded: secrets %q not found; hosts of the policy were published through it: create it, or another default", former)
	default:
		return Problemf(reasonSecretMissing, "The dns provider could not be loaded: no Secret of namespace %s has the labels of spec.providerSelector, %s", pr.policy.Namespace(), ref.Selector)
	}
}

// selectedSecrets returns the Secrets of a policy's namespace that its selector matches or, without
// a reference, the default ones; and how many there are beyond the bound.
func selectedSecrets(in *api.Cluster, p *api.DNSPolicy) (all []*api.Secret, more int) {
	for _, s := range in.Secrets.Beginning(p.Namespace() + "/") {
		switch {
		case !p.Provider.Selects(s):
		case len(all) == maxProviders:
			more++
		default:
			all = append(all, s)
		}
	}
	return all, more
}

// SeveralDefaults reports whether a namespace has several default Secrets: none is the default of a policy, except for its hosts that the
// registry has one for.
func SeveralDefaults(in *api.Cluster, namespace string) bool {
	all, _ := selectedSecrets(in, &api.DNSPolicy{Meta: api.Meta{Name: namespace + "/"}})
	return len(all) > 1
}

// chosen is a Secret with the longest matching domain for a host.
type chosen struct {
	Secret *api.Secret
	Zone   string
	length int // of the matching domain
}

// Choose returns the Secrets that publish a host, several if they share the longest matching domain, or what keeps the host from being
// published. beside are Secrets of that domain whose zone is not served here: they do not count beside others (rule 8.1).
func (pr *Provision) Choose(host string) (best, beside []chosen, p *Problem) {
	if pr.problem != nil {
		return nil, nil, pr.problem
	}
	all := pr.longest(rdata.Base(host))
	best = all[:0]
	for _, c := range all {
		if _, served := pr.zones.Index[c.Zone]; served {
			best = append(best, c)
		} else {
			beside = append(beside, c)
		}
	}
	switch {
	case len(best) > 0:
		return best, beside, nil
	case len(beside) > 0:
		return nil, nil, Problemf(reasonZoneNotServed, "the zone of Secret %s for the host is not served here; served zones: %s", beside[len(beside)-1].Secret.BareName(), pr.opt.ZoneNames())
	case len(pr.secrets) == 1 && pr.secrets[0].Provider.Invalid != "":
		return nil, nil, Problemf(reasonProvider, "Secret %s is not a DNS provider: %s", pr.secrets[0].BareName(), pr.secrets[0].Provider.Invalid)
	}
	return nil, nil, Problemf(reasonNoProvider, "Unable to find suitable zone in provider: %s: none has a domain for the host", pr.names())
}

// names lists the Secrets.
func (pr *Provision) names() string {
	names := make([]string, len(pr.secrets))
	for i, s := range pr.secrets {
		names[i] = s.BareName()
	}
	return strings.Join(names, ", ")
}

// narrowed returns what keeps a DNSRecord from being served because of its own Secret (docs/providers.md); nil for nothing. A missing
// Secret takes nothing away.
func narrowed(in *api.Cluster, rec *api.DNSRecord, root string) *Problem {
	s, ok := in.Secrets.Get(rec.Namespace() + "/" + rec.Provider.Name)
	if !ok || !rec.Provider.ServedHere() {
		return nil
	}
	own := Provision{filtered: true}
	if _, length := own.match(&s.Provider, rdata.Base(root)); length > 0 {
		return nil
	}
	return Problemf(reasonNoProvider, "Unable to find suitable zone in provider: %s",
		cmp.Or(s.Provider.Invalid, "Secret "+s.BareName()+" has no zone for spec.rootHost "+TrimDot(root)))
}

// longest returns the Secrets with the longest matching domain for a name, whether or not their
// zones are served.
func (pr *Provision) longest(name string) (best []chosen) {
	for _, s := range pr.secrets {
		zone, length := pr.match(&s.Provider, name)
		switch {
		case length == 0 || len(best) > 0 && length < best[0].length:
			continue
		case len(best) > 0 && length > best[0].length:
			best = best[:0]
		}
		best = append(best, chosen{s, zone, length})
	}
	return best
}

// match returns the zone that a Secret has for a name, and the length of the matching domain; 0 for
// none.
func (pr *Provision) match(s *api.ProviderSecret, name string) (zone string, length int) {
	if s.Invalid != "" {
		return "", 0
	}
	for _, z := range s.Zones {
		if pr.filtered && s.Filter != nil && !slices.Contains(s.Filter, z) || !rdata.IsSubdomain(z, name) {
			continue
		}
		switch {
		case s.Domain == "":
			if len(z) > length {
				zone, length = z, len(z)
			}
		case rdata.IsSubdomain(s.Domain, name):
			return z, len(s.Domain)
		}
	}
	return zone, length
}

// via are the Secrets that publish a host, by name without namespace. One policy's contenders with
// the same Secrets share it.
type via struct {
	// joined are the Secrets' names, separated by commas: most policies have one, and there are as
	// many of these as policies.
	joined string
	// former is true for a Secret that is missing, or one of several defaults: the registry names it for the host.
	former bool
}

// Secrets returns the names of the Secrets, sorted.
func (v *via) Secrets() []string { return strings.Split(v.joined, ",") }

// provide decides which Secrets publish a policy's host, nil for none. If the host cannot be
// published, it notes why, and ok is false.
func (t *Target) provide(pr *Provision, p *api.DNSPolicy, host, listener string) (through *via, ok bool) {
	if pr == nil {
		return nil, true
	}
	best, beside, refusal := pr.Choose(host)
	if refusal != nil {
		if secret := pr.formerSecret(host); secret != "" && !pr.waits {
			why := refusal
			if !pr.several {
				why = Problemf(reasonSecretMissing, "The dns provider could not be loaded: secrets %q not found", secret)
			}
			t.Notes = append(t.Notes, Note{Policy: p, Host: TrimDot(host), Condition: api.Condition{
				Type: conditionProvider, Status: api.ConditionFalse, Reason: why.Reason, Message: why.Message + ": the host is served as before",
			}})
			return &via{joined: secret, former: true}, true
		}
		t.Note(p, TrimDot(host), t.Record(listener), refusal.Reason, refusal.Message)
		return nil, false
	}
	t.noteBeside(pr, p, host, beside)
	joined := best[0].Secret.BareName()
	for _, c := range best[1:] {
		joined += "," + c.Secret.BareName()
	}
	if pr.last == nil || pr.last.joined != joined {
		pr.last = &via{joined: joined}
	}
	return pr.last, true
}

// WithProviders returns a policy's verdict with the conditions of its hosts' providers. It is made on demand: most policies have none.
func (t *Target) WithProviders(v *api.Verdict, p *api.DNSPolicy) *api.Verdict {
	more := *v
	more.Records = slices.Clone(v.Records)
	for _, c := range t.Contenders {
		if c.Policy != p || c.Via == nil || c.Via.former { // these have notes
			continue
		}
		host := TrimDot(c.Host)
		i, found := slices.BinarySearchFunc(more.Records, host, func(r api.RecordVerdict, host string) int { return strings.Compare(r.Host, host) })
		if !found {
			more.Records = slices.Insert(more.Records, i, api.RecordVerdict{Host: host})
		}
		var conditions []api.Condition
		for _, name := range c.Via.Secrets() {
			conditions = append(conditions, api.Condition{
				Type: conditionProvider, Status: api.ConditionTrue, Reason: conditionProvider,
				Message: "Access to the dns provider (" + name + ") is active and available.",
			})
		}
		more.Records[i].Conditions = append(conditions, more.Records[i].Conditions...)
	}
	return &more
}

// noteProviders notes which of a policy's Secrets cannot be used.
func (t *Target) noteProviders(pr *Provision, p *api.DNSPolicy) {
	if pr == nil {
		return
	}
	if pr.ignored > 0 {
		t.Note(p, "", "", reasonProvider, fmt.Sprintf("the selector matches too many Secrets: the first %d by name are used, %d are not", maxProviders, pr.ignored))
	}
	for _, s := range pr.secrets {
		if s.Provider.Invalid == "" {
			continue
		}
		t.noteSecret(p, s, reasonProvider, s.Provider.Invalid)
	}
}

// noteBeside notes, once for each Secret, that it does not publish a host because its zone is not
// served, while others do.
func (t *Target) noteBeside(pr *Provision, p *api.DNSPolicy, host string, beside []chosen) {
	for _, c := range beside {
		name := c.Secret.BareName()
		if pr.told[name] {
			continue
		}
		if pr.told == nil {
			pr.told = make(map[string]bool)
		}
		pr.told[name] = true
		t.noteSecret(p, c.Secret, reasonZoneNotServed, fmt.Sprintf("its zone for %s is not served here; served zones: %s", TrimDot(host), pr.opt.ZoneNames()))
	}
}

// noteSecret notes a problem with one of a policy's Secrets; others may still count.
func (t *Target) noteSecret(p *api.DNSPolicy, s *api.Secret, reason, message string) {
	t.Notes = append(t.Notes, Note{Policy: p, Host: "secret/" + s.BareName(), Condition: api.Condition{
		Type: conditionProvider, Status: api.ConditionFalse, Reason: reason, Message: api.Cut(message, MaxMessage),
	}})
}
