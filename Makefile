# pgdyno: everything a newcomer needs. `make demo` and `make test` install what is missing and say so first.
SHELL := /bin/sh
export PATH := $(PATH):$(HOME)/.cargo/bin
BIN = $${CARGO_TARGET_DIR:-target}/release/pgdyno

.PHONY: help demo build install uninstall site test programs versions check unit bench microbench dist dist-check dist-twice
export PREFIX DESTDIR

help: ## what can be made
	@sed -n 's/^\([a-z-]*\):.*## /  make \1\t/p' Makefile

demo: ## "GIS settings or stock?" on a real extract, to a report (DATA=FILE: your own; FULL=1: the long form; AGAIN=1: measure again)
	@setup/install rust postgres osm2pgsql redis
	@$(MAKE) --no-print-directory build
	@data=$${DATA:-$$(setup/malta)} || exit 74; \
	$(BIN) run experiments/demo.toml --data "$$data" $${FULL:+--full} $${AGAIN:+--again} --report pgdyno-report.html; \
	code=$$?; \
	case $$code in \
		0|1|2|3) ;; \
		64) echo "measured before: make demo AGAIN=1 measures again" >&2; exit 64 ;; \
		*) exit $$code ;; \
	esac

build: ## release build
	@echo "building pgdyno in release mode (some minutes the first time)" >&2
	@cargo build --release --locked --quiet -p pgdyno

# With sudo nothing is built: root has no toolchain of yours, and its files in target/ would be in your way.
install: ## the program, its completions (bash, zsh, fish) and man pages, below PREFIX=/usr/local (and DESTDIR); BIN=FILE: one that is built
ifeq ($(origin BIN),file)
	@if [ -z "$${SUDO_USER:-}" ]; then $(MAKE) --no-print-directory build; fi
endif
	@setup/place install "$(BIN)"

uninstall: ## what install put there (same PREFIX and DESTDIR)
	@setup/place uninstall

site: ## docs/ as a site, in target/site (mdBook)
	@setup/install mdbook
	@PATH="$$PATH:/opt/pgdyno/tools/bin:target/tools/bin" mdbook build

test: ## every check: format, lints, docs, unit, property, snapshot and end-to-end tests
	@setup/install rust lint
	@$(MAKE) --no-print-directory programs & programs=$$!; \
	$(MAKE) --no-print-directory check; code=$$?; \
	wait $$programs && exit $$code
	@$(MAKE) --no-print-directory unit

# What tests start. It is downloaded and unpacked while the checks compile.
programs:
	@setup/install postgres osm2pgsql osmium redis pgbouncer pgpool2 slurm manifests openssl browser source perl filesystems tipg gdal readers
	@setup/versions

versions: ## PostgreSQL 17 and 18 beside the system's own, to compare versions (no PostGIS)
	@setup/versions

bench: ## pgdyno's own cost beside pgbench, redis-benchmark, wrk and oha (setup/install oha), as a Markdown page (BENCH='cost --pairs 9': parts of it; BENCH=believe: its comparisons, an hour; BENCH=cpu: throughput and server CPU per transaction on a busy host; BENCH=gate: what a gate finds; BENCH=announced: do ten commands take as long as they say; BENCH=growth: commands with 100 to 10,000 runs; BENCH=scripts: memory of 1 to 1,000 scripts)
	@setup/install rust postgres redis nginx wrk openssl osm2pgsql
	@$(MAKE) --no-print-directory build
	@cargo build --release --locked --quiet -p pgdyno-benches
	@PGDYNO_DATA=$$(setup/malta) exec $${CARGO_TARGET_DIR:-target}/release/pgdyno-benches --pgdyno $(BIN) $(BENCH)

microbench: ## evaluator, codec, recorder and schedule by themselves
	cargo bench --locked -p pgdyno-script -p pgdyno-protocol -p pgdyno-stats -p pgdyno-engine --bench '*'

dist: ## the packages, in dist/: archive, Debian package, wheel, crates, SBOM, sums (of the last commit; packaging/README.md)
	@setup/install dist
	@packaging/dist

dist-check: ## installs what make dist built in clean systems, and runs it there
	@setup/install dist dist-check postgres
	@packaging/check

dist-twice: ## builds the packages again, in another folder, and compares their bytes
	@setup/install dist
	@packaging/twice

# Everything is built once: what would make a second build fast fills the disk.
test check unit: export CARGO_INCREMENTAL = 0

check: ## format, lints as errors, documentation
	cargo fmt --all --check
	packaging/lint
	cargo clippy --workspace --all-targets --locked --quiet -- -D warnings
	RUSTDOCFLAGS="-D warnings" cargo doc --workspace --no-deps --locked --quiet

# Twice as many threads as CPUs: a test mostly waits, for a server or for a run of a second.
unit: ## all tests (they start private servers of their own, on free ports and sockets)
	PGDYNO_DATA=$$(setup/malta) RUST_TEST_THREADS=$${RUST_TEST_THREADS:-$$((2 * $$(nproc)))} cargo test --workspace --locked --no-fail-fast
