package deploy

import (
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/coredns-kuadrant/kuadrant/internal/boottest"
)

func readme(t *testing.T) string {
	t.Helper()
	return boottest.ReadFile(t, filepath.Join(chart, "README.md"))
}

// TestQuickStartInstalls: the chart accepts the values with which docs/quick-start.md installs it.
func TestQuickStartInstalls(t *testing.T) {
	line := regexp.MustCompile(`(?m)^helm install (\S+) (charts/\S+) --namespace (\S+) --set '(\S+)'$`).FindStringSubmatch(
		boottest.ReadFile(t, "docs/quick-start.md"))
	if line == nil {
		t.Fatal("no helm install")
	}
	for _, helm := range helms {
		out := must(t, helm, "template", line[1], filepath.Clean(line[2]), "--namespace", line[3], "--set", line[4])
		for _, want := range []string{"kind: Deployment", "image: registry.example/kuadrant:v1", "apps.example.com"} {
			if !strings.Contains(strings.ReplaceAll(out, `"`, ""), want) {
				t.Errorf("%s makes nothing of %q: it lacks %s", helm, line[4], want)
			}
		}
	}
}

// TestReadmeTenLines: the README begins with one sentence and ten lines. They install the values
// for production, with the Secret named there, and query the servers named there.
func TestReadmeTenLines(t *testing.T) {
	lines := regexp.MustCompile(`^# \S+\n\n[^.\n]+:\n\n~~~ sh\n((?:\S.*\n){10})~~~\n`).FindStringSubmatch(readme(t))
	if lines == nil {
		t.Fatal("the README begins otherwise")
	}
	secret := regexp.MustCompile(`create secret generic (\S+) --from-file=(\S+)`).FindStringSubmatch(lines[1])
	asked := regexp.MustCompile(`dig @(\S+) (\S+) NS`).FindStringSubmatch(lines[1])
	for _, want := range []string{
		"docker buildx build --platform linux/amd64,linux/arm64 ", "cp " + valuesFiles(t)["production"] + " values.yaml", "-f values.yaml --wait\n",
	} {
		if !strings.Contains(lines[1], want) {
			t.Errorf("the lines lack %q", want)
		}
	}
	r := renderFile(t, helms[0], "production")
	volume, script := r.volume(t, "geo-source"), r.pod.InitContainers[0].Args[0]
	if secret == nil || volume.Secret.SecretName != secret[1] || !strings.Contains(script, "/source/"+secret[2]) {
		t.Errorf("the Secret %q is made, and %v is mounted", secret, volume)
	}
	if asked == nil || !strings.HasPrefix(r.corefile, asked[2]+" {") || !strings.Contains(r.corefile, " "+asked[1]+"\n") {
		t.Errorf("%q is asked, and the Corefile is\n%s", asked, r.corefile)
	}
}

// TestReadmeHasSections: the README has the sections that messages refer to.
func TestReadmeHasSections(t *testing.T) {
	files, err := filepath.Glob(filepath.Join(chart, "templates", "*"))
	if err != nil {
		t.Fatal(err)
	}
	text, named := readme(t), 0
	for _, file := range files {
		for _, m := range regexp.MustCompile(`README\.md, ([A-Z][A-Za-z ]*)`).FindAllStringSubmatch(boottest.ReadFile(t, file), -1) {
			named++
			if !regexp.MustCompile("(?m)^##+ " + m[1] + "$").MatchString(text) {
				t.Errorf("%s names the section %q, and the README has none", file, m[1])
			}
		}
	}
	if named == 0 {
		t.Error("no message names a section")
	}
}

// TestReadmeConsole: the Secret that the README creates is the one that the pods mount, with the
// values next to it.
func TestReadmeConsole(t *testing.T) {
	text := readme(t)
	made := regexp.MustCompile(`create secret generic (\S+) --from-literal=([a-z]+)="`).FindStringSubmatch(text)
	values := regexp.MustCompile("`(console: \\{enabled: true.*\\})`").FindStringSubmatch(text)
	if made == nil || values == nil {
		t.Fatalf("the README has %q and %q", made, values)
	}
	for _, helm := range helms {
		secret := render(t, helm, "a", "kuadrant-dns", append([]string{"-f", written(t, values[1])}, least...)...).volume(t, "console").Secret
		if secret.SecretName != made[1] || len(secret.Items) != 1 || secret.Items[0].Key != made[2] {
			t.Errorf("%s: the pods mount %v, and %s with the key %s is made", helm, secret, made[1], made[2])
		}
	}
}

// TestReadmeSecurityContext: the README's values for clusters that choose the UID remove the IDs,
// and keep the rest.
func TestReadmeSecurityContext(t *testing.T) {
	values := regexp.MustCompile(`(?m)^podSecurityContext: \{.*\}$`).FindString(readme(t))
	if values == "" {
		t.Fatal("the README has none")
	}
	for _, helm := range helms {
		r := render(t, helm, "a", "kuadrant-dns", append([]string{"-f", written(t, values)}, least...)...)
		if s := r.pod.SecurityContext; s == nil || s.RunAsUser != nil || s.RunAsGroup != nil || s.FSGroup != nil || s.RunAsNonRoot == nil || s.SeccompProfile == nil {
			t.Errorf("%s: the context is %v", helm, s)
		}
	}
}

// TestReadmeValues: the values in the README exist.
func TestReadmeValues(t *testing.T) {
	blocks := regexp.MustCompile(`(?s)~~~ yaml\n(.*?)~~~`).FindAllStringSubmatch(readme(t), -1)
	for i, block := range blocks {
		out, err := runHelm(t, helms[i%len(helms)], append([]string{"template", "a", chart, "--namespace", "kuadrant-dns"}, append(least, "-f", written(t, block[1]))...)...)
		if err != nil {
			t.Errorf("%s\nis refused: %.400s", block[1], out)
		}
	}
	if len(blocks) < 5 {
		t.Errorf("%d blocks", len(blocks))
	}
}

// written returns the path of a file with a text.
func written(t *testing.T, text string) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "values.yaml")
	boottest.WriteFile(t, file, strings.TrimSpace(text)+"\n")
	return file
}
