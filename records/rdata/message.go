package rdata

import (
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"strings"
)

// parserText matches the error of the master-file parser: what it wanted, what it found, and the
// position, in a line that is ours and not the owner's.
var parserText = regexp.MustCompile(`(?s)^(?:dns: )?(.*): ("(?:[^"\\]|\\.)*") at line: \d+:\d+$`)

// quoteless removes escapes, whose quotes do not count.
var quoteless = strings.NewReplacer(`\\`, "", `\"`, "")

var errQuote = errors.New(`a quote is missing: each " that begins a text needs one that ends it; write \" for one inside`)

// unreadable turns the parser's error into a message for the author of the data: where the text
// cannot be read, with an example; without an example, what the parser wanted.
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

// example returns the end of a message about data of the type; "" if no form is known.
func example(rtype uint16) string {
	if form := forms[rtype]; form != "" {
		return ": write it as in a zone file, such as " + form
	}
	return ""
}
