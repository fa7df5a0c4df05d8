package corefile

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/coredns-kuadrant/kuadrant/api"
	"github.com/coredns-kuadrant/kuadrant/internal/engine"
	"github.com/coredns-kuadrant/kuadrant/internal/near"
)

var (
	errEmptySelector = errors.New("the selector is empty; remove the property to read all policies")
	errDiffers       = errors.New("differs from another server block; the setting is process-wide")
	errExclude       = errors.New("manifests excludes kubeconfig and cluster; objects come either from files or from API servers")
)

func unknownProperty(name string) error {
	known := slices.Sorted(maps.Keys(properties))
	if found := near.Matches(name, slices.Values(known), 1); len(found) > 0 {
		return fmt.Errorf("unknown property %q; write %s", name, found[0])
	}
	return fmt.Errorf("unknown property %q; want one of %s", name, strings.Join(known, ", "))
}

// count checks the number of arguments and that none is empty; most < 0 means no limit.
func count(args []string, least, most int, form string) error {
	if len(args) < least || most >= 0 && len(args) > most || slices.Contains(args, "") {
		return wanted(args, form)
	}
	return nil
}

// checkNamespaces returns an error if a word is not a valid namespace name.
func checkNamespaces(names []string) error {
	for _, name := range names {
		if len(validation.IsDNS1123Label(name)) > 0 {
			return fmt.Errorf("want a namespace name (up to 63 of a-z, 0-9 and -), found %q", name)
		}
	}
	return nil
}

// checkASCII returns an error if a name has non-ASCII characters.
func checkASCII(name string) error {
	if wrong := api.NotASCII(name); wrong != "" {
		return fmt.Errorf("%q %s", name, wrong)
	}
	return nil
}

func wanted(args []string, form string) error {
	if len(args) == 0 {
		return fmt.Errorf("want %s, found nothing", form)
	}
	return fmt.Errorf("want %s, found %q", form, strings.Join(args, " "))
}

// share sets a process-wide setting. It returns an error if another block has set a different value.
func share[T comparable](setting *T, value T) error {
	var unset T
	if *setting != unset && *setting != value {
		return errDiffers
	}
	*setting = value
	return nil
}

// shareList is share for lists whose order does not matter.
func shareList[T cmp.Ordered](setting *[]T, value []T) error {
	return shareOrdered(setting, slices.Compact(slices.Sorted(slices.Values(value))))
}

// shareOrdered is share for lists whose order matters.
func shareOrdered[T comparable](setting *[]T, value []T) error {
	if *setting != nil && !slices.Equal(*setting, value) {
		return errDiffers
	}
	*setting = value
	return nil
}

// newManifests checks a directory and its cluster name, which defaults to the directory's base name.
func newManifests(dir string, cluster []string) (engine.Manifests, error) {
	m := engine.Manifests{Dir: filepath.Clean(dir), Cluster: filepath.Base(filepath.Clean(dir))}
	if len(cluster) > 0 {
		m.Cluster = cluster[0]
	}
	m.Cluster = strings.ToValidUTF8(m.Cluster, "\uFFFD") // it is written to JSON output and the state file
	if m.Cluster == "" || strings.ContainsAny(m.Cluster, "/ ") || m.Cluster == "." || m.Cluster == ".." {
		return m, fmt.Errorf("%q is not a cluster name; write one after the directory", m.Cluster)
	}
	info, err := os.Stat(m.Dir)
	if err != nil {
		return m, fmt.Errorf("open directory: %w", err)
	}
	if !info.IsDir() {
		return m, fmt.Errorf("%s is not a directory", m.Dir)
	}
	return m, nil
}

// rootedPath returns file relative to root, unless it is absolute.
func rootedPath(root, file string) string {
	if filepath.IsAbs(file) || root == "" {
		return file
	}
	return filepath.Join(root, file)
}
