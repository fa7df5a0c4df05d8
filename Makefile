# All targets need Go alone; `make test` needs a C compiler too, for the race detector, and `make geodb` npm. `make help` lists them.
.DEFAULT_GOAL := help
SHELL := /bin/bash
TOOL := go tool -modfile=tools/go.tool.mod
PACKAGES := ./...
KUBE_APISERVER := build/bin/kube-apiserver
# One way to compile for all but the race detector, the Dockerfile's: what is compiled once is compiled for all.
export CGO_ENABLED := 0
export GOFLAGS := -trimpath
export KUADRANT_KUBE_APISERVER := $(CURDIR)/$(KUBE_APISERVER)
KUBECTL := build/bin/kubectl
# What checks config/observability: Prometheus's own tool, and what tells tests the names in an expression.
PROMTOOL := build/bin/promtool
QUERIES := build/bin/queries
export KUADRANT_COREDNS := $(CURDIR)/bin/coredns
export KUADRANT_KDNS := $(CURDIR)/bin/kdns
export KUADRANT_PROMTOOL := $(CURDIR)/$(PROMTOOL)
export KUADRANT_QUERIES := $(CURDIR)/$(QUERIES)
HELM := build/bin/helm build/bin/helm3

# What takes long says so: never a minute without a line.
ALIVE := $(CURDIR)/tools/alive

.PHONY: help build run targets test parts beside lint vet race plain processes browser alloc bench fuzz crds chart reference observability geodb kube kube-apiserver kubectl promtool helm clean

help: ## list the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## /{printf "  %-16s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

build: ## make bin/coredns and bin/kdns
	@$(ALIVE) "build coredns and kdns" go build -o bin/ ./cmd/coredns ./cmd/kdns

run: build ## start Corefile.example on 127.0.0.1 port 1053
	./bin/coredns -conf Corefile.example

targets: ## serve what Corefile.example checks, to switch off by hand: docs/health.md
	go run ./tools/target 127.0.0.21:8081 127.0.0.22:8081

# A part that fails keeps no other from running; all of it has failed then.
test: ## run every test, those on a real API server included
	@$(MAKE) --no-print-directory --keep-going parts

parts: lint beside alloc

# These wait more than they compute, for leases, intervals and API servers: each has the processors while the others wait. Lines of
# theirs are mixed, and begin with the part.
beside:
	@$(MAKE) --no-print-directory --keep-going -j3 race plain processes browser

lint: ## look for mistakes: vet, staticcheck, gofumpt
	@$(ALIVE) "vet" go vet $(PACKAGES)
	@$(ALIVE) "staticcheck" $(TOOL) staticcheck $(PACKAGES)
	@unformatted="$$($(TOOL) gofumpt -l $$(git ls-files '*.go' ':!:*zz_generated*'))"; \
	if [ -n "$$unformatted" ]; then echo "not formatted, run gofumpt -w on:"; echo "$$unformatted"; exit 1; fi

# All is compiled twice at most: as it is, and for the race detector, which runs where there are goroutines. lint has vetted it.
TEST := env KUADRANT_REQUIRE_KUBE=1 KUADRANT_REQUIRE_PROMTOOL=1 KUADRANT_REQUIRE_BUILDS=1 go test -vet=off -timeout 60m
# What takes longest comes first, and so begins first.
RACED := ./test/kube ./internal/source ./internal/controller . ./cmd/... ./geo ./health $$(go list ./internal/... | grep -vE '/(corefile|inspect)$$') ./test/health

# Of these the race detector would see little, and take long: whole processes, thousands of objects, and what is written once.
PROCESSES := ^(TestPair|TestFailover|TestUpgrade|TestFaultManyDeleted|TestFaultReplicaPaused|TestScenariosOnServer|TestClustersDoc|TestColumns|TestChildrenAreAccepted|TestRecordProbesAreWritten|TestOwnersAreKept|TestSerialsNeverGoBack|TestStaleRegistry|TestClusterSecretRotates)$$

race: build kube-apiserver
	@CGO_ENABLED=1 $(ALIVE) "tests under the race detector" $(TEST) -race -p 2 -skip '$(PROCESSES)' $(RACED)

plain: build kube-apiserver kubectl promtool helm
	@$(ALIVE) "tests without it" $(TEST) -p 2 ./test/deploy $$(go list $(PACKAGES) | grep -vxF -e "$$(go list $(RACED))" | grep -v /test/browser$$)

