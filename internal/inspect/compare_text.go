package inspect

import (
	"cmp"
	"fmt"
	"strings"
)

// mostClients bounds the clients of one difference in text.
const mostClients = 3

// Text returns a comparison as terminal output.
func (c *Comparison) Text() string {
	t := newTextWriter()
	for i := range c.Differences {
		t.difference(&c.Differences[i])
	}
	if c.Blind {
		t.line("%s returns no client subnet (ECS); all its answers may be for the address that these queries came from", c.Server)
	}
	if c.LastError != "" && !strings.Contains(c.Ended, c.LastError) {
		t.line("last query without an answer: %s", c.LastError)
	}
	if c.Ended != "" {
		t.line("stopped early: %s", c.Ended)
	}
	t.line("%s", c.Summary())
	return t.String()
}

func (t *textWriter) difference(d *Difference) {
	t.line("%s %s: %s%s", d.Name, d.Type, kindText(d), clientsText(d.Clients))
	t.line("  here\t%s", d.Here.text())
	t.line("  there\t%s", d.There.text())
	head := "why"
	for _, why := range d.Why {
		t.line("  %s\t%s", head, why)
		head = ""
	}
	t.line("")
}

// kinds describe differences that need no details.
var kinds = map[DifferenceKind]string{
	DiffersUnserved: "not served there", DiffersNotHere: "does not exist here", DiffersNotThere: "does not exist there",
	DiffersNoData: "no data there", DiffersAddresses: "other addresses", DiffersData: "other data",
}

// kindText says what differs.
func kindText(d *Difference) string {
	switch {
	case d.Kind == DiffersNotHere && d.Here.Rcode != rcodeAbsent && d.Here.Rcode != rcodeRefused:
		return "no answer here"
	case d.Kind == DiffersNoData && len(d.Here.Answers) == 0:
		return "no data here"
	}
	return cmp.Or(kinds[d.Kind], string(d.Kind))
}

// clientsText says which clients something concerns.
func clientsText(clients []Place) string {
	if len(clients) == 0 {
		return ""
	}
	var names []string
	for i := range min(len(clients), mostClients) {
		name := clients[i].Network.String()
		if len(clients[i].Codes) > 0 {
			name += " (" + strings.Join(clients[i].Codes, ", ") + ")"
		}
		names = append(names, name)
	}
	text := ", for " + strings.Join(names, ", ")
	if more := len(clients) - mostClients; more > 0 {
		text += fmt.Sprintf(" and %d more", more)
	}
	return text
}

// text describes the end of an answer.
func (o *Outcome) text() string {
	if len(o.Answers) == 0 {
		if o.Rcode == "NOERROR" {
			return "no data"
		}
		return o.Rcode
	}
	var sets []string
	for _, a := range o.Answers {
		sets = append(sets, strings.Join(a, ", "))
	}
	return fmt.Sprintf("%s (TTL %d)", strings.Join(sets, ", or "), o.TTL)
}

// Summary sums up a comparison in one line.
func (c *Comparison) Summary() string {
	text := fmt.Sprintf("%s of %s compared: %d the same, %d different", counted(c.Asked, "answer"), c.Server, c.Same, c.Asked-c.Same)
	if len(c.Differences) > 0 {
		text += " in " + counted(len(c.Differences), "way")
	}
	if c.Unanswered > 0 {
		text += fmt.Sprintf("; %s without an answer", counted(c.Unanswered, "question"))
	}
	return text
}
