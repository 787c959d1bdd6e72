# Entry points; CMake does the work.
BUILD ?= build
PREFIX ?= /usr/local
PYTHON ?= python3
PYTHONS ?= $(PYTHON)
ATTN := $(BUILD)/attn

MAKEFLAGS += --no-print-directory

.PHONY: build build-all build-asan setup run test test-long test-asan test-tsan test-robust fuzz check check-long coverage \
        lint format install package release release-test wheel wheel-test docs site bench bench-peers gpu-check gpu-kit clean distclean help
.DEFAULT_GOAL := build

build: $(BUILD)/CMakeCache.txt ## compile the program to build/attn
	@cmake --build $(BUILD) --target programs --parallel $$(nproc)

build-all: $(BUILD)/CMakeCache.txt ## compile the program and the tests
	@cmake --build $(BUILD) --parallel $$(nproc)

setup: ## install missing compilers and libraries
	@.ci/setup

# nvcc compiles only after the output is shown.
run: setup $(BUILD)/CMakeCache.txt ## summarize and run the built-in encoder
	@cmake --build $(BUILD) --target attn --parallel $$(nproc)
	$(ATTN) summary
	$(ATTN) run
	@cmake --build $(BUILD) --target programs --parallel $$(nproc)

test: setup build-all ## compile and run all tests
	@ctest --test-dir $(BUILD) --output-on-failure --parallel $$(nproc)

test-long: setup build-all ## run all tests, including the slow ones
	@ATTN_TEST_LONG=1 ctest --test-dir $(BUILD) --output-on-failure --parallel $$(nproc)

check: ## run the checks for every change (docs/contributing.md)
	@.ci/run

check-long: test-long test-asan test-tsan fuzz test-robust ## run the slow checks, which take hours
	@LINT_ALL=1 $(MAKE) lint
	@if [ -f $(BUILD)/libattn_cuda.so ]; then cmake --build $(BUILD) --target attn_test_gpu --parallel $$(nproc); fi

test-robust: setup build-all ## test faults, kills, signals and repeats (SHORT=1: a sample of each)
	@tests/robust/robust.py $(BUILD) $(if $(SHORT),--short)

# clang compiles instrumented code faster, and has libFuzzer.
SANITIZE := cmake -S . -G Ninja -DATTN_CUDA=OFF -DCMAKE_C_COMPILER=clang-14 -DCMAKE_CXX_COMPILER=clang++-14 --log-level=WARNING

build-asan: setup
	@.ci/setup clang
	@$(SANITIZE) -B build-asan "-DATTN_SANITIZE=address;undefined" -DATTN_FUZZ=ON

test-asan: build-asan ## run all tests under AddressSanitizer, UBSan and LeakSanitizer, in build-asan
	@cmake --build build-asan
	@ASAN_OPTIONS=detect_leaks=1 UBSAN_OPTIONS=print_stacktrace=1 ctest --test-dir build-asan --output-on-failure --parallel $$(nproc)

# OpenMP's own threads are not instrumented and would be reported, so there is one thread.
test-tsan: setup ## run all tests under ThreadSanitizer, in build-tsan
	@.ci/setup clang
	@$(SANITIZE) -B build-tsan -DATTN_SANITIZE=thread
	@cmake --build build-tsan
	@OMP_NUM_THREADS=1 TSAN_OPTIONS="halt_on_error=1 suppressions=$(CURDIR)/tests/tsan.supp" ctest --test-dir build-tsan --output-on-failure --parallel $$(nproc)

fuzz: build-asan $(BUILD)/CMakeCache.txt ## fuzz every parser, or TARGETS, for T seconds (default 60), in build-asan
	@tests/fuzz/run build-asan $(BUILD)

coverage: setup ## measure the line coverage of the tests per module, in build-coverage
	@.ci/setup coverage
	@cmake -S . -B build-coverage $(if $(shell command -v ninja),-G Ninja) -DATTN_CUDA=OFF -DATTN_COVERAGE=ON --log-level=WARNING
	@cmake --build build-coverage --parallel $$(nproc)
	@.ci/coverage build-coverage

lint: ## check includes, format, prose and common mistakes (LINT_ALL=1: in every file)
	@.ci/setup lint
	@.ci/lint

format: ## format the sources in place
	@.ci/setup lint
	@.ci/lint format

install: build ## install into PREFIX (default /usr/local) under DESTDIR
	@cmake --install $(BUILD) --prefix $(PREFIX)

package: build ## build a .deb and a self-contained .tar.gz in build/
	@.ci/setup package
	@cd $(BUILD) && rm -f attn_*.deb attn-*.tar.gz && cpack -G DEB && ATTN_BUNDLE=1 cpack -G TGZ

release: setup ## build all packages of a version in dist/ (PYTHONS="python3.9 …", ARCHS=amd64; docs/releasing.md)
	@.ci/setup release
	@PYTHONS="$(PYTHONS)" ARCHS="$(ARCHS)" .ci/release/make

release-test: ## install the packages of dist/ on fresh systems and run them there (as root; SYSTEMS="bookworm empty")
	@.ci/setup release
	@SYSTEMS="$(SYSTEMS)" .ci/release/test

wheel: ## build the Python package in dist/ for PYTHON (default python3)
	@PYTHON="$(PYTHON)" .ci/setup wheel
	@PYTHON="$(PYTHON)" .ci/wheel

wheel-test: ## test the wheel of dist/ in a fresh environment (WITH="mypy jax torch" installs these too)
	@PYTHON="$(PYTHON)" WITH="$(WITH)" tests/python/run

docs: setup build ## rerun the commands in README.md and docs/, and update their output
	@docs/outputs

site: setup build ## build the site of README.md and docs/ in dist/site
	@.ci/setup site
	@build/deps/site/bin/python docs/site dist/site

bench: setup build ## measure the built-in encoder
	$(ATTN) bench

bench-peers: setup build ## compare with PyTorch, ONNX Runtime, OpenVINO and Keras (hours; ARGS='--only tiny')
	@.ci/setup peers
	@cmake --build $(BUILD) --target attn-loaded --parallel $$(nproc)
	@bench/cpu/run $(ARGS)

gpu-check: ## on a GPU: compare with PyTorch, test, sanitize (25 minutes; PART=attention|encoders|tests|sanitizer: 9; DRY=1: print only)
	@bench/gpu/check $(if $(DRY),--dry-run) $(PART)

gpu-kit: setup build-all ## pack the build for gpu-check on another machine
	@cmake --build $(BUILD) --target attn_test_gpu --parallel $$(nproc)
	@bench/gpu/kit

clean: ## remove the build, keep downloads
	@if [ -d $(BUILD) ]; then find $(BUILD) -mindepth 1 -maxdepth 1 ! -name deps -exec rm -rf {} +; fi

distclean: ## remove the build folder
	@rm -rf $(BUILD)

help: ## show this page
	@sed -n 's/^\([a-z-]*\):.*## /make \1\t/p' $(MAKEFILE_LIST) | expand -t 18

$(BUILD)/CMakeCache.txt: | $(if $(wildcard $(BUILD)/CMakeCache.txt),,setup)
	@cmake -S . -B $(BUILD) $(if $(shell command -v ninja),-G Ninja) --log-level=WARNING || { rm -f $@; exit 1; }
