package controller

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/coredns-kuadrant/kuadrant/api"
)

// ConfigMaps hold the kept values as lines of words, one line for each name, sorted:
//
//	www.example.com. local DNSPolicy shop/web 0b1f... secret=dns cluster=7c2e... since=2026-01-01T00:00:00Z
//	example.com. 5f0c... 2026010100
//
// The first is an owner: the key, the object's cluster, kind and namespace/name, its UID or -, and
// fields; the second is a zone's kept values: origin, hash and serial. Words hold no spaces: in
// names they are \032 (RFC 1035 §5.1).
//
// The first edition has flags instead of fields, alone and chain, which are ignored here. It takes fields for unknown
// flags, keeps the owner, and drops them when it writes the line: the next writer fills them in.

// The fields of an owner's line.
const (
	fieldSecret  = "secret="  // Owner.Secret
	fieldCluster = "cluster=" // Owner.ClusterUID
	fieldSince   = "since="   // Owner.Since, as in RFC 3339
	noUID        = "-"
)

// wordOf returns a name, or its key, without spaces. There, a backslash precedes each space.
func wordOf(name string) string { return strings.ReplaceAll(name, `\ `, `\032`) }

// nameOf reverses wordOf.
func nameOf(word string) string {
	var name strings.Builder
	for i := 0; i < len(word); i++ {
		switch rest := word[i:]; {
		case strings.HasPrefix(rest, `\032`):
			name.WriteString(`\ `)
			i += len(`032`)
		case rest[0] == '\\' && len(rest) > 1:
			name.WriteString(rest[:2])
			i++
		default:
			name.WriteByte(rest[0])
		}
	}
	return name.String()
}

// ownerLine returns an owner's line; "" if it cannot be one.
func ownerLine(key string, o api.Owner) string {
	words := []string{wordOf(key), o.Cluster, o.Kind.String(), o.Name, noUID}
	if o.UID != "" {
		words[4] = o.UID
	}
	if o.Secret != "" {
		words = append(words, fieldSecret+o.Secret)
	}
	if o.ClusterUID != "" {
		words = append(words, fieldCluster+o.ClusterUID)
	}
	if o.Since != 0 {
		words = append(words, fieldSince+time.Unix(o.Since, 0).UTC().Format(time.RFC3339))
	}
	if slices.ContainsFunc(words, func(w string) bool { return w == "" || strings.ContainsAny(w, " \t\r\n") }) {
		return ""
	}
	return strings.Join(words, " ")
}

// parseOwner reads ownerLine's lines. It ignores unknown fields: another version may write them.
// The key is "" for a line that only older versions write.
func parseOwner(line string) (key string, o api.Owner, err error) {
	words := strings.Fields(line)
	if len(words) < 5 {
		return "", o, fmt.Errorf("%d words, want at least five", len(words))
	}
	kind, ok := api.ParseKind(words[2])
	if !ok {
		return "", o, fmt.Errorf("unknown kind %.64q", words[2])
	}
	o = api.Owner{Cluster: words[1], Kind: kind, Name: words[3]}
	if ns, name, ok := strings.Cut(o.Name, "/"); !ok || ns == "" || name == "" {
		return "", o, fmt.Errorf("%.64q is not a namespace/name", o.Name)
	}
	if words[4] != noUID {
		o.UID = words[4]
	}
	for _, word := range words[5:] {
		if secret, is := strings.CutPrefix(word, fieldSecret); is {
			o.Secret = secret
		} else if uid, is := strings.CutPrefix(word, fieldCluster); is {
			o.ClusterUID = uid
		} else if text, is := strings.CutPrefix(word, fieldSince); is {
			if at, err := time.Parse(time.RFC3339, text); err == nil {
				o.Since = at.Unix()
			}
		}
	}
	if api.IsObsolete(words[0]) {
		return "", o, nil
	}
	return nameOf(words[0]), o, nil
}

// serialLine returns a zone's line.
func serialLine(origin string, k api.Kept) string {
	return wordOf(origin) + " " + k.Hash + " " + strconv.FormatUint(uint64(k.Serial), 10)
}

// parseSerial reads serialLine's lines.
func parseSerial(line string) (origin string, k api.Kept, err error) {
	words := strings.Fields(line)
	if len(words) < 3 {
		return "", k, fmt.Errorf("%d words, want three", len(words))
	}
	serial, err := strconv.ParseUint(words[2], 10, 32)
	if err != nil || serial == 0 {
		return "", k, fmt.Errorf("%.64q is not a serial", words[2])
	}
	return nameOf(words[0]), api.Kept{Hash: words[1], Serial: uint32(serial)}, nil
}
