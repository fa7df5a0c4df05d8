package api_test

import (
	"reflect"
	"strings"
	"testing"

	"github.com/coredns-kuadrant/kuadrant/api"
)

// TestDecodeProvider: both forms of a provider Secret (api.md, Providers), and what is wrong with others, without a value.
func TestDecodeProvider(t *testing.T) {
	for _, c := range []struct {
		name, text string
		want       api.ProviderSecret
		invalid    string // what the reason has in it
	}{
		{
			"the documents' form", `stringData: {ZONE_ID: K.example.com, DOMAIN_NAME: "*.A.k.example.com"}`,
			api.ProviderSecret{Zones: []string{"k.example.com."}, Domain: "a.k.example.com."},
			"",
		},
		{
			"without a wildcard, with line ends", `stringData: {ZONE_ID: "k.example.com.\n", DOMAIN_NAME: "a.k.example.com\r\n"}`,
			api.ProviderSecret{Zones: []string{"k.example.com."}, Domain: "a.k.example.com."},
			"",
		},
		{
			"in base64", `data: {ZONE_ID: ay5leGFtcGxlLmNvbQ==, DOMAIN_NAME: Ki5rLmV4YW1wbGUuY29t}`,
			api.ProviderSecret{Zones: []string{"k.example.com."}, Domain: "k.example.com."},
			"",
		},
		{"no domain", `stringData: {ZONE_ID: hunter2.example}`, api.ProviderSecret{}, "DOMAIN_NAME is missing"},
		{"no zone", `stringData: {DOMAIN_NAME: hunter2.example}`, api.ProviderSecret{}, "ZONE_ID is missing"},
		{"an empty zone", `stringData: {ZONE_ID: " ", DOMAIN_NAME: hunter2.example}`, api.ProviderSecret{}, "ZONE_ID is missing"},
		{
			"two zones", `stringData: {ZONE_ID: "a.example, hunter2.example", DOMAIN_NAME: a.example}`,
			api.ProviderSecret{Zones: []string{"a.example.", "hunter2.example."}, Domain: "a.example."},
			"ZONE_ID names several",
		},
		{
			"a domain that is none", `stringData: {ZONE_ID: a.example, DOMAIN_NAME: "hunter2 .."}`,
			api.ProviderSecret{Zones: []string{"a.example."}},
			"DOMAIN_NAME is no domain",
		},
		{
			"Kuadrant's form", "type: kuadrant.io/coredns\nstringData: {ZONES: 'k.example.com, Example.com,,b.example. '}",
			api.ProviderSecret{Zones: []string{"k.example.com.", "example.com.", "b.example."}},
			"",
		},
		{
			"Kuadrant's form without zones", "type: kuadrant.io/coredns\nstringData: {NAMESERVERS: hunter2}",
			api.ProviderSecret{},
			"ZONES is missing",
		},
		{
			"zones with something else", "stringData: {ZONES: 'a.example,hunter2 x..'}",
			api.ProviderSecret{Zones: []string{"a.example."}},
			"ZONES holds something",
		},
		{
			"a filter", `stringData: {ZONES: "a.example,b.example", CONFIG: '{"zoneIDFilter":["B.example"]}'}`,
			api.ProviderSecret{Zones: []string{"a.example.", "b.example."}, Filter: []string{"b.example."}},
			"",
		},
		{
			"a filter alone", `stringData: {CONFIG: '{"zoneIDFilter":["B.example"]}'}`,
			api.ProviderSecret{Zones: []string{"b.example."}, Filter: []string{"b.example."}},
			"",
		},
		{
			"a filter that is none", `stringData: {ZONES: a.example, CONFIG: "hunter2"}`,
			api.ProviderSecret{Zones: []string{"a.example."}},
			"CONFIG is not JSON",
		},
		{"another provider's", "type: kuadrant.io/aws\nstringData: {AWS_SECRET_ACCESS_KEY: hunter2, CONFIG: " +
			"'{\"zoneIDFilter\":[\"b.example\"]}'}", api.ProviderSecret{Filter: []string{"b.example."}}, "another DNS provider"},
		{"no provider's", "stringData: {password: hunter2}", api.ProviderSecret{}, "neither the key ZONES"},
	} {
		for _, head := range []string{secretHead, strings.Replace(secretHead, "kuadrant.io/probe-headers", "kuadrant.io/no-headers", 1)} {
			s, err := api.DecodeSecret("c", toJSON(t, head+c.text))
			if err != nil {
				t.Fatalf("%s: %v", c.name, err)
			}
			got := s.Provider
			if !strings.Contains(got.Invalid, c.invalid) || (got.Invalid == "") != (c.invalid == "") || strings.Contains(got.Invalid, "hunter2") {
				t.Errorf("%s: %q, want %q in it", c.name, got.Invalid, c.invalid)
			}
			if got.Invalid = ""; !reflect.DeepEqual(got, c.want) {
				t.Errorf("%s: %+v, want %+v", c.name, got, c.want)
			}
		}
	}
}
