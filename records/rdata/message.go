package rdata

import (
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"strings"
)

// parserText is what the parser of master files says: what it wanted, what it found, and
// where in a line that is ours and not its owner's.
var parserText = regexp.MustCompile(`(?s)^(?:dns: )?(.*): ("(?:[^"\\]|\\.)*") at line: \d+:\d+$`)

// quoteless takes away what is no quote of its own, for all that it looks like one.
var quoteless = strings.NewReplacer(`\\`, "", `\"`, "")

var errQuote = errors.New(`a quote is missing: each " that begins a text needs one that ends it; write \" for one inside`)

// unreadable returns what the parser's error says to whoever has written data of the type:
// where text cannot be read, and an example of data that can. Without one, it is what the
// parser wanted.
func unreadable(rtype uint16, text string, err error) error {
	if strings.Count(quoteless.Replace(text), `"`)%2 > 0 {
		return errQuote
	}
	wanted, at := strings.TrimPrefix(err.Error(), "dns: "), ""
	if m := parserText.FindStringSubmatch(wanted); m != nil {
		wanted = m[1]
		if token, err := strconv.Unquote(m[2]); err == nil && strings.TrimSpace(token) != "" {
			at = fmt.Sprintf(" at %.64q", token)
		}
	}
	if form := example(rtype); form != "" {
		return errors.New("it cannot be parsed" + at + form)
	}
	return errors.New(wanted + at)
}

// example returns what a message about data of the type ends in; "" if no form is known.
func example(rtype uint16) string {
	if form := forms[rtype]; form != "" {
		return ": write it as in a zone file, such as " + form
	}
	return ""
}
