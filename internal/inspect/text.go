package inspect

import (
	"cmp"
	"fmt"
	"maps"
	"net/netip"
	"slices"
	"strconv"
	"strings"
	"text/tabwriter"

	"github.com/coredns-kuadrant/kuadrant/api"
	"github.com/coredns-kuadrant/kuadrant/records"
	"github.com/coredns-kuadrant/kuadrant/records/pool"
)

// ObjectText names an object, with its cluster.
func ObjectText(o records.Object) string {
	switch {
	case o.Name == "":
		return "the " + o.Kind
	case o.Cluster == "":
		return o.Kind + " " + o.Name
	}
	return o.Kind + " " + o.Name + " in cluster " + o.Cluster
}

// CheckText describes a check's result.
func CheckText(c *records.CheckState) string {
	var b strings.Builder
	switch {
	case c.Target == "":
		b.WriteString("the status of its probe: " + c.State)
	case c.Pending:
		b.WriteString(c.Target + ": not checked")
	default:
		b.WriteString(c.Target + ": " + c.State)
	}
	if c.Failures > 0 {
		fmt.Fprintf(&b, ", %s in a row", counted(c.Failures, "failure"))
	}
	if c.State == "down" && c.Successes > 0 {
		fmt.Fprintf(&b, ", %s in a row", counted(c.Successes, "success"))
	}
	if c.Reason != "" {
		b.WriteString(", " + c.Reason)
	}
	if c.Status != 0 {
		b.WriteString(", status " + strconv.Itoa(c.Status))
	}
	return b.String()
}

func counted(n int, word string) string { return strconv.Itoa(n) + " " + Plural(n, word) }

// Plural returns a count's word in the right number.
func Plural(n int, word string) string {
	switch last := len(word) - 1; {
	case n == 1:
		return word
	case strings.HasSuffix(word, "ry"):
		return word[:last] + "ies"
	case strings.HasSuffix(word, "s"):
		return word + "es"
	}
	return word + "s"
}

// ExplanationText returns an explanation as terminal output.
func ExplanationText(x *records.Explanation) string {
	t := newTextWriter()
	t.line("%s %s, %s", x.Name, x.Type, ClientText(x))
	for i := range x.Steps {
		t.step(&x.Steps[i])
	}
	t.line("")
	t.answer(x)
	return t.String()
}

// textWriter writes lines whose tab-separated parts are aligned in columns.
type textWriter struct {
	text strings.Builder
	w    *tabwriter.Writer
}

func newTextWriter() *textWriter {
	t := new(textWriter)
	t.w = tabwriter.NewWriter(&t.text, 0, 8, 2, ' ', 0)
	return t
}

func (t *textWriter) line(format string, args ...any) { _, _ = fmt.Fprintf(t.w, format+"\n", args...) }

// String returns the text so far; later lines have columns of their own.
func (t *textWriter) String() string {
	_ = t.w.Flush()
	return t.text.String()
}

// ClientText describes the client.
func ClientText(x *records.Explanation) string {
	switch {
	case !x.Client.IsValid() && x.Location != nil:
		return "for a client in " + strings.Join(x.Location.Codes, ", ")
	case !x.Client.IsValid():
		return "for an unknown client"
	case x.Location == nil && x.ByClient:
		return "for " + x.Client.String() + ", location unknown: no geo database and no nets file"
	case x.Location == nil:
		return "for " + x.Client.String() + ": the answer does not depend on the client"
	case len(x.Location.Codes) == 0:
		return "for " + x.Client.String() + ", location unknown"
	}
	return fmt.Sprintf("for %s, in %s (%s)", x.Client, strings.Join(x.Location.Codes, ", "), x.Location.Network)
}

