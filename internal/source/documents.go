package source

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"iter"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/coredns-kuadrant/kuadrant/api"
	"github.com/coredns-kuadrant/kuadrant/internal/jsonwalk"
)

// document is one YAML document of a file, or a whole JSON file, as read.
type document struct {
	sum     [sha256.Size]byte // of its text
	line    int               // its first line in the file
	objects []object
}

// object is one object of a file. An equal value may replace its value.
type object struct {
	ref   api.Ref
	value any
	// stated reports whether it has a status.
	stated bool
}

// part is the text of one document, and its first line in the file, from 1.
type part struct {
	line int
	text []byte
}

// split yields a file's YAML documents, except empty ones and those of comments alone. A document
// begins with a line "---", or after a line "..." (YAML 1.2.2 §9.1.2); neither can begin a line
// inside a document, not even in a block scalar.
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
				// Directives and comments before "---" belong to the document that it begins.
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

// marker reports whether line is the document marker, alone or before white space.
func marker(line []byte, mark string) bool {
	rest, ok := bytes.CutPrefix(line, []byte(mark))
	return ok && (len(rest) == 0 || strings.IndexByte(" \t\r\n", rest[0]) >= 0)
}

// hasContent reports whether line is more than white space, a comment or a directive.
func hasContent(line []byte) bool {
	line = bytes.TrimSpace(line)
	return len(line) > 0 && line[0] != '#' && line[0] != '%'
}

// each passes a document's values to take, as JSON: one for YAML, one or more for JSON. A value is
// valid until take returns. A document that cannot be parsed yields none; the error counts lines
// from the document's first.
func (p part) each(onlyJSON bool, take func(value []byte)) error {
	if onlyJSON || bytes.HasPrefix(bytes.TrimSpace(p.text), []byte("{")) {
		err := eachJSON(p.text, func([]byte) {})
		if err == nil {
			return eachJSON(p.text, take)
		}
		// YAML's flow style resembles JSON, with comments and without quotes.
		if twice := new(duplicateKey); onlyJSON || errors.As(err, &twice) {
			return err
		}
	}
	value, err := yamlToJSON(p.text)
	if err != nil {
		return err
	}
	take(value)
	return nil
}

// eachJSON passes consecutive values in text to take, up to the first that is not JSON.
func eachJSON(text []byte, take func(value []byte)) error {
	walk := jsonwalk.Strict(text)
	for {
		value, err := walk.ReadValue()
		switch {
		case errors.Is(err, io.EOF):
			return nil
		case err != nil:
			// If the text just ends, point to the value cut off.
			at, whole := walk.InputOffset(), err
			if se := new(jsontext.SyntacticError); errors.As(err, &se) {
				err = se.Err
				if !errors.Is(err, io.ErrUnexpectedEOF) {
					at = se.ByteOffset
				}
			}
			before := text[:max(0, min(at, int64(len(text))))]
			if len(before) < len(text) {
				rest := text[len(before):]
				before = text[:len(text)-len(bytes.TrimLeft(rest, " \t\r\n"))]
			}
			line := 1 + bytes.Count(before, []byte("\n"))
			if twice := duplicateIn(whole, line); twice != nil {
				return twice
			}
			return fmt.Errorf("line %d: not JSON: %w", line, err)
		}
		take(value)
	}
}

var (
	lineNumber = regexp.MustCompile(`\bline (\d+)`)
	lineFirst  = regexp.MustCompile(`^(line \d+: )?`)
)

// maxCause bounds a parser's message, in characters: it may quote the file.
const maxCause = 300

