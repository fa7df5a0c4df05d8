// Package recordstest tests records from outside: worlds of objects in a short text form, a compile
// that checks itself, random changes, and scenario files. Only tests import it.
//
// # The short form of objects
//
// One object a line: its kind, its namespace/name, and words KEY=VALUE. A line that begins with
// white space continues the object above it; one that begins with # is a comment. Values with
// spaces are in brackets or quotes.
//
//	gateway a/prod host=www.example.com,*.x.example.com addr=192.0.2.1,lb.example.net geo=IE labels=cloud:gcp
//	gateway a/prod host=api:api.example.com:443,www.example.com routes=0,- programmed=False
//	policy a/prod weight=100 geo=IE default check=HTTP:80/healthz,interval=1s
//	policy a/prod gateway=prod section=api strategy=weightedGeo weight=100 default=IE provider=creds
//	zone dns/z example.com. delegate=* delegate=dns/@/NS ttl=60
//	zone dns/sub sub in=z
//	record dns/www www in=z ttl=5 A 192.0.2.1
//	dnsrecord a/r root=www.example.com zone=example.com
//	    www.example.com CNAME klb.www.example.com ttl=300
//	    klb.www.example.com CNAME ie.klb.www.example.com set=IE geo=IE weight=10
//	dnsendpoint a/e www.example.com A 192.0.2.1 192.0.2.2
//	secret a/creds ZONE_ID=example.com DOMAIN_NAME=*.example.com
//	probe a/p 192.0.2.1 host=www.example.com check=HTTP:80/ healthy=false
//
// Every kind has at= (its age: a duration after 1 January 2026, a time, or - for none; by default
// objects are as old as the order of their lines), uid=, labels=, annotations=, override= (the
// annotation kuadrant.io/health-override), fallback= (kuadrant.io/geo-fallback), priority=, order=,
// sticky=, fail=, max-answers=, targets= and probe-address= (the annotations of these names; of an
// endpoint its properties), target= (external-dns's annotation), owner=KIND/NAME/UID (its
// controller), managed (written by this server) and deleting. A listener is [NAME:]HOST[:PORT], and
// delegate= is NAMESPACES[/PATTERNS[/TYPES]]; without patterns it allows all. Other fields go by
// path, in YAML: spec.loadBalancing={weight: 10}.
package recordstest