// step writes the result for one name.
func (t *textWriter) step(s *records.Step) {
	t.line("")
	again := ""
	if s.Again {
		again = ", once more"
	}
	t.line("%s%s (zone %s)", s.Name, again, s.Zone)
	t.line("  found\t%s", FoundText(s))
	if s.Owner != nil {
		t.line("  owner\t%s%s", ObjectText(*s.Owner), layoutText(s))
	}
	for _, o := range s.Sources {
		t.line("  data of\t%s", ObjectText(o))
	}
	for _, l := range s.Losers {
		t.line("  not of\t%s: %s", ObjectText(l.Object), l.Why)
	}
	for _, l := range s.Inactive {
		t.line("  inactive\t%s: %s", ObjectText(l.Object), l.Why)
	}
	for i := range s.Choices {
		t.choice(&s.Choices[i])
	}
	for i := range s.Addresses {
		t.address(&s.Addresses[i])
	}
	if s.Uncovers != "" {
		t.line("  uncovers\t%s", s.Uncovers)
	}
	if s.Ends != "" {
		t.line("  ends\t%s", s.Ends)
	}
}

// FoundText says what answers for a step's name.
func FoundText(s *records.Step) string {
	switch s.Found {
	case records.FoundName:
		return "the name itself"
	case records.FoundWildcard:
		return "the wildcard " + s.At
	case records.FoundDelegation:
		return "the NS records of " + s.At + ", which delegate it to other servers"
	case records.FoundDNAME:
		return "the DNAME of " + s.At
	case records.FoundNothing:
		return "nothing: the name does not exist"
	}
	return string(s.Found)
}

func layoutText(s *records.Step) string {
	text := ""
	if s.Answer != "" {
		text = ", answered as " + s.Answer
	}
	return strings.Join(append([]string{text}, attributeTexts(s.Attributes)...), ", ")
}

// attributeTexts returns what is said of a host beside geography and weight.
func attributeTexts(all map[string]string) (texts []string) {
	for _, word := range slices.Sorted(maps.Keys(all)) {
		texts = append(texts, word+" "+all[word])
	}
	return texts
}

// choice writes one draw, as a table.
func (t *textWriter) choice(c *records.Choice) {
	head := "members"
	if c.Group != "" {
		head += " for " + c.Group
	}
	_ = t.w.Flush() // the table has columns of its own
	t.line("  %s\tGEO\tWEIGHT\tSTATE\tSHARE\tOF\tWHY", head)
	for i := range c.Members {
		m := &c.Members[i]
		mark := "  "
		if m.Verdict == pool.VerdictTaken {
			mark = "> "
		}
		t.line("  %s%s\t%s\t%d\t%s\t%s\t%s\t%s", mark, m.Member, m.Geo, m.Weight, ClassText(cmp.Or(m.Class, "-")), ShareText(m.Share),
			memberOf(m), VerdictText(m, c))
	}
	_ = t.w.Flush()
}

// memberOf says where a member comes from: its cluster, object and Gateway.
func memberOf(m *records.Candidate) string {
	of := m.Owner.Name
	if m.Owner.Kind != "DNSPolicy" {
		of = m.Owner.Kind + " " + of
	}
	if m.Gateway != "" && m.Gateway != m.Owner.Name {
		of += ", Gateway " + m.Gateway
	}
	if m.Owner.Cluster != "" {
		of = m.Owner.Cluster + ": " + of
	}
	return of
}

// ShareText returns a share in percent.
func ShareText(share float64) string {
	if share == 0 {
		return "-"
	}
	return percent(share)
}

// address writes the state of one address.
func (t *textWriter) address(a *records.AddressState) {
	use := ""
	switch {
	case !a.Answered:
		use = ", not answered"
	case failsOpen(a.Class):
		use = ", failing open"
	}
	word := OverridesText(a)
	if word != "" {
		word = " (" + word + ")"
	}
	if len(a.Objects) > 0 {
		use += ", of " + ObjectsText(a.Objects)
	}
	if a.Annotation != "" {
		use += ", from annotation " + a.Annotation
	}
	t.line("  address\t%s: %s%s%s", a.Address, ClassText(a.Class), word, use)
	for i := range a.Checks {
		t.line("  \t  %s", CheckText(&a.Checks[i]))
	}
}

// OverrideText explains an override of an address.
func OverrideText(word string) string {
	if word == records.NotProgrammed {
		return "its Gateway is not programmed"
	}
	return "the operator says " + word
}

// OverridesText lists what was said of an address before any check, the effective word first.
func OverridesText(a *records.AddressState) string {
	if a.Override == "" {
		return ""
	}
	text := OverrideText(a.Override)
	for _, word := range a.Beside {
		if text += "; "; word == records.NotProgrammed {
			text += OverrideText(word)
		} else {
			text += "of its Gateway " + OverrideText(word)
		}
	}
	return text
}

