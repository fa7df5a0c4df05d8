package inspect

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/coredns-kuadrant/kuadrant/records"
)

// why explains a difference. blind is true if a client was named, and the other server's reply names no
// network.
func (p *pair) why(kind DifferenceKind, blind bool) []string {
	why := []string{}
	switch kind {
	case DiffersUnserved:
		if p.elsewhere() {
			return append(why, "the other server leaves "+trim(p.there.cut)+" to other servers; it does not serve the name")
		}
		return append(why, "the other server answers "+p.there.Rcode+"; it does not serve the name, or has a fault")
	case DiffersNotHere, DiffersNotThere, DiffersNoData:
		return append(why, p.whereItEnds(kind)...)
	case DiffersData:
		why = append(why, p.whyAlias()...)
		if of := p.whoseData(); len(why) == 0 && of != "" {
			why = append(why, of)
		}
	case DiffersAddresses:
	}
	if blind && len(choices(p.x)) > 0 {
		why = append(why, "the other server returns no client subnet (ECS); it may have answered for the address that this query came from")
	}
	switch {
	case kind == DiffersAddresses:
		why = append(why, p.whyAddresses()...)
	case kind == DiffersData && isAddress(p.there.Answers[0][0]):
		why = append(why, p.whyThere(p.whoseIsIt)...)
	}
	return why
}

// whereItEnds says what only one side has.
func (p *pair) whereItEnds(kind DifferenceKind) (why []string) {
	last := p.last()
	has := cmp.Or(p.whoseData(), "here it has "+FoundText(last))
	switch {
	case kind == DiffersNotThere:
		return []string{"the other server answers that the name does not exist; " + has}
	case p.here.Rcode == rcodeAbsent && len(p.here.Answers) > 0:
		why = append(why, "here it leads to "+strings.TrimPrefix(p.here.Answers[0][0], "CNAME ")+", which does not exist")
	case p.here.Rcode == rcodeAbsent:
		why = append(why, "no object here has the name, or a wildcard above it")
	case kind == DiffersNotHere:
		why = append(why, "here the answer is "+p.here.Rcode)
	case len(p.here.Answers) == 0:
		why = append(why, "here the name has no data of this type")
	default:
		why = append(why, "the other server has no data of this type for the name; "+has)
	}
	if last.Ends != "" && (p.here.Rcode != rcodeFine || len(p.here.Answers) == 0) {
		why = append(why, "here: "+last.Ends)
	}
	for _, l := range last.Losers {
		why = append(why, fmt.Sprintf("%s wants it: %s", ObjectText(l.Object), l.Why))
	}
	return why
}

// whoseData says which objects our answer comes from; "" for none.
func (p *pair) whoseData() string {
	of := p.last()
	if len(choices(p.x)) > 0 { // the end depends on the draw
		of = &p.x.Steps[0]
	}
	var objects []string
	for _, o := range of.Sources {
		objects = append(objects, ObjectText(o))
	}
	if of.Owner != nil && objects == nil {
		objects = append(objects, ObjectText(*of.Owner))
	}
	if objects == nil {
		return ""
	}
	return "here it belongs to " + strings.Join(objects, " and ")
}

// whyAlias explains that one of the answers ends in an alias.
func (p *pair) whyAlias() (why []string) {
	alias := func(o *Outcome) string {
		for _, a := range o.Answers {
			if len(a) == 1 && strings.HasPrefix(a[0], "CNAME ") {
				return strings.TrimPrefix(a[0], "CNAME ")
			}
		}
		return ""
	}
	here, there := alias(&p.here), alias(&p.there)
	switch {
	case here != "" && there == "":
		text := "here it is an alias of " + here + ", which the client's resolver looks up"
		if slices.ContainsFunc(p.there.Answers[0], func(a string) bool { return isAddress(a) && p.whoseIsIt(a) == "" }) {
			text += "; the other server answers with addresses that it looked up itself"
		}
		why = append(why, text)
	case here == "" && there != "":
		why = append(why, "there it is an alias of "+there+", which the client's resolver looks up")
	}
	if p.here.cut != "" {
		text := "here " + trim(p.here.cut) + " is delegated to other servers"
		if last := p.last(); len(last.Sources) > 0 {
			text += ", by " + ObjectText(last.Sources[0])
		}
		why = append(why, text)
	}
	if p.there.cut != "" {
		why = append(why, "the other server leaves "+trim(p.there.cut)+" to other servers")
	}
	return why
}

