package deploy

import (
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// TestSecurityDocRights: docs/security.md names exactly the rights that each variant grants.
func TestSecurityDocRights(t *testing.T) {
	text, err := os.ReadFile("docs/security.md")
	if err != nil {
		t.Fatal(err)
	}
	var told []string
	for _, m := range regexp.MustCompile("(?m)^\\| `((?:get|list|watch|create|update|patch|delete)[a-z,]* [^`]+)` \\|").FindAllStringSubmatch(string(text), -1) {
		told = append(told, m[1])
	}
	given := slices.Concat(readRights, writeRights, leaseRights, keptRights, clusterRights)
	slices.Sort(told)
	slices.Sort(given)
	if !slices.Equal(told, given) {
		t.Errorf("docs/security.md tells of\n%s\ngiven are\n%s", strings.Join(told, "\n"), strings.Join(given, "\n"))
	}
}