processes: build kube-apiserver kubectl
	@$(ALIVE) "tests of processes and API servers" $(TEST) -run '$(PROCESSES)' ./test/kube

browser: build ## drive the console in chromium; screenshots go to build/screenshots
	@$(ALIVE) "tests in a browser" $(TEST) -count=1 ./test/browser

# The gates on allocations and sizes do not hold under the race detector.
alloc:
	@$(ALIVE) "allocations and sizes" $(TEST) -run 'Alloc|Size' . ./geo ./records

bench: build kube-apiserver ## measure speed and memory: docs/benchmarks.md says what
	go run ./bench/all

FUZZTIME ?= 30s
fuzz: ## run every fuzz target for FUZZTIME (30s)
	@set -e; for p in $$(go list $(PACKAGES)); do \
		for f in $$(go test -list '^Fuzz' $$p | grep '^Fuzz' || true); do \
			echo "$$p $$f"; go test -run '^$$' -fuzz "^$$f\$$" -fuzztime $(FUZZTIME) -fuzzminimizetime 200x $$p; \
		done; done

crds: ## generate config/crd from the Go types
	go generate ./api/v1

observability: ## make the dashboard and the PrometheusRule of config/observability
	go run ./tools/observability

reference: ## write docs/reference.md and docs/api.md from README.md, config/crd and the code
	go run ./tools/reference

chart: ## write what the Helm chart has of config/, and the table of its README
	go run ./tools/chart

geodb: ## fetch a free country database into build/geodb
	go run ./tools/geodb

# Where its data stay.
KUBE_DATA ?= build/kube
kube: build kube-apiserver kubectl ## start a local API server with the CRDs, to play with: docs/quick-start.md
	go run ./tools/kube $(KUBE_DATA)

# What is built of Kubernetes, all of one version.
KUBE_BUILD = @cd tools/kube-apiserver && $(ALIVE) "build $(@F) of Kubernetes, which takes minutes the first time" go build -ldflags '-s -w -X k8s.io/component-base/version.gitVersion=v1.36.3' -o $(CURDIR)/$@
kube-apiserver: $(KUBE_APISERVER) ## make the API server that tests use

$(KUBE_APISERVER): $(wildcard tools/kube-apiserver/*)
	$(KUBE_BUILD) .

kubectl: $(KUBECTL) ## make the kubectl that tests use

$(KUBECTL): tools/kube-apiserver/go.mod tools/kube-apiserver/go.sum
	$(KUBE_BUILD) k8s.io/kubernetes/cmd/kubectl

promtool: $(PROMTOOL) $(QUERIES) ## make the checker of config/observability

# Without the service discoveries, which ask clouds: nothing is discovered here.
$(PROMTOOL): tools/promtool/go.mod tools/promtool/go.sum
	@cd tools/promtool && $(ALIVE) "build promtool, which takes minutes the first time" go build -tags remove_all_sd -ldflags '-s -w' -o $(CURDIR)/$@ github.com/prometheus/prometheus/cmd/promtool

$(QUERIES): tools/promtool/go.mod tools/promtool/go.sum $(wildcard tools/promtool/queries/*)
	@cd tools/promtool && $(ALIVE) "build queries" go build -o $(CURDIR)/$@ ./queries

helm: $(HELM) ## make the Helm 4 and Helm 3 that tests use

build/bin/helm: $(wildcard tools/helm/*)
	@cd tools/helm && $(ALIVE) "build helm 4, which takes minutes the first time" go build -ldflags '-s -w' -o $(CURDIR)/$@ helm.sh/helm/v4/cmd/helm

# The version of Kubernetes that Helm 3 renders for where it is told of no cluster.
HELM3 := -X helm.sh/helm/v3/pkg/chartutil.k8sVersionMajor=1 -X helm.sh/helm/v3/pkg/chartutil.k8sVersionMinor=36 \
	-X helm.sh/helm/v3/pkg/lint/rules.k8sVersionMajor=1 -X helm.sh/helm/v3/pkg/lint/rules.k8sVersionMinor=36

build/bin/helm3: $(wildcard tools/helm/*)
	@cd tools/helm && $(ALIVE) "build helm 3" go build -ldflags '-s -w $(HELM3)' -o $(CURDIR)/$@ helm.sh/helm/v3/cmd/helm

clean: ## remove what was built here
	rm -rf bin build
