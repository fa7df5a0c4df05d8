package api

// Entry is one record of a Zone, as its status has it.
type Entry struct {
	FQDN, Type, Class string
	TTL               uint32
	RData             string
}
