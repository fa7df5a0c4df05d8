package geo

import (
	"math/rand/v2"
	"os"
	"strconv"
	"strings"
	"testing"
)

// TestCheck goes through testdata/codes.txt: what is wrong with a code, and how it is counted. There are not many words for
// that, whatever tenants write, and one of them is for all codes that match no client.
func TestCheck(t *testing.T) {
	text, err := os.ReadFile("testdata/codes.txt")
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(text) + strings.Repeat("é", 1000) + " unknown a country has two letters\n") {
		if strings.HasPrefix(line, "# ") || line == "\n" {
			continue
		}
		code, rest, _ := strings.Cut(strings.TrimSpace(line), " ")
		if quoted, err := strconv.QuotedPrefix(line); err == nil {
			code, _ = strconv.Unquote(quoted)
			rest = strings.TrimSpace(line[len(quoted):])
		}
		class, want, _ := strings.Cut(rest, " ")
		err := Check(code)
		if (err == nil) != (want == "") || err != nil && (!strings.Contains(err.Error(), want) || len(err.Error()) > 300) {
			t.Errorf("Check(%.20q) = %v, want an error with %q", code, err, want)
		}
		if got := Class(code); got != class {
			t.Errorf("%.20q is counted as %q, want %q", code, got, class)
		}
	}
}

func TestClass(t *testing.T) {
	forms := make(map[string]bool)
	random := rand.New(rand.NewPCG(1, 2))
	const letters = "AEGIOSUXZ0189-*é"
	for range 300_000 {
		text := [...]string{"", "GEO-", "AS", "US-", "IE"}[random.IntN(5)]
		for range random.IntN(6) {
			text += letters[random.IntN(len(letters)):][:1]
		}
		text = strings.ToValidUTF8(text, "É")
		form := Class(text)
		forms[form] = true
		if text == "*" || text == "" {
			continue
		}
		if known := Check(text) == nil; known == (form == "unknown") {
			t.Fatalf("%q is counted as %s, but known is %v", text, form, known)
		}
	}
	if len(forms) < 20 || len(forms) > 520 {
		t.Errorf("%d forms", len(forms))
	}
}

func TestContinent(t *testing.T) {
	for country, want := range map[string]string{
		"IE": "GEO-EU", "US": "GEO-NA", "BR": "GEO-SA", "ZA": "GEO-AF", "JP": "GEO-AS", "NZ": "GEO-OC", "AQ": "GEO-AN",
		"AS": "GEO-OC", "NA": "GEO-AF", "SA": "GEO-AS", "AF": "GEO-AS", "TR": "GEO-AS", "RU": "GEO-EU", "CY": "GEO-EU",
		"XK": "GEO-EU", "UK": "", "EU": "", "ie": "", "": "", "ZZ": "",
	} {
		if got := countries[country].Continent; got != want {
			t.Errorf("countries[%q].continent = %q, want %q", country, got, want)
		}
	}
}

// ISO 3166-1 assigns 249 codes; XK is the 250th of the table. A code in two
// lists would make the table shorter than the lists.
func TestCountries(t *testing.T) {
	if len(countries) != 250 {
		t.Errorf("the table has %d countries, want 250", len(countries))
	}
	for code, c := range countries {
		if len(code) != 2 || c.Code != code || len(c.Continent) != 6 {
			t.Errorf("country %q is %+v", code, c)
		}
	}
}

func TestFromCodes(t *testing.T) {
	if got := FromCodes("", "", "", ""); *got != (Codes{}) {
		t.Errorf("of nothing: %q", *got)
	}
	text, err := os.ReadFile("testdata/sources.txt")
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(text)) {
		line, _, _ = strings.Cut(line, "#")
		said, want, _ := strings.Cut(line, "=")
		of := strings.Fields(said)
		if len(of) == 0 {
			continue
		}
		for i, word := range of {
			if word == "-" {
				of[i] = ""
			}
		}
		if got := listed(t, FromCodes(of[0], of[1], of[2], of[3])); got != strings.TrimSpace(want) {
			t.Errorf("FromCodes(%q) = %s, want %s", of, got, want)
		}
	}
}

// listed returns the codes that there are, each of which is in its place.
func listed(t *testing.T, c *Codes) string {
	t.Helper()
	var all []string
	for i, code := range c {
		place := CodeCountry
		switch {
		case code == "":
			continue
		case strings.HasPrefix(code, "GEO-"):
			place = CodeContinent
		case strings.Contains(code, "-"):
			place = CodeSubdivision
		case len(code) > 2:
			place = CodeAS
		}
		if all = append(all, code); i != int(place) {
			t.Errorf("%s is in the place %d of %q", code, i, *c)
		}
	}
	return strings.Join(all, " ")
}

// What Check accepts is what a client can have, in upper case.
func FuzzCheck(f *testing.F) {
	for _, code := range []string{"", "*", "IE", "US-CA", "AS64500", "GEO-EU", "GEO-US", "UK", "as1", "AS", "é", "US-ı"} {
		f.Add(code)
	}
	f.Fuzz(func(t *testing.T, code string) {
		err := Check(code)
		if err != nil {
			if len(err.Error()) > 300 {
				t.Errorf("Check(%.40q): the error has %d octets", code, len(err.Error()))
			}
			return
		}
		upper := strings.ToUpper(code)
		c := parse(upper)
		for _, have := range c {
			if have == upper {
				return
			}
		}
		t.Errorf("Check(%q) accepts what no client can have: as a client it is %q", code, *c)
	})
}
