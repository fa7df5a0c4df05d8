package doctest

import (
	"regexp"
	"strings"
)

// substitution matches a line that stores a command's output; the group is the command.
var substitution = regexp.MustCompile(`^\w+=\$\((.*)\)$`)

// assignment matches a variable that is set for one command.
var assignment = regexp.MustCompile(`^\w+=`)

// split returns the commands of a shell line, as words. It understands quotes, comments,
// redirections and operators between commands; variables and substitutions stay as they are.
func split(line string) (commands [][]string) {
	if m := substitution.FindStringSubmatch(strings.TrimSpace(line)); m != nil {
		line = m[1]
	}
	var args []string
	end := func() {
		for len(args) > 0 && (args[0] == "do" || args[0] == "then" || args[0] == "sudo" || args[0] == "!" || assignment.MatchString(args[0])) {
			args = args[1:]
		}
		if len(args) > 0 {
			commands = append(commands, args)
		}
		args = nil
	}
	s := scanner{text: line}
	for {
		word, kind := s.next()
		switch kind {
		case wordToken:
			args = append(args, word)
		case operatorToken:
			end()
		case redirectToken: // and its word
			s.next()
		case endToken:
			end()
			return commands
		}
	}
}

type token int

const (
	wordToken token = iota
	operatorToken
	redirectToken
	endToken
)

type scanner struct{ text string }

// next returns the next word without its quotes, or the token in its place.
func (s *scanner) next() (string, token) {
	s.text = strings.TrimLeft(s.text, " \t")
	switch {
	case s.text == "" || s.text[0] == '#':
		return "", endToken
	case strings.ContainsRune("|&;", rune(s.text[0])):
		s.text = strings.TrimLeft(s.text, "|&;")
		return "", operatorToken
	case strings.ContainsRune("<>", rune(s.text[0])):
		s.text = strings.TrimLeft(s.text, "<>&")
		return "", redirectToken
	}
	var word strings.Builder
	for s.text != "" && !strings.ContainsRune(" \t|&;<>", rune(s.text[0])) {
		s.part(&word)
	}
	if text := word.String(); (text == "1" || text == "2") && strings.HasPrefix(s.text, ">") {
		return s.next()
	}
	return word.String(), wordToken
}

// part reads a quoted part of a word, a substitution, or one octet.
func (s *scanner) part(word *strings.Builder) {
	c := s.text[0]
	switch {
	case c == '\'' || c == '"':
		quoted, rest, _ := strings.Cut(s.text[1:], string(c))
		word.WriteString(quoted)
		s.text = rest
	case c == '\\' && len(s.text) > 1:
		word.WriteByte(s.text[1])
		s.text = s.text[2:]
	case strings.HasPrefix(s.text, "$("):
		depth, i := 0, 0
		for ; i < len(s.text); i++ {
			if s.text[i] == '(' {
				depth++
			} else if s.text[i] == ')' {
				if depth--; depth == 0 {
					i++
					break
				}
			}
		}
		word.WriteString(s.text[:i])
		s.text = s.text[i:]
	default:
		word.WriteByte(c)
		s.text = s.text[1:]
	}
}