// inFile returns err's text as one line, with line numbers of the file, or with the part's own if
// it has none. If a document may hold Secrets, it gives only the line: parsers quote values such as
// unknown aliases, and a password may begin with a '*'.
func (p part) inFile(err error) string {
	if twice := new(duplicateKey); errors.As(err, &twice) {
		return (&duplicateKey{twice.key, twice.line + p.line - 1}).Error()
	}
	if bytes.Contains(p.text, []byte("Secret")) {
		line := cmp.Or(lineNumber.FindString(err.Error()), "line 1")
		err = errors.New(line + ": not YAML or JSON; the rest of the error is omitted, as it may quote a Secret")
	}
	text := err.Error()
	if of, ok := strings.CutPrefix(text, "yaml: "); ok {
		text = lineFirst.ReplaceAllString(of, "${1}not YAML: ")
	}
	text = api.Cut(strings.Join(strings.Fields(text), " "), maxCause)
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

// head identifies an object.
type head struct{ APIVersion, Kind string }

// maxListDepth bounds lists within lists: each level is parsed once more.
const maxListDepth = 4

// objectReader turns the values of one file into objects.
type objectReader struct {
	cluster   string
	selection *Selection
	line      int // the first line of the document being read
	objects   []object
	// ignored counts objects of other kinds, by kind and apiVersion.
	ignored map[string]int
	faults  []string // why objects were skipped, one line each, at most maxFaults
	more    int      // how many more were skipped
	unknown []string // objects with unknown fields, one line each, at most maxFaults
}

// maxFaults bounds the log lines about the objects of one file.
const maxFaults = 10

// fault notes why an object is skipped.
func (r *objectReader) fault(why string) {
	if len(r.faults) == maxFaults {
		r.more++
		return
	}
	r.faults = append(r.faults, fmt.Sprintf("document at line %d: %s: %s", r.line, skipped, why))
}

// skipped marks lines about unreadable objects.
const skipped = "object skipped"

// IsSkipped reports whether a line that ReadManifests logs is about an unreadable object, not one
// left out on purpose.
func IsSkipped(line string) bool {
	return strings.Contains(line, ": "+skipped+": ") || strings.HasSuffix(line, moreSkipped)
}

// moreSkipped ends the line that counts objects without a line of their own.
const moreSkipped = " more objects skipped"

// read takes in one object, or the objects of a list. The list's head gives the kind of items
// without one.
func (r *objectReader) read(value []byte, list head, depth int) {
	sort := jsontext.Value(value).Kind()
	if sort == 'n' {
		return
	}
	var h head
	ok := sort == '{'
	stated := false
	if ok {
		h, stated, ok = headOf(value)
	}
	if !ok {
		r.fault("not a manifest; write an object in YAML or JSON, with apiVersion and kind")
		return
	}
	if h == (head{}) {
		h = list
	}
	if item, ok := strings.CutSuffix(h.Kind, "List"); ok && r.readList(value, head{h.APIVersion, item}, depth+1) {
		return
	}
	kind, ok := kindOf(h.APIVersion, h.Kind)
	if !ok {
		if meant, write := meantKind(h); write != "" && len(r.unknown) < maxFaults {
			name, _, _ := kinds[meant].decode(r.cluster, value)
			r.unknown = append(r.unknown, fmt.Sprintf("document at line %d: %s %s of %q is not read: write %s", r.line, h.Kind, name, h.APIVersion, write))
		} else {
			r.ignore(h)
		}
		return
	}
	if kind == api.KindSecret && !r.selection.Watches(kind) {
		return // do not even decode it
	}
	name, v, err := kinds[kind].decode(r.cluster, value)
	if err != nil {
		r.fault(err.Error())
		return
	}
	if r.selection.takes(kind, name, value) {
		if unknown := unknownFields(kind, value); unknown != "" && len(r.unknown) < maxFaults {
			r.unknown = append(r.unknown,
				fmt.Sprintf("document at line %d: %s %s: ignoring unknown fields: %s", r.line, kind, name, unknown))
		}
		r.selection.Pools.Mark(v.(api.Object))
		r.objects = append(r.objects, object{api.Ref{Kind: kind, Name: name}, v, stated})
	}
}

// tell logs what was left out of the file at path.
func (r *objectReader) tell(path string, logf Logf) {
	for _, fault := range r.faults {
		logf("%s: %s", path, fault)
	}
	if r.more > 0 {
		logf("%s: and %d%s", path, r.more, moreSkipped)
	}
	for _, line := range r.unknown {
		logf("%s: %s", path, line)
	}
	if len(r.ignored) > 0 {
		logf("%s: ignoring objects of kinds that are not read: %s", path, r.ignoredText())
	}
}

// headOf returns an object's head, and whether it has a status; ok is false if the head is
// unreadable.
func headOf(value []byte) (h head, stated, ok bool) {
	walk := jsonwalk.Of(value)
	ok = true
	for field := range walk.Fields {
		var into *string
		switch string(field) {
		case "apiVersion":
			into = &h.APIVersion
		case "kind":
			into = &h.Kind
		case "status":
			stated = walk.Next() != 'n'
		}
		if into != nil && walk.Next() != 'n' {
			text, isString := walk.Text()
			*into, ok = string(text), ok && isString
		}
	}
	return h, stated, ok && walk.Err == nil
}

// readList takes in a list's items; ok is false if value has none. It reads one by one: all at once
// would take many times the file's size.
func (r *objectReader) readList(value []byte, of head, depth int) (ok bool) {
	walk := jsonwalk.Of(value)
	for field := range walk.Fields {
		if string(field) != "items" || walk.Next() != '[' {
			continue
		}
		ok = true
		if depth > maxListDepth {
			r.fault(fmt.Sprintf("lists are nested more than %d deep", maxListDepth))
			continue
		}
		for range walk.Elements {
			if item := walk.Value(); item != nil {
				r.read(item, of, depth)
			}
		}
	}
	return ok
}

// maxIgnored bounds the kinds that a message names.
const maxIgnored = 8

func (r *objectReader) ignore(h head) {
	if r.ignored == nil {
		r.ignored = make(map[string]int)
	}
	what := fmt.Sprintf("%.64q of %.64q", h.Kind, h.APIVersion)
	if _, ok := r.ignored[what]; !ok && len(r.ignored) >= maxIgnored {
		what = "others"
	}
	r.ignored[what]++
}

// ignoredText names the ignored kinds; "" for none.
func (r *objectReader) ignoredText() string {
	var texts []string
	for what, n := range r.ignored {
		texts = append(texts, fmt.Sprintf("%d %s", n, what))
	}
	slices.Sort(texts)
	return strings.Join(texts, ", ")
}
