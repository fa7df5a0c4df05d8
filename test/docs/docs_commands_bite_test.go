package docs

import (
	"strings"
	"testing"

	"github.com/coredns-kuadrant/kuadrant/internal/doctest"
)

// TestDocsCommandsBite: the checks find mistakes, and accept correct commands that resemble them.
func TestDocsCommandsBite(t *testing.T) {
	d := newDocChecker(t)
	for line, want := range map[string]string{
		"make build kube-apiserver":                   "",
		"make bild":                                   "no target bild",
		"make test FUZZTIME=1s -j2":                   "",
		"kubectl apply -f config/crd":                 "",
		"kubectl apply -f config/crds":                "no config/crds",
		"kubectl aply -f x.yaml":                      "no aply",
		"kubectl -n a get pods -f":                    "",
		"kubectl apply -k config/deploy/public":       "",
		"kubectl apply -k config/crd":                 "nothing for kustomize in config/crd",
		"kubectl delete -f mine.yaml":                 "",
		"cd config/deploy/publik":                     "no folder config/deploy/publik",
		"cd config/deploy && kubectl apply -k pub":    "nothing for kustomize in config/deploy/pub",
		"cd config/deploy && kubectl apply -k public": "",
		"helm install dns charts/kuadrant-coredns --set image.tag=1,zones[0].name=a.example,podLabels.x=y": "",
		"helm install dns charts/kuadrant-coredns --set image.tg=1":                                        "no value image.tg",
		"helm install dns charts/kuadrant-coredns --set zones[0].nam=1":                                    "no value zones[0].nam",
		"helm install dns charts/kuadrant-coredns --set=image[0].tag=1":                                    "no value image[0].tag",
		"helm install dns charts/kuadrant":                                                                 "no charts/kuadrant",
		"helm instal dns charts/kuadrant-coredns":                                                          "no instal",
		"dig @192.0.2.1 -p 53 a A +norec +subnet=192.0.2.0/24 +nocrypto":                                   "",
		"dig a +shrt":                                     "no +shrt",
		"dig -port 53 a":                                  "",
		"dig --tcp a":                                     "no --tcp",
		"go run ./bench/all -parts kube":                  "",
		"go run ./bench/all -part kube":                   "no flag -part",
		"go run ./bench/al":                               "no package ./bench/al",
		"go test -run TestUpgrade .":                      "",
		"go test -run TestUpgrde .":                       "no test TestUpgrde",
		"go test -run TestUpgrade ./api":                  "no test TestUpgrade",
		"go test -bench BenchmarkHeap/simple ./records":   "",
		"go tool -modfile=tools/go.tool.mod gofumpt -l .": "",
		"go tool -modfile=tools/go.tol.mod gofumpt":       "no tools/go.tol.mod",
		"go tool -modfile=../tools/go.tool.mod gofmpt":    "no gofmpt",
		"bin/coredns -conf examples/Corefile.primary":     "",
		"bin/coredns -conf examples/Corefile.prim":        "no examples/Corefile.prim",
		"bin/kdns check -f eu=examples/eu -f DIR":         "",
		"bin/kdns check -f eu=examples/europe":            "no examples/europe",
		"kdns check --corefile=examples/Corefile.no":      "no examples/Corefile.no",
	} {
		var found []string
		for _, c := range doctest.Commands("f", "~~~ sh\n"+line+"\n~~~\n") {
			found = append(found, d.faults(c)...)
		}
		if got := strings.Join(found, "; "); want == "" && got != "" || !strings.Contains(got, want) {
			t.Errorf("%s: %q, want %q", line, got, want)
		}
	}
	for text, want := range map[string]bool{
		"config/crd": true, "examples/*.yaml": true, "config/NAME/x": false, "api/v1": false, "docs/<name>.md": false, "config": false,
	} {
		if ownPath(text) != want {
			t.Errorf("%s is a path: %v", text, !want)
		}
	}
	if exists("", "examples/*.nothing") || exists("", "config/crds") || !exists("", "examples/*/*.yaml") {
		t.Error("what is there is not, or the other way")
	}
}
