package geo

import (
	"maps"
	"slices"
	"strings"
)

// continents maps a continent's two letters to its code.
var continents = map[string]string{
	"AF": "GEO-AF", "AN": "GEO-AN", "AS": "GEO-AS", "EU": "GEO-EU", "NA": "GEO-NA", "OC": "GEO-OC", "SA": "GEO-SA",
}

// notCountries maps codes often mistaken for a country's to the intended code.
var notCountries = map[string]string{
	"UK": "GB",     // reserved at the United Kingdom's request, never assigned
	"EL": "GR",     // how institutions of the European Union write Greece
	"EU": "GEO-EU", // reserved for the European Union; the continent is what can be matched
}

// Country is one country of ISO 3166-1, and the continent of its clients unless a database says
// more.
type Country struct {
	Code      string // alpha-2
	Continent string // with its prefix: "GEO-EU"
}

// Countries returns all countries, in the order of their codes.
func Countries() []Country {
	all := slices.Collect(maps.Values(countries))
	slices.SortFunc(all, func(a, b Country) int { return strings.Compare(a.Code, b.Code) })
	return all
}

// countries maps an alpha-2 code to its country.
var countries = index(map[string]string{
	"AF": "AO BF BI BJ BW CD CF CG CI CM CV DJ DZ EG EH ER ET GA GH GM GN GQ GW KE KM LR LS LY MA MG ML MR MU MW MZ " +
		"NA NE NG RE RW SC SD SH SL SN SO SS ST SZ TD TG TN TZ UG YT ZA ZM ZW",
	"AN": "AQ BV GS HM TF",
	"AS": "AE AF AM AZ BD BH BN BT CC CN CX GE HK ID IL IN IO IQ IR JO JP KG KH KP KR KW KZ LA LB LK MM MN MO MV MY " +
		"NP OM PH PK PS QA SA SG SY TH TJ TM TR TW UZ VN YE",
	"EU": "AD AL AT AX BA BE BG BY CH CY CZ DE DK EE ES FI FO FR GB GG GI GR HR HU IE IM IS IT JE LI LT LU LV MC MD ME " +
		"MK MT NL NO PL PT RO RS RU SE SI SJ SK SM UA VA XK",
	"NA": "AG AI AW BB BL BM BQ BS BZ CA CR CU CW DM DO GD GL GP GT HN HT JM KN KY LC MF MQ MS MX NI PA PM PR SV SX TC " +
		"TT US VC VG VI",
	"OC": "AS AU CK FJ FM GU KI MH MP NC NF NR NU NZ PF PG PN PW SB TK TL TO TV UM VU WF WS",
	"SA": "AR BO BR CL CO EC FK GF GY PE PY SR UY VE",
})

// index inverts the lists above. They hold the 249 codes that ISO 3166-1 assigns, and XK, which is
// for private use and which all databases use for Kosovo. A country on two continents is where
// GeoNames has it, as the databases that name continents take theirs from there.
func index(lists map[string]string) map[string]Country {
	m := make(map[string]Country, 250)
	for continent, list := range lists {
		for code := range strings.FieldsSeq(list) {
			m[code] = Country{Code: code, Continent: continents[continent]}
		}
	}
	return m
}
