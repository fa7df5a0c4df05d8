package state

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"io"
	"io/fs"
	"time"

	"github.com/coredns-kuadrant/kuadrant/api"
)

// Version 2 was one file. Its first line had a fixed length, and the checksum of the others; its members were the names of Go fields.
const (
	oldVersion = 2
	headerSize = 256
	// oldUnsaved is how many serials of a zone a run of that version published at most beyond those in its file.
	oldUnsaved = 10_000
)

// oldLine is the first line of version 2.
type oldLine struct {
	Version int       `json:"kuadrant-state"`
	Written time.Time `json:"written"`
	Runs    uint32    `json:"runs"`                  // how many runs may have published more than the file holds
	Size    int64     `json:"size"`                  // octets after this line
	Sum     string    `json:"sha256"`                // SHA-256 of these octets, in hexadecimal
	Line    string    `json:"line-sha256,omitempty"` // checksum of the fields above, as written
}

// readOld reads the first line of version 2, and compares the checksums.
func (h *header) readOld(file io.ReaderAt, text []byte, size int64) error {
	if json.Unmarshal(text, &h.old) != nil {
		return ErrSum
	}
	first := h.old
	first.Line = ""
	again, _ := json.Marshal(first)
	sum := sha256.Sum256(again)
	first.Line = hex.EncodeToString(sum[:])
	if again, _ = json.Marshal(first); !bytes.Equal(bytes.TrimRight(text, " \n"), again) || size != headerSize+h.old.Size {
		return ErrSum
	}
	body := sha256.New()
	h.Written, h.from, h.to = h.old.Written, headerSize, size
	if _, err := io.Copy(body, io.NewSectionReader(file, h.from, h.old.Size)); err != nil {
		return err
	}
	if hex.EncodeToString(body.Sum(nil)) != h.old.Sum {
		return ErrSum
	}
	return nil
}

// readOldSerials returns the serials in a file of version 2, even if its objects cannot be read. A run that did not stop may have
// published more, unless an elected writer kept them: then there are owners.
func readOldSerials(file io.ReaderAt, size int64) (Serials, error) {
	h, err := readHeader(file, size)
	switch {
	case err != nil:
		return nil, err
	case h.Version != oldVersion:
		return nil, fs.ErrNotExist
	}
	all, kept := make(Serials), false
	err = h.lines(file, func(name string, value []byte) error {
		kept = kept || name == "owner"
		if name != "serial" {
			return nil
		}
		return all.add(value)
	})
	for zone, last := range all {
		if h.old.Runs > 0 && !kept {
			all[zone] = api.Kept{Serial: last.Serial + h.old.Runs*oldUnsaved}
		}
	}
	return all, err
}
