package records

import (
	"encoding/binary"
	"errors"
	"fmt"
	"net"
	"strings"
	"unicode/utf8"

	"github.com/miekg/dns"
)

// Parameters of service bindings that the library has no name for, or that mean something
// here.
const (
	svcbOHTTP   = 8         // RFC 9540 §4
	svcbInvalid = 1<<16 - 1 // RFC 9460 §14.3.2
)

// serviceBinding is all of an SVCB or HTTPS record (RFC 9460 §2.2).
func serviceBinding(d *wireData) error {
	if err := fixed("the priority", 2)(d); err != nil {
		return err
	}
	if err := domain(d); err != nil {
		return err
	}
	params := make(map[uint16][]byte)
	for last := int64(-1); len(d.rest) > 0; {
		k, n := d.number(2), d.number(2)
		value, ok := d.take(int(max(n, 0)))
		switch {
		case n < 0 || !ok:
			return errors.New("a parameter is not all there (RFC 9460 §2.2)")
		case k <= last:
			return errors.New("the parameters are not in the order of their numbers, or one is there twice (RFC 9460 §2.2)")
		case k == svcbInvalid:
			return errors.New("key65535 is no parameter (RFC 9460 §14.3.2)")
		}
		last, params[uint16(k)] = k, value
	}
	for k, value := range params {
		if check := svcbValues[k]; check != nil {
			if err := check(value); err != nil {
				return err
			}
		}
	}
	return checkMandatory(params)
}

// svcbValues check the values of the parameters that have a form.
var svcbValues = map[uint16]func([]byte) error{
	uint16(dns.SVCB_ALPN): func(v []byte) error {
		for d := (&wireData{rest: v}); ; {
			if id, err := d.text(); err != nil || len(id) == 0 {
				return errors.New("alpn has no protocol, or an empty one (RFC 9460 §7.1.1)")
			}
			if len(d.rest) == 0 {
				return nil
			}
		}
	},
	uint16(dns.SVCB_NO_DEFAULT_ALPN): empty("no-default-alpn", "RFC 9460 §7.1.1"),
	uint16(dns.SVCB_PORT): func(v []byte) error {
		if len(v) != 2 {
			return errors.New("port is not one number up to 65535 (RFC 9460 §7.2)")
		}
		return nil
	},
	uint16(dns.SVCB_IPV4HINT): hints("ipv4hint", net.IPv4len),
	uint16(dns.SVCB_ECHCONFIG): func(v []byte) error {
		if len(v) == 0 {
			return errors.New("ech is empty: it has the configuration in base64 (RFC 9848 §3)")
		}
		return nil
	},
	uint16(dns.SVCB_IPV6HINT): hints("ipv6hint", net.IPv6len),
	uint16(dns.SVCB_DOHPATH): func(v []byte) error {
		if len(v) == 0 || v[0] != '/' || !utf8.Valid(v) || !strings.Contains(string(v), "{?dns}") {
			return errors.New("dohpath is a path such as /dns-query{?dns} (RFC 9461 §5)")
		}
		return nil
	},
	svcbOHTTP: empty("ohttp", "RFC 9540 §4"),
}

// empty is the check of a parameter that has no value.
func empty(name, source string) func([]byte) error {
	return func(v []byte) error {
		if len(v) > 0 {
			return fmt.Errorf("%s has no value (%s)", name, source)
		}
		return nil
	}
}

// hints is the check of a parameter that has addresses of a size.
func hints(name string, size int) func([]byte) error {
	return func(v []byte) error {
		if len(v) == 0 || len(v)%size > 0 {
			return fmt.Errorf("%s has no address, or not all of one (RFC 9460 §7.3)", name)
		}
		return nil
	}
}

// checkMandatory tells what keeps clients from using a service for the parameters that have
// to be there (RFC 9460 §7.1.1 and §8).
func checkMandatory(params map[uint16][]byte) error {
	_, alpn := params[uint16(dns.SVCB_ALPN)]
	if _, no := params[uint16(dns.SVCB_NO_DEFAULT_ALPN)]; no && !alpn {
		return errors.New("no-default-alpn has no alpn beside it (RFC 9460 §7.1.1)")
	}
	keys, ok := params[uint16(dns.SVCB_MANDATORY)]
	if !ok {
		return nil
	}
	if len(keys) == 0 || len(keys)%2 > 0 {
		return errors.New("mandatory is empty, or not all there (RFC 9460 §8)")
	}
	for last := -1; len(keys) > 0; keys = keys[2:] {
		k := binary.BigEndian.Uint16(keys)
		name := dns.SVCBKey(k).String()
		_, there := params[k]
		switch {
		case k == uint16(dns.SVCB_MANDATORY):
			return errors.New("mandatory is itself among the keys that it names (RFC 9460 §8)")
		case int(k) <= last:
			return fmt.Errorf("mandatory has %s twice, or not in the order of the numbers (RFC 9460 §8)", name)
		case !there:
			return fmt.Errorf("mandatory names %s, which is not there (RFC 9460 §8)", name)
		}
		last = int(k)
	}
	return nil
}