// SourcesText names the objects that provide a name's data; "" for none.
func SourcesText(n *records.NameState) string {
	const most = 3
	var all []string
	for i, o := range n.Sources {
		if i == most {
			return strings.Join(all, ", ") + fmt.Sprintf(" and %d more", len(n.Sources)-most+n.MoreSources)
		}
		all = append(all, ObjectText(o))
	}
	return strings.Join(all, ", ")
}

// answer writes the answer.
func (t *textWriter) answer(x *records.Explanation) {
	kind := x.Rcode
	if x.Referral {
		kind += ", a referral"
	}
	t.line("answer: %s, %s", kind, WhoseText(x))
	_ = t.w.Flush() // the records have columns of their own
	for _, section := range [][]string{x.Answer, x.Authority, x.Additional} {
		for _, rr := range section {
			t.line("  %s", rr)
		}
	}
}

// WhoseText says which clients an answer is for.
func WhoseText(x *records.Explanation) string {
	switch {
	case x.Scope > 0:
		return "ECS scope /" + strconv.Itoa(x.Scope)
	case x.ByClient && x.Location != nil && !x.Client.IsValid():
		return "for clients there; others may get another answer"
	case x.ByClient:
		return "for unknown clients; others may get another answer"
	}
	return "the same for every client"
}

// HealthText sums up the health of a name's addresses.
func HealthText(n *records.NameState) string {
	c := n.Addresses
	if c.Of() == 0 {
		return "-"
	}
	var parts []string
	if c.Unchecked < c.Of() {
		parts = append(parts, fmt.Sprintf("%d of %d up", c.Up, c.Of()))
	}
	for _, p := range []struct {
		n    int
		word string
	}{{c.Unchecked, "not checked"}, {c.Unknown, "not decided"}, {c.Drained, "drained"}, {c.Down, "down"}} {
		if p.n > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", p.n, p.word))
		}
	}
	if n.Withdrawn > 0 {
		parts = append(parts, fmt.Sprintf("%d of inactive groups", n.Withdrawn))
	}
	if n.FailsOpen != "" {
		parts = append(parts, "fails open for "+n.FailsOpen)
	}
	if n.FailsClosed != "" {
		parts = append(parts, "fails closed for "+n.FailsClosed)
	}
	return strings.Join(parts, ", ")
}

// AnswerText sums up an answer in a few words.
func AnswerText(x *records.Explanation) string {
	if len(x.Answer) == 0 {
		return x.Rcode + ", no data"
	}
	data := x.Answer[len(x.Answer)-1]
	if at := strings.LastIndexByte(data, '\t'); at >= 0 {
		data = data[at+1:]
	}
	return x.Rcode + ", " + data
}

// percent returns a part in percent; a non-zero part is never shown as zero.
func percent(part float64) string {
	switch {
	case part == 0:
		return "0 %"
	case part < 0.001:
		return "less than 0.1 %"
	}
	return strings.TrimSuffix(fmt.Sprintf("%.1f", 100*part), ".0") + " %"
}

// trim returns a name without its final dot.
func trim(name string) string {
	if name == "." {
		return name
	}
	return strings.TrimSuffix(name, ".")
}

// ObjectsText returns objects as text; of many, the first.
func ObjectsText(all []records.Object) string {
	texts := make([]string, len(all))
	for i, o := range all {
		texts[i] = ObjectText(o)
	}
	return api.Some(texts, ", ", shown)
}

func isAddress(text string) bool { _, err := netip.ParseAddr(text); return err == nil }

// isHostname reports whether a member is a hostname without addresses.
func isHostname(m *records.TreeMember) bool {
	return len(m.Addresses) == 1 && !isAddress(m.Addresses[0].Address)
}

// kindPolicy is the kind of objects that publish addresses alone.
const kindPolicy = "DNSPolicy"

// minus returns what is in a and not in b.
func minus[T comparable](a, b []T) (rest []T) {
	has := make(map[T]bool, len(b))
	for _, v := range b {
		has[v] = true
	}
	return slices.DeleteFunc(slices.Clone(a), func(v T) bool { return has[v] })
}

// shown is how many of a list a message shows.
const shown = 8
