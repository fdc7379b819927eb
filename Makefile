# xk6-omnigraph. `make` alone lists the targets.
SHELL := bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help

# k6 is AGPL and stays out of this repository: host/ supplies its module path through go.work. These
# settings turn a slip (a go command that asks for k6 after all) into a failure instead of a download.
export GONOPROXY := go.k6.io
export GONOSUMDB := go.k6.io
export GOVCS := go.k6.io:off
# The workspace is what makes the build work; a GOWORK=off from outside would ask for the real k6.
export GOWORK := $(CURDIR)/go.work

GO ?= go
BIN := bin
K6 := $(BIN)/k6
# The race detector needs a C compiler; without one the tests run all the same.
RACE := $(shell $(GO) env CGO_ENABLED 2>/dev/null | grep -q 1 && command -v "$$($(GO) env CC 2>/dev/null)" >/dev/null 2>&1 && echo -race)
GOLANGCI_VERSION := v2.15.0
GOLANGCI := $(BIN)/tools/golangci-lint-$(GOLANGCI_VERSION)
GOSEC_VERSION := v2.30.0
GOSEC := $(BIN)/tools/gosec-$(GOSEC_VERSION)
# Where the tests' counts are added up: `make test COUNTS=file`.
COUNTS ?=

.PHONY: help
help: ## List the targets
	@awk 'BEGIN {FS = ":.*## "} /^[a-z0-9-]+:.*## / {printf "  %-12s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

.PHONY: build
build: ## Build bin/k6 (the embedded host with the extension) and bin/omnigraph-emulator
	@mkdir -p $(BIN)
	$(GO) build -o $(BIN)/ ./cmd/...

.PHONY: spike
spike: build ## The main job: CLI against HTTP on a rig of its own, with a report (PRESET=full|short)
	@export OMNIGRAPH_EMULATOR_PROFILE=$${OMNIGRAPH_EMULATOR_PROFILE:-spike}; \
	$(K6) x omnigraph rig run --rows 913 -- $(K6) run --no-usage-report scripts/spike.js

.PHONY: test
test: test-root test-host ## All tests that need Go alone (the real omnigraph too, where it is found)

.PHONY: test-root
test-root: build
	@$(GO) run ./internal/tool/testcount -counts "$(COUNTS)" -- $(GO) test -json $(RACE) -timeout 20m \
		$$($(GO) list ./... | grep -v '/analysis$$')
	@# Pure functions without a goroutine of their own, and simulations that the race detector would make ten times as long.
	@$(GO) run ./internal/tool/testcount -counts "$(COUNTS)" -- $(GO) test -json -timeout 20m ./analysis

.PHONY: test-host
test-host:
	@cd host && $(GO) run ../internal/tool/testcount -counts "$(abspath $(COUNTS))" -- $(GO) test -json $(RACE) -timeout 20m -skip TestMakeRequestAllocatesLittle ./...
	@# The race detector makes pools forget: what counts allocations runs without it.
	@cd host && $(GO) run ../internal/tool/testcount -counts "$(abspath $(COUNTS))" -- $(GO) test -json -timeout 20m -run TestMakeRequestAllocatesLittle ./lib/netext/httpext

.PHONY: test-full
test-full: test test-scripts test-types test-dashboards test-deploy test-browser ## The same, and what needs other programs, which it installs itself

.PHONY: test-scripts
test-scripts: build ## Run test/*.test.js and the examples on bin/k6 against a rig
	@internal/tool/run-scripts.sh "$(COUNTS)"

.PHONY: test-browser
test-browser: ## Look at the HTML report in Chromium
	@internal/tool/test-browser.sh "$(COUNTS)"

.PHONY: test-types
test-types: ## Check index.d.ts against scripts and examples with tsc
	@internal/tool/check-types.sh "$(COUNTS)"

.PHONY: test-dashboards
test-dashboards: build ## Test the dashboards and rules on a Prometheus that bin/k6 fills
	@internal/tool/test-dashboards.sh "$(COUNTS)"

.PHONY: test-deploy
test-deploy: build ## Read deploy/ as BuildKit, compose and Kubernetes do, and run the image
	@internal/tool/test-deploy.sh "$(COUNTS)"

.PHONY: lint
lint: $(GOLANGCI) $(GOSEC) ## golangci-lint over all modules, and gosec as xk6 lint runs it
	$(GOLANGCI) run ./...
	cd host && $(CURDIR)/$(GOLANGCI) run --config ../.golangci.yml ./...
	cd dashboards/generate && GOWORK= $(CURDIR)/$(GOLANGCI) run --config ../../.golangci.yml ./...
	cd test/deploy/formats && GOWORK= $(CURDIR)/$(GOLANGCI) run --config ../../../.golangci.yml ./...
	GOWORK= $(GOSEC) -quiet -exclude-generated ./...

$(GOLANGCI): PACKAGE := github.com/golangci/golangci-lint/v2/cmd/golangci-lint@$(GOLANGCI_VERSION)
$(GOSEC): PACKAGE := github.com/securego/gosec/v2/cmd/gosec@$(GOSEC_VERSION)
$(GOLANGCI) $(GOSEC):
	@mkdir -p $(BIN)/tools
	cd $(BIN)/tools && GOWORK=off GOFLAGS=-mod=mod GOBIN=$(CURDIR)/$(BIN)/tools $(GO) install $(PACKAGE)
	@mv $(BIN)/tools/$(firstword $(subst @, ,$(notdir $(PACKAGE)))) $@

.PHONY: fmt
fmt: ## Format all Go sources
	@gofmt -w $$(git ls-files '*.go')

.PHONY: bench
bench: build ## Compare the module with k6/http, a raw loop and raw os/exec, interleaved; then the packages' benchmarks
	@$(GO) build -o $(BIN)/bench ./bench
	@$(BIN)/bench
	@$(K6) x omnigraph rig run -- $(BIN)/bench -cli
	@$(GO) test -run '^$$' -bench . -benchmem -benchtime 200ms ./omnigraph/... ./recorder/...

.PHONY: size
size: build ## Fail if the extension adds more than 10 MB to a k6 binary
	@internal/tool/size.sh

.PHONY: get
get: ## Add or upgrade a dependency: make get PKG=module@version
	@test -n "$(PKG)" || { echo "make get: say which, for example PKG=gonum.org/v1/gonum@v0.17.0" >&2; exit 2; }
	@internal/tool/modfile.sh get $(PKG)

.PHONY: tidy
tidy: ## Make go.mod and go.sum match the sources, without asking for k6
	@internal/tool/modfile.sh mod tidy
	@cd host && GOWORK=off $(GO) mod tidy

.PHONY: docs
docs: ## Write the generated parts of docs/ and index.d.ts
	@$(GO) test ./omnigraph -run TestTheReferenceIsWhatTheTablesSay -update
	@$(GO) test ./omnigraph -run TestTheDashboardsKnowTheMetrics -update
	@$(GO) test ./test/docs -run ErrorKind -update
	@$(MAKE) --no-print-directory dashboards

.PHONY: dashboards
dashboards: ## Write dashboards/*.json
	@cd dashboards/generate && GOWORK= $(GO) run .

.PHONY: picture
picture: ## Take the README's picture of the sample report (needs Chromium)
	@internal/tool/picture.sh
