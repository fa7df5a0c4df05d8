package console

import (
	"cmp"
	"slices"
	"strconv"

	"github.com/coredns-kuadrant/kuadrant/internal/inspect"
	"github.com/coredns-kuadrant/kuadrant/records"
)

var nameStates = []choiceOf{
	{"", "any"},
	{inspect.StateFailing, "nothing is up"},
	{inspect.StateImpaired, "down or not decided"},
	{inspect.StateContended, "contended"},
}

// named is the content of the page names.
type named struct {
	Filter inspect.Filter
	Zones  []string
	States []choiceOf
	Page   *inspect.NamePage
	Next   string
	Near   *inspect.NamePage // if no name matches
}

func (c *console) namesPage(v inspect.View, q query) (*page, error) {
	f := inspect.Filter{Zone: q["zone"], Contains: q["q"], State: q["state"], After: q["after"]}
	found, err := v.Names(f)
	if err != nil {
		return nil, err
	}
	body := named{Filter: f, States: nameStates, Page: found}
	if found.Next != "" {
		body.Next = pathOf("/names", "zone", f.Zone, "q", f.Contains, "state", f.State, "after", found.Next)
	}
	if f == (inspect.Filter{}) && found.Next != "" { // sort across all pages, worst first
		worst, err := c.worst.get(func() (*inspect.NamePage, error) { return v.Names(inspect.Filter{State: inspect.StateImpaired}) })
		if err != nil {
			return nil, err
		}
		rest := slices.DeleteFunc(found.Names, func(n records.NameState) bool {
			return slices.ContainsFunc(worst.Names, func(w records.NameState) bool { return w.Name == n.Name })
		})
		found.Names = slices.Concat(worst.Names, rest)
	}
	if len(found.Names) == 0 && f.Contains != "" {
		if body.Near, err = near(v, f.Contains); err != nil {
			return nil, err
		}
	}
	slices.SortStableFunc(found.Names, func(a, b records.NameState) int { return cmp.Compare(trouble(&b), trouble(&a)) })
	for _, z := range v.Zones() {
		if len(body.Zones) < mostZones {
			body.Zones = append(body.Zones, z.Name)
		}
	}
	return &page{Title: "Names", Status: namesSummary(found.Names), Search: f.Contains, Body: body}, nil
}

// trouble ranks a name by severity; higher is worse.
func trouble(n *records.NameState) int {
	switch {
	case n.FailsOpen != "" || n.FailsClosed != "":
		return 4
	case n.Addresses.Down > 0:
		return 3
	case n.Addresses.Unknown > 0:
		return 2
	case n.Losers > 0:
		return 1
	}
	return 0
}

// namesSummary returns the number of names, and of those that need attention.
func namesSummary(names []records.NameState) string {
	failing, contended := 0, 0
	for i := range names {
		if names[i].FailsOpen != "" || names[i].FailsClosed != "" {
			failing++
		}
		if names[i].Losers > 0 {
			contended++
		}
	}
	text := plural(len(names), "name") + " shown"
	if failing > 0 {
		text += ", " + strconv.Itoa(failing) + " with nothing up"
	}
	if contended > 0 {
		text += ", " + strconv.Itoa(contended) + " contended"
	}
	return text
}
