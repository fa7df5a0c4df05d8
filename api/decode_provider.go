package api

import (
	"encoding/json"
	"errors"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/coredns-kuadrant/kuadrant/internal/jsonwalk"
)

// The keys of Secrets that are DNS providers: those of one zone and domain, then Kuadrant's.
const (
	keyZoneID     = "ZONE_ID"
	keyDomainName = "DOMAIN_NAME"
	keyZones      = "ZONES"
	keyConfig     = "CONFIG"
)

// typeCoreDNS is the type of Kuadrant's Secrets for servers like this one; other types with the
// prefix typeKuadrant are for other servers.
const (
	typeKuadrant = "kuadrant.io/"
	typeCoreDNS  = typeKuadrant + "coredns"
)

// maxProviderZones bounds the zones read from a Secret.
const maxProviderZones = 1000

// provider reads a Secret's values as a DNS provider.
func provider(secretType string, values map[string]string) (p ProviderSecret) {
	var invalid notes
	defer func() { p.Invalid = invalid.text }()
	zones := func(key, list string) (all []string) {
		for text := range strings.SplitSeq(list, ",") {
			if text = strings.TrimSpace(text); text == "" {
				continue
			}
			zone := zoneName(text)
			switch {
			case zone == "":
				invalid.add("the key " + key + " has a value that is not a domain name")
			case len(all) < maxProviderZones:
				all = append(all, zone)
			}
		}
		return all
	}
	_, hasID := values[keyZoneID]
	_, hasDomain := values[keyDomainName]
	p.Filter = zones(keyConfig, strings.Join(zoneFilter(values[keyConfig], &invalid), ","))
	switch {
	case hasID || hasDomain:
		for _, key := range [...]string{keyZoneID, keyDomainName} {
			if strings.TrimSpace(values[key]) == "" {
				invalid.add("the key " + key + " is missing: ZONE_ID and DOMAIN_NAME are both required")
			}
		}
		if invalid.n > 0 {
			return p
		}
		p.Zones = zones(keyZoneID, values[keyZoneID])
		p.Domain = zoneName(strings.TrimPrefix(strings.TrimSpace(values[keyDomainName]), "*."))
		switch {
		case len(p.Zones) > 1:
			invalid.add("the key ZONE_ID names several zones: write one")
		case p.Domain == "":
			invalid.add("the key DOMAIN_NAME is not a domain name such as example.com or *.example.com")
		}
	case strings.TrimSpace(values[keyZones]) != "":
		p.Zones = zones(keyZones, values[keyZones])
	case secretType == typeCoreDNS:
		invalid.add("the key ZONES is missing: write zones of this server, separated by commas")
	case len(p.Filter) > 0 && !strings.HasPrefix(secretType, typeKuadrant):
		p.Zones = p.Filter
	case strings.HasPrefix(secretType, typeKuadrant):
		invalid.add("its type " + quote(secretType) + " is another DNS provider's: this server takes Secrets of type " + typeCoreDNS)
	default:
		invalid.add("it names no zone: write the key ZONES, or ZONE_ID and DOMAIN_NAME")
	}
	return p
}

// zoneFilter returns a CONFIG's zoneIDFilter, nil for none.
func zoneFilter(config string, invalid *notes) []string {
	if strings.TrimSpace(config) == "" {
		return nil
	}
	var c struct {
		ZoneIDFilter []string `json:"zoneIDFilter"`
	}
	walk, syntax := jsonwalk.Strict([]byte(config)), new(jsontext.SyntacticError)
	switch _, err := walk.ReadValue(); {
	case errors.As(err, &syntax) && errors.Is(syntax.Err, jsontext.ErrDuplicateName):
		invalid.add("the key CONFIG has the field " + ShownKey(syntax.JSONPointer.LastToken()) + " twice: remove one")
	case json.Unmarshal([]byte(config), &c) != nil: // its error may quote the value
		invalid.add(`the key CONFIG is not JSON such as {"zoneIDFilter": ["example.com"]}`)
	}
	return c.ZoneIDFilter
}

// zoneName returns a domain name in lower case with a final dot; "" if text is none.
func zoneName(text string) string {
	name, wrong := CanonicalName(text)
	if wrong != "" {
		return ""
	}
	return strings.TrimSuffix(name, ".") + "."
}