// whyAddresses says for each address that only one side has which member it belongs to, and why the answer
// has it or not.
func (p *pair) whyAddresses() (why []string) {
	switch text, all := p.atOnce(); {
	case all:
		return []string{text}
	case text != "":
		why = append(why, text)
	}
	why = append(why, p.whyThere(func(address string) string {
		return cmp.Or(p.whoseIsIt(address), "no object here has it for this name")
	})...)
	for _, set := range p.here.Answers {
		missing := minus(set, p.there.Answers[0])
		if text := p.whyHere(set); len(missing) > 0 && text != "" {
			why = append(why, strings.Join(missing, ", ")+" here: "+text)
		}
	}
	return why
}

// whyThere applies tell to the addresses there that no end here has; "" is left out.
func (p *pair) whyThere(tell func(address string) string) (why []string) {
	here := p.unionHere()
	var texts []string
	addresses := make(map[string][]string)
	for _, address := range p.there.Answers[0] {
		if slices.Contains(here, address) {
			continue
		}
		text := tell(address)
		if text != "" && addresses[text] == nil {
			texts = append(texts, text)
		}
		addresses[text] = append(addresses[text], address)
	}
	for _, text := range texts {
		why = append(why, strings.Join(addresses[text], ", ")+" there: "+text)
	}
	return why
}

// whoseIsIt says which member an address belongs to, and why the answer here lacks it; "" if no object has it.
func (p *pair) whoseIsIt(address string) string {
	for _, c := range choices(p.x) {
		for i := range c.Members {
			if text := p.whyNotOf(c, &c.Members[i], address); text != "" {
				return text
			}
		}
	}
	for i := range p.x.Steps {
		for _, a := range p.x.Steps[i].Addresses {
			if a.Address == address {
				return "here it is " + ClassText(a.Class) + ", and others are better"
			}
		}
	}
	return ""
}

// whyNotOf says why a member's address is not in the answer here; "" if it is not the member's.
func (p *pair) whyNotOf(c choice, of *records.Candidate, address string) string {
	m := p.member(c.step, of.Member)
	if m == nil {
		return ""
	}
	at := slices.IndexFunc(m.Addresses, func(a records.AddressState) bool { return a.Address == address })
	switch {
	case at < 0:
		return ""
	case of.Share > 0:
		return "of " + memberText(of) + ", where it is " + ClassText(m.Addresses[at].Class) + " and others are better"
	}
	return "of " + memberText(of) + ", which is not taken here: " + VerdictText(of, c.Choice)
}

// whyHere says which member a set of our addresses belongs to.
func (p *pair) whyHere(set []string) string {
	for _, c := range choices(p.x) {
		for i := range c.Members {
			if m := &c.Members[i]; m.Share > 0 && slices.Equal(p.best(p.member(c.step, m.Member)), set) {
				return fmt.Sprintf("of %s, which gets %s of these clients: %s", memberText(m), ShareText(m.Share), MatchText(m.Match))
			}
		}
	}
	switch last := p.last(); {
	case last.Owner != nil:
		return "of " + ObjectText(*last.Owner)
	case len(last.Sources) > 0:
		return "of " + ObjectText(last.Sources[0])
	}
	return ""
}

// last returns the last step of the search.
func (p *pair) last() *records.Step {
	if n := len(p.x.Steps); n > 0 {
		return &p.x.Steps[n-1]
	}
	return new(records.Step)
}

// memberText names a member in familiar terms.
func memberText(c *records.Candidate) string {
	text := c.Member + " ("
	if c.Geo != "*" {
		text += c.Geo + ", "
	}
	return text + ObjectText(c.Owner) + ")"
}

// unionHere returns the data of all our ends, sorted.
func (p *pair) unionHere() []string {
	all := slices.Concat(p.here.Answers...)
	slices.Sort(all)
	return slices.Compact(all)
}

// within reports whether part is a subset of set.
func within(part, set []string) bool { return len(minus(part, set)) == 0 }

// atOnce says that the other server answers at once with addresses of several draws here, if so; all is true if they
// are those of all draws. Else the text is "".
func (p *pair) atOnce() (text string, all bool) {
	there, here := p.there.Answers[0], p.unionHere()
	switch {
	case !within(there, here) || slices.ContainsFunc(p.here.Answers, func(set []string) bool { return within(there, set) }):
		return "", false
	case len(there) == len(here):
		return "the addresses are the same: all at once there, those of one member per draw here", true
	}
	return "there, the addresses of several members come at once; here, those of one member per draw", false
}
