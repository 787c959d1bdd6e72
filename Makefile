# A page of doors; CMake does the work.
BUILD ?= build
PREFIX ?= /usr/local
PYTHON ?= python3
ATTN := $(BUILD)/attn

MAKEFLAGS += --no-print-directory

.PHONY: build build-all build-asan setup run test test-long test-asan test-tsan test-robust fuzz check check-long coverage \
        lint format install package wheel wheel-test docs bench bench-peers gpu-check gpu-kit clean distclean help
.DEFAULT_GOAL := build

build: $(BUILD)/CMakeCache.txt ## compile the program to build/attn
	@cmake --build $(BUILD) --target programs --parallel $$(nproc)

build-all: $(BUILD)/CMakeCache.txt ## the same, and the tests
	@cmake --build $(BUILD) --parallel $$(nproc)

setup: ## look for compilers and libraries, install what is missing
	@.ci/setup

# What nvcc compiles comes behind what is shown.
run: setup $(BUILD)/CMakeCache.txt ## summarise and run the built-in encoder
	@cmake --build $(BUILD) --target attn --parallel $$(nproc)
	$(ATTN) summary
	$(ATTN) run
	@cmake --build $(BUILD) --target programs --parallel $$(nproc)

test: setup build-all ## compile and run all tests
	@ctest --test-dir $(BUILD) --output-on-failure --parallel $$(nproc)

test-long: setup build-all ## the same with what takes long
	@ATTN_TEST_LONG=1 ctest --test-dir $(BUILD) --output-on-failure --parallel $$(nproc)

check: ## what must hold before a change is taken (docs/contributing.md)
	@.ci/run

check-long: test-long test-asan test-tsan fuzz test-robust ## what finds little on a small change, in hours
	@LINT_ALL=1 $(MAKE) lint
	@if [ -f $(BUILD)/libattn_cuda.so ]; then cmake --build $(BUILD) --target attn_test_gpu --parallel $$(nproc); fi

test-robust: setup build-all ## faults, kills, signals, repeats (SHORT=1: a share of each)
	@tests/robust/robust.py $(BUILD) $(if $(SHORT),--short)

# By clang, which compiles instrumented code faster, and has libFuzzer.
SANITIZE := cmake -S . -G Ninja -DATTN_CUDA=OFF -DCMAKE_C_COMPILER=clang-14 -DCMAKE_CXX_COMPILER=clang++-14 --log-level=WARNING

build-asan: setup
	@.ci/setup clang
	@$(SANITIZE) -B build-asan "-DATTN_SANITIZE=address;undefined" -DATTN_FUZZ=ON

test-asan: build-asan ## all tests under AddressSanitizer, UBSan and LeakSanitizer, in build-asan
	@cmake --build build-asan
	@ASAN_OPTIONS=detect_leaks=1 UBSAN_OPTIONS=print_stacktrace=1 ctest --test-dir build-asan --output-on-failure --parallel $$(nproc)

# OpenMP's own threads are not instrumented, and would be reported: one is left.
test-tsan: setup ## all tests under ThreadSanitizer, in build-tsan
	@.ci/setup clang
	@$(SANITIZE) -B build-tsan -DATTN_SANITIZE=thread
	@cmake --build build-tsan
	@OMP_NUM_THREADS=1 TSAN_OPTIONS="halt_on_error=1 suppressions=$(CURDIR)/tests/tsan.supp" ctest --test-dir build-tsan --output-on-failure --parallel $$(nproc)

fuzz: build-asan $(BUILD)/CMakeCache.txt ## fuzz every parser for T seconds (60), or those that TARGETS names, in build-asan
	@tests/fuzz/run build-asan $(BUILD)

coverage: setup ## which lines the tests run, per module, in build-coverage
	@.ci/setup coverage
	@cmake -S . -B build-coverage $(if $(shell command -v ninja),-G Ninja) -DATTN_CUDA=OFF -DATTN_COVERAGE=ON --log-level=WARNING
	@cmake --build build-coverage --parallel $$(nproc)
	@.ci/coverage build-coverage

lint: ## check includes, format and common mistakes (LINT_ALL=1: in every file)
	@.ci/setup lint
	@.ci/lint

format: ## format the sources in place
	@.ci/setup lint
	@.ci/lint format

install: build ## install into PREFIX (/usr/local), with DESTDIR before it
	@cmake --install $(BUILD) --prefix $(PREFIX)

package: build ## pack a .deb and a .tar.gz that needs no packages, into build/
	@.ci/setup package
	@cd $(BUILD) && rm -f attn_*.deb attn-*.tar.gz && cpack -G DEB && ATTN_BUNDLE=1 cpack -G TGZ

wheel: ## build the Python package into dist/, for the Python that PYTHON names (python3)
	@PYTHON="$(PYTHON)" .ci/setup wheel
	@PYTHON="$(PYTHON)" .ci/wheel

wheel-test: ## install the wheel of dist/ into a fresh environment and test it (WITH="mypy jax torch": with these too)
	@PYTHON="$(PYTHON)" WITH="$(WITH)" tests/python/run

docs: setup build ## run the commands that README.md and docs/ show, and put what they print into the pages
	@docs/outputs

bench: setup build ## measure the built-in encoder
	$(ATTN) bench

bench-peers: setup build ## PyTorch, ONNX Runtime, OpenVINO and Keras in turn with attn (hours; ARGS='--only tiny')
	@.ci/setup peers
	@cmake --build $(BUILD) --target attn-loaded --parallel $$(nproc)
	@bench/cpu/run $(ARGS)

gpu-check: ## on a machine with a GPU: PyTorch in turn, tests, sanitizer (25 minutes; PART=attention|encoders|tests|sanitizer: 9; DRY=1: only tell)
	@bench/gpu/check $(if $(DRY),--dry-run) $(PART)

gpu-kit: setup build-all ## pack the build for gpu-check on a machine that cannot build it
	@cmake --build $(BUILD) --target attn_test_gpu --parallel $$(nproc)
	@bench/gpu/kit

clean: ## remove what was built, keep what was fetched
	@if [ -d $(BUILD) ]; then find $(BUILD) -mindepth 1 -maxdepth 1 ! -name deps -exec rm -rf {} +; fi

distclean: ## remove the build folder whole
	@rm -rf $(BUILD)

help: ## show this page
	@sed -n 's/^\([a-z-]*\):.*## /make \1\t/p' $(MAKEFILE_LIST) | expand -t 18

$(BUILD)/CMakeCache.txt: | $(if $(wildcard $(BUILD)/CMakeCache.txt),,setup)
	@cmake -S . -B $(BUILD) $(if $(shell command -v ninja),-G Ninja) --log-level=WARNING || { rm -f $@; exit 1; }
