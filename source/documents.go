package source

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"sigs.k8s.io/yaml"

	"github.com/coredns-kuadrant/kuadrant/api"
)

// document is one YAML document of a file, or a whole JSON file, as read.
type document struct {
	sum     [sha256.Size]byte // of its text
	objects []object
}

// object is one object of a file. Its value may be replaced by an equal one.
type object struct {
	ref   api.Ref
	value any
}

// part is the text of one document and the line, from 1, at which it begins in
// its file.
type part struct {
	line int
	text []byte
}

// split yields the YAML documents of a file, less those that are empty or hold
// comments alone. A document begins at a line "---", which is part of it, or
// after a line "..." (YAML 1.2.2 §9.1.2); neither can stand at the beginning of
// a line inside a document, not even in a block scalar.
func split(data []byte) iter.Seq[part] {
	return func(yield func(part) bool) {
		var (
			start, startLine = 0, 1
			content, marked  bool // since start: anything but comments and directives; a line "---"
		)
		for pos, line := 0, 1; pos < len(data); line++ {
			end := len(data)
			if i := bytes.IndexByte(data[pos:], '\n'); i >= 0 {
				end = pos + i + 1
			}
			text := data[pos:end]
			switch begins, ends := marker(text, "---"), marker(text, "..."); {
			case begins, ends:
				// Directives and comments in front of "---" belong to the
				// document that it begins.
				if content || marked || ends {
					if content && !yield(part{startLine, data[start:pos]}) {
						return
					}
					start, startLine = pos, line
					if ends {
						start, startLine = end, line+1
					}
				}
				marked, content = begins, begins && hasContent(text[3:])
			case !content:
				content = hasContent(text)
			}
			pos = end
		}
		if content {
			yield(part{startLine, data[start:]})
		}
	}
}

// marker tells whether line is the given document marker, alone or followed by
// white space.
func marker(line []byte, mark string) bool {
	rest, ok := bytes.CutPrefix(line, []byte(mark))
	return ok && (len(rest) == 0 || strings.IndexByte(" \t\r\n", rest[0]) >= 0)
}

// hasContent tells whether line is more than white space, a comment or a
// directive.
func hasContent(line []byte) bool {
	line = bytes.TrimSpace(line)
	return len(line) > 0 && line[0] != '#' && line[0] != '%'
}

// values returns the text of a document as JSON values: one for YAML, one or
// more for JSON. The line in an error counts from the document's first.
func (p part) values(onlyJSON bool) (values []json.RawMessage, err error) {
	// The YAML library must not end the server, whatever it is fed.
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("parse YAML: %v", r)
		}
	}()
	if onlyJSON || bytes.HasPrefix(bytes.TrimSpace(p.text), []byte("{")) {
		values, err = jsonValues(p.text)
		// YAML's flow style looks like JSON and is not: unquoted, with comments.
		if err == nil || onlyJSON {
			return values, err
		}
	}
	value, err := yaml.YAMLToJSON(p.text)
	if err != nil {
		return nil, err
	}
	return []json.RawMessage{value}, nil
}

func jsonValues(text []byte) (values []json.RawMessage, err error) {
	dec := json.NewDecoder(bytes.NewReader(text))
	for {
		var value json.RawMessage
		switch err := dec.Decode(&value); {
		case errors.Is(err, io.EOF):
			return values, nil
		case err != nil:
			// Where the text just ends, the value that it cuts off is meant.
			at := int64(len(text) - len(bytes.TrimLeft(text[dec.InputOffset():], " \t\r\n")))
			if se := new(json.SyntaxError); errors.As(err, &se) {
				at = se.Offset - 1
			}
			at = max(0, min(at, int64(len(text))))
			return nil, fmt.Errorf("line %d: %w", 1+bytes.Count(text[:at], []byte("\n")), err)
		}
		values = append(values, value)
	}
}

var lineNumber = regexp.MustCompile(`\bline (\d+)`)

// maxCause bounds the characters of a parser's message: it may quote the file.
const maxCause = 300

// inFile returns err's text as one line, with line numbers that count from the
// file's first line, or with the part's own where it names none.
func (p part) inFile(err error) string {
	text := strings.Join(strings.Fields(strings.TrimPrefix(err.Error(), "yaml: ")), " ")
	if len(text) > maxCause {
		text = strings.ToValidUTF8(text[:maxCause], "") + "…"
	}
	if !lineNumber.MatchString(text) {
		return fmt.Sprintf("document at line %d: %s", p.line, text)
	}
	return lineNumber.ReplaceAllStringFunc(text, func(s string) string {
		n, err := strconv.Atoi(s[len("line "):])
		if err != nil {
			return s
		}
		return "line " + strconv.Itoa(n+p.line-1)
	})
}

// head is what tells what an object is.
type head struct {
	APIVersion string `json:"apiVersion"`
	Kind       string `json:"kind"`
}

// maxListDepth bounds lists within lists: each level is parsed once more.
const maxListDepth = 4

// reader turns the values of one file into objects.
type reader struct {
	cluster   string
	selection *Selection
	objects   []object
	// ignored counts the objects of kinds that are not read, by kind and
	// apiVersion.
	ignored map[string]int
	faults  []string // why objects were skipped, one sentence each
}

// read takes in one object, or a list of them, with those that it holds. The
// head of the list gives the kind of items that do not say their own.
func (r *reader) read(value json.RawMessage, list head, depth int) {
	if bytes.Equal(bytes.TrimSpace(value), []byte("null")) {
		return
	}
	var h head
	if err := json.Unmarshal(value, &h); err != nil {
		r.faults = append(r.faults, "it is not an object whose apiVersion and kind are texts")
		return
	}
	if h == (head{}) {
		h = list
	}
	if item, ok := strings.CutSuffix(h.Kind, "List"); ok {
		var l struct {
			Items []json.RawMessage `json:"items"`
		}
		if err := json.Unmarshal(value, &l); err == nil && l.Items != nil {
			r.readList(l.Items, head{h.APIVersion, item}, depth+1)
			return
		}
	}
	kind, ok := kindOf(h.APIVersion, h.Kind)
	if !ok {
		r.ignore(h)
		return
	}
	name, v, err := kinds[kind].decode(r.cluster, value)
	if err != nil {
		r.faults = append(r.faults, err.Error())
		return
	}
	if r.selection.takes(kind, name, value) {
		r.objects = append(r.objects, object{api.Ref{Kind: kind, Name: name}, v})
	}
}

func (r *reader) readList(items []json.RawMessage, of head, depth int) {
	if depth > maxListDepth {
		r.faults = append(r.faults, fmt.Sprintf("lists within lists are read to a depth of %d", maxListDepth))
		return
	}
	for _, item := range items {
		r.read(item, of, depth)
	}
}

// maxIgnored bounds how many kinds a message names.
const maxIgnored = 8

func (r *reader) ignore(h head) {
	if r.ignored == nil {
		r.ignored = make(map[string]int)
	}
	what := fmt.Sprintf("%.64q of %.64q", h.Kind, h.APIVersion)
	if _, ok := r.ignored[what]; !ok && len(r.ignored) >= maxIgnored {
		what = "others"
	}
	r.ignored[what]++
}

// ignoredText names what was ignored; "" where nothing was.
func (r *reader) ignoredText() string {
	var texts []string
	for what, n := range r.ignored {
		texts = append(texts, fmt.Sprintf("%d %s", n, what))
	}
	slices.Sort(texts)
	return strings.Join(texts, ", ")
}
