# SPDX-License-Identifier: GPL-2.0-only
# Builds rlctl, its BPF programs and its tests; everything generated stays under build/.
# `make help` lists the targets. V=1 shows the commands, WERROR=1 makes warnings errors (as CI does).

PREFIX  ?= /usr/local
DESTDIR ?=
SBINDIR ?= $(PREFIX)/sbin
MANDIR  ?= $(PREFIX)/share/man
BASHDIR ?= $(PREFIX)/share/bash-completion/completions
ZSHDIR  ?= $(PREFIX)/share/zsh/site-functions
UNITDIR ?= $(PREFIX)/lib/systemd/system
SYSCONFDIR ?= /etc
DATADIR ?= $(PREFIX)/share/rlctl
DOCDIR  ?= $(PREFIX)/share/doc/rlctl
# The only place that defines the version; a build from git appends the commit.
RELEASE := $(shell sed -n '1s/.*(\(.*\)).*/\1/p' debian/changelog)
COMMIT  := $(shell git describe --always --dirty --exclude='*' 2>/dev/null)
VERSION ?= $(RELEASE)$(if $(COMMIT),+$(COMMIT))
WERROR  ?= $(if $(filter true,$(CI)),1)

ifeq ($(origin CC),default)
CC := gcc
endif
export PATH := $(PATH):/usr/local/sbin:/usr/sbin:/sbin
CLANG      ?= clang
LLVM_STRIP ?= llvm-strip
BPFTOOL    ?= $(or $(shell bpftool version >/dev/null 2>&1 && echo bpftool), \
		$(lastword $(wildcard /usr/lib/linux-tools/*/bpftool)),bpftool)
PKG_CONFIG ?= pkg-config
# For small systems, MINIMAL=1 leaves out each file that includes one of these, and takes NAME_minimal.c, which says so
# where it is called, in.
LEFT_OUT   := hiredis|openssl|curses|microhttpd|maxminddb
MINIMAL_ON := $(filter-out 0,$(MINIMAL))
unwanted    = $(if $(MINIMAL_ON),$(shell echo '$(1)' | tr ' ' '\n' | grep -E '$(LEFT_OUT)'))
wanted      = $(filter-out $(call unwanted,$(1)),$(1))
PACKAGES   := $(call wanted,libxdp libbpf json-c libpcap libmicrohttpd ncursesw hiredis libcap libmnl libmaxminddb \
	      $(shell $(PKG_CONFIG) --exists hiredis_ssl openssl 2>/dev/null && echo hiredis_ssl openssl))

CFLAGS   ?= -O2 -g
WARNINGS := -Wall -Wextra -Wshadow $(if $(filter-out 0,$(WERROR)),-Werror)
HARDEN   := -U_FORTIFY_SOURCE -D_FORTIFY_SOURCE=3 -fstack-protector-strong -fPIE
INCLUDES := -iquote user -Iinclude -Ibpf -Ibuild -Itests
# The directories of user/. Headers are included by their path from there or from bpf/, and a layer includes those
# of the layers that it may use and no others: build/.layers. `make lint` shows them (scripts/layers.py).
LAYERS   := base policy compile kernel fleet watch cli
below_base    := base
below_policy  := $(below_base) policy
below_compile := $(below_policy) compile
below_kernel  := $(below_compile) kernel
below_fleet   := $(below_kernel) fleet
below_watch   := $(below_kernel) watch
below_cli     := $(LAYERS)
LIBS     := $(or $(shell $(PKG_CONFIG) --libs $(PACKAGES) 2>/dev/null),$(call wanted,-lxdp -lbpf -ljson-c -lpcap \
	    -lmicrohttpd -lncursesw -ltinfo -lhiredis -lcap -lmnl -lmaxminddb)) \
	    -lelf -lm -lz -pthread
# Loaded by the verbs that call them (user/base/lazy.h); tests are linked with them.
LAZY     := $(call wanted,pcap microhttpd)
USER_FLAGS   := -std=gnu11 -D_GNU_SOURCE $(INCLUDES) $(WARNINGS) \
		$(shell $(PKG_CONFIG) --cflags $(PACKAGES) 2>/dev/null) $(CPPFLAGS)
USER_CFLAGS  := $(USER_FLAGS) $(HARDEN) $(CFLAGS)
USER_LDFLAGS := -pie -Wl,-z,relro,-z,now $(CFLAGS) $(LDFLAGS)
# Block placement lets a loop's end fall through to its head, which kernels as old as 6.1 refuse.
BPF_CFLAGS   := -O2 -g -target bpf -mcpu=v3 -Wall $(if $(filter-out 0,$(WERROR)),-Werror) \
		-mllvm -disable-block-placement \
		-Iinclude -Ibpf -Itests -idirafter /usr/include/$(shell $(CC) -print-multiarch 2>/dev/null)

objects   = $(patsubst %.c,build/%.o,$(1))
skeletons = $(patsubst %.bpf.c,build/%.skel.h,$(notdir $(1)))
programs  = $(patsubst %.c,build/%,$(wildcard tests/$(1)/test_*.c))

BENCH_C   := $(filter-out %.bpf.c,$(wildcard tests/bench/*.c))
COMMAND_C := $(wildcard user/*/*.c user/*/*/*.c)
COMMAND_C := $(filter-out $(if $(MINIMAL_ON),$(shell grep -lE '#include [<"].*($(LEFT_OUT))' $(COMMAND_C)),%_minimal.c),$(COMMAND_C))
COMMAND_O := $(call objects,$(COMMAND_C))
CLI_O     := $(filter-out build/user/cli/main.o,$(filter build/user/cli/%,$(COMMAND_O)))
LIBRARY_O := $(filter-out build/user/cli/%,$(COMMAND_O))
ARCHIVES  := build/cli.a build/librlctl.a
# Carried by the command compressed, for there are several megabytes of them: user/kernel/attach/object_bytes.c.
PACKED    := $(patsubst bpf/%.bpf.c,%,$(wildcard bpf/rlctl*.bpf.c))
PAGES     := build/page.html build/incidents.html
COMMAND_S := build/lazy_files.h $(call skeletons,$(wildcard bpf/*.bpf.c)) $(patsubst user/fleet/%,build/%.h,$(wildcard user/fleet/*.lua)) \
	     $(PAGES:=.h) $(PACKED:%=build/%.gz.h)
BENCH_S   := $(call skeletons,$(wildcard tests/bench/*.bpf.c))
TESTS     := $(call programs,unit) $(call programs,prog)
SANE_TESTS:= $(patsubst build/%,build/sane/%,$(call programs,unit))
FUZZERS   := $(patsubst tests/fuzz/%.c,build/fuzz/%,$(wildcard tests/fuzz/fuzz_*.c))
BENCHES   := $(patsubst tests/bench/%.c,build/%,$(if $(BENCH_C),$(shell grep -lw main $(BENCH_C))))
BENCH_O   := $(filter-out $(BENCHES:build/%=build/tests/bench/%.o),$(call objects,$(BENCH_C)))

Q   := $(if $(V),,@)
say  = @$(if $(V),:,printf '  %-6s %s\n' $(1) $(2))

.DELETE_ON_ERROR:
.SECONDARY:
.PHONY: all static tests sane fuzzers benches check quick check-vm lint fuzz bench bench-rules bench-matches bench-sets bench-set-lookups bench-policies bench-proof bench-shares bench-challenge bench-fleet bench-fleet-keys install uninstall deb rpm clean help FORCE

all: build/rlctl
tests: $(TESTS) sane fuzzers build/rlctl.sane
sane: $(SANE_TESTS)
fuzzers: $(FUZZERS)
benches: $(BENCHES)

build/rlctl: build/user/cli/main.o $(ARCHIVES)
	$(call say,LD,$@)
	$(Q)$(CC) $(USER_LDFLAGS) -o $@ $^ $(filter-out $(LAZY:%=-l%),$(LIBS)) -ldl

# One file for machines that lack the libraries: it needs their libc alone, and for what is loaded its library as ever.
static: build/static/rlctl
STATIC_LIBS = $(filter-out -lm -ldl -lpthread -pthread,$(shell $(PKG_CONFIG) --static --libs \
	      $(filter-out $(LAZY:%=lib%),$(PACKAGES)) libelf zlib))
build/static/rlctl: build/user/cli/main.o $(ARCHIVES) scripts/static.sh
	$(call say,LD,$@)
	$(Q)scripts/static.sh $(CC) $(@D)
	$(Q)$(CC) $(USER_LDFLAGS) -s -o $@ $(filter-out %.sh,$^) -L$(@D) -Wl,-Bstatic $(STATIC_LIBS) -Wl,-Bdynamic -lm -ldl -pthread

# Their names for the dynamic linker: what is linked with one library needs just that. Packages find what rlctl
# depends on in build/lazy, which is linked with all of them.
build/lazy.needs: build/.flags | build/.deps
	$(Q)$(CC) -shared -o build/lazy $(LDFLAGS) -Wl,--no-as-needed $(LAZY:%=-l%)
	$(Q)for name in $(LAZY); do \
		$(CC) -shared -nostdlib -o $@ $(LDFLAGS) -Wl,--no-as-needed -l$$name && LC_ALL=C readelf -d $@ | sed -n \
		"s/.*(NEEDED).*\[\(lib$$name.*\)\]/#define LAZY_$$(echo $$name | tr a-z A-Z) \"\1\"/p" || exit 1; \
		done >build/lazy_files.h.new && mv build/lazy_files.h.new build/lazy_files.h
build/lazy_files.h: build/lazy.needs ;

# user/cli, and the layers below it, as archives, so that a test or bench tool links only the code it calls.
# Two files of one name are both kept: hence q.
build/librlctl.a: $(LIBRARY_O)
build/cli.a: $(CLI_O)
$(ARCHIVES) $(ARCHIVES:build/%=build/sane/%):
	$(call say,AR,$@)
	$(Q)rm -f $@ && $(AR) qcs $@ $^

$(TESTS): %: %.o $(ARCHIVES)
	$(call say,LD,$@)
	$(Q)$(CC) $(USER_LDFLAGS) -o $@ $(filter %.o,$^) $(ARCHIVES) $(LIBS) -lcmocka

$(BENCHES): build/%: build/tests/bench/%.o $(BENCH_O) $(ARCHIVES)
	$(call say,LD,$@)
	$(Q)$(CC) $(USER_LDFLAGS) -o $@ $(filter %.o,$^) $(ARCHIVES) $(LIBS)

# Files beside the tests that are not tests are helpers of all tests of that directory, tests/cases.c of both.
helpers = build/tests/cases.o $(call objects,$(filter-out tests/$(1)/test_% %.bpf.c,$(wildcard tests/$(1)/*.c)))
$(call programs,unit): $(call helpers,unit)
$(call programs,prog): $(call helpers,prog)

# The same objects built with clang's ASan and UBSan: unit tests, and fuzz targets linked with libFuzzer. A
# target is a file tests/fuzz/fuzz_NAME.c; a function it defines replaces the one of the command, so that it
# can stand in for the kernel.
SANE     := -fsanitize=address,undefined,fuzzer-no-link -fno-sanitize-recover=all
SANE_C   := -Wno-gnu -DSANITIZED -O1 -gline-tables-only -fno-omit-frame-pointer $(SANE)
SANE_A   := $(ARCHIVES:build/%=build/sane/%)

build/sane/%.o: %.c build/.flags | build/.deps build/.deps-tests $(COMMAND_S)
	$(call say,SANE,$<)
	$(Q)mkdir -p $(@D)
	$(Q)$(CLANG) $(USER_FLAGS) $(SANE_C) $(VERSION_FLAG) -MMD -MP -c -o $@ $<

build/sane/librlctl.a: $(LIBRARY_O:build/%=build/sane/%)
build/sane/cli.a: $(CLI_O:build/%=build/sane/%)

$(SANE_TESTS): %: %.o $(SANE_A)
	$(call say,LD,$@)
	$(Q)$(CLANG) $(SANE) -o $@ $(filter %.o,$^) $(SANE_A) $(LIBS) -lcmocka
$(SANE_TESTS): $(patsubst build/%,build/sane/%,$(call helpers,unit))

build/rlctl.sane: build/sane/user/cli/main.o $(SANE_A)
	$(call say,LD,$@)
	$(Q)$(CLANG) $(SANE) -o $@ $^ $(LIBS) -ldl

$(FUZZERS): build/fuzz/%: build/sane/tests/fuzz/%.o $(SANE_A)
	$(call say,LD,$@)
	$(Q)mkdir -p $(@D)
	$(Q)$(CLANG) $(SANE) -fsanitize=fuzzer -o $@ $(filter %.o,$^) $(SANE_A) $(LIBS)

empty :=
above  = $(filter-out $(below_$(1)),$(LAYERS))
# A header of a layer above is named, and the build fails.
build/.layers: $(wildcard user/*/*.[ch] user/*/*/*.[ch])
	$(Q)mkdir -p $(@D)
	$(Q)$(foreach l,$(filter-out cli,$(LAYERS)),! grep -rnE '^#include "($(subst $(empty) ,|,$(call above,$(l))))/' user/$(l) &&) touch $@

build/%.o: %.c build/.flags | build/.layers build/.deps $(COMMAND_S)
	$(call say,CC,$<)
	$(Q)mkdir -p $(@D)
	$(Q)$(CC) $(USER_CFLAGS) $(VERSION_FLAG) -MMD -MP -c -o $@ $<

$(call objects,$(wildcard tests/*.c tests/*/*.c)): | build/.deps-tests $(BENCH_S)

# libbpf reads neither the relocations of type information nor the labels that they are for.
BPF_STRIP := $(LLVM_STRIP) -g --remove-section=.rel.BTF --remove-section=.rel.BTF.ext --wildcard --strip-symbol="*LBB*"
define BPF_RULE
build/%.bpf.o: $(1)/%.bpf.c build/.flags-bpf | build/.deps
	$$(call say,BPF,$$<)
	$$(Q)$$(CLANG) $$(BPF_CFLAGS) -I$(1) -MMD -MP -c -o $$@ $$<
	$$(Q)$$(BPF_STRIP) $$@
endef
$(foreach dir,bpf tests/bench,$(eval $(call BPF_RULE,$(dir))))

# clang-tidy does not check the files that bpftool writes.
build/%.skel.h: build/%.bpf.o
	$(call say,SKEL,$@)
	$(Q)echo '/* NOLINTBEGIN */' >$@ && $(BPFTOOL) gen skeleton $< >>$@ && echo '/* NOLINTEND */' >>$@
	$(Q)$(WITHOUT_BYTES)

# In the place of the bytes in the skeleton, which are lines that begin with a backslash.
$(PACKED:%=build/%.skel.h): WITHOUT_BYTES = sed -i '/^\\.*\\$$/d; s/^\\.*";$$/";/' $@
build/%.gz.h: build/%.bpf.o
	$(call say,GZIP,$@)
	$(Q)gzip -9nc $< | od -An -v -tx1 | sed 's/ /\\x/g; s/.*/"&"/' >$@

# A file as one string literal.
literal = mkdir -p $(@D) && sed 's/[\\"]/\\&/g; s/.*/"&\\n"/' $< >$@
build/%.lua.h: user/fleet/%.lua
	$(call say,LUA,$@)
	$(Q)$(literal)
# A page: the template with the style sheet and the scripts in it, and the hash of the one script that a browser may run.
build/page.html: COMMAND = simulate -j
build/incidents.html: COMMAND = report
$(PAGES): build/%.html: user/cli/report/%.js $(addprefix user/cli/report/,page.html page.css kit.js chart.js)
	$(Q)mkdir -p $(@D) && cd $(<D) && hash=$$( (echo; cat kit.js chart.js $(<F)) | sha256sum | cut -c -64 | sed 's/../\\x&/g') && \
		hash=$$(env printf "$$hash" | base64) && \
		sed "s,@HASH@,$$hash,; s,@COMMAND@,$(COMMAND),; s,@VERB@,$(firstword $(COMMAND)),; s,@SCRIPT@,@$(<F)@,; \
			/^@[a-z.]*@$$/{s/@//g;s/.*/cat &/e}" page.html >$(CURDIR)/$@
$(PAGES:=.h): %.h: %
	$(call say,HTML,$@)
	$(Q)$(literal)

# A missing dependency is reported up front, with the package to install; scripts/deps.sh knows the names.
build/.deps: THINGS = --build
build/.deps-tests: THINGS = cmocka.h libclang_rt.fuzzer.a
build/.deps build/.deps-tests: scripts/deps.sh
	@missing=$$(scripts/deps.sh --missing $(THINGS) $(if $(MINIMAL_ON),| grep -vE '^[^ ]*($(LEFT_OUT))')); [ -z "$$missing" ] || \
		{ echo "$$missing" | sed 's/^/make: /' >&2; exit 1; }
	@mkdir -p $(@D) && touch $@

# Other flags or another version rebuild what they reach.
build/.flags: NOW = $(MINIMAL_ON) $(LAYERS) $(CC) $(filter-out -Werror,$(USER_CFLAGS)) $(CLANG)
build/.flags-bpf: NOW = $(CLANG) $(filter-out -Werror,$(BPF_CFLAGS)) $(BPF_STRIP)
build/.version: NOW = $(VERSION)
build/.flags build/.flags-bpf build/.version: FORCE | build/.deps
	@echo '$(NOW)' | cmp -s - $@ || echo '$(NOW)' >$@

VERSIONED_C := $(shell grep -lsw RLCTL_VERSION $(COMMAND_C))
VERSIONED_O := $(VERSIONED_C:%.c=build/%.o) $(VERSIONED_C:%.c=build/sane/%.o)
$(VERSIONED_O): build/.version
$(VERSIONED_O): VERSION_FLAG = -DRLCTL_VERSION='"$(VERSION)"'
build/user/cli/policy/cmd_save.o build/sane/user/cli/policy/cmd_save.o: VERSION_FLAG = -DRLCTL_POLICIES='"$(SYSCONFDIR)/rlctl"'

check:
	@scripts/check.sh

quick:
	@scripts/check.sh --quick

check-vm: all tests benches
	@tests/vm/run.sh

lint: $(COMMAND_S) $(BENCH_S)
	@scripts/lint.sh

FUZZ_S ?= 60
fuzz: $(FUZZERS)
	@tests/fuzz/run.sh $(FUZZ_S) $(FUZZ)

bench: all benches
	@tests/bench/bench.sh

bench-rules: all benches
	@tests/bench/rules.sh

bench-matches: all benches
	@tests/bench/matches.sh

bench-sets: all benches
	@tests/bench/sets.sh

bench-set-lookups: all benches
	@tests/bench/set_lookups.sh

bench-policies: all benches
	@tests/bench/policies.sh

bench-proof: all benches
	@tests/bench/proof.sh

bench-shares: all benches
	@tests/bench/shares.sh

bench-challenge: all benches
	@tests/bench/challenge.sh

bench-fleet: all benches
	@tests/bench/fleet.sh

bench-fleet-keys: all
	@python3 tests/bench/fleet_keys.py docs/fleet_keys.json && python3 tests/bench/figures.py

UNITS    := $(notdir $(wildcard systemd/*.service systemd/*.timer))
UNIT_SED := sed -e 's,/usr/sbin/rlctl,$(SBINDIR)/rlctl,' -e 's,\([ =]\)/etc/rlctl/,\1$(SYSCONFDIR)/rlctl/,'

# The documents keep their places to each other, so that their links lead somewhere.
DOCS     := README.md LICENSE SECURITY.md CONTRIBUTING.md NEWS $(wildcard docs/*.md docs/runbooks/*.md docs/*.svg docs/*.json)
POLICIES := $(wildcard policies/*.policy)
# Programs that `rlctl events --exec` may run.
PROGRAMS := $(wildcard scripts/events/*)
DATA     := grafana.json alerts.yml $(patsubst scripts/%,%,$(wildcard scripts/importer/*.py))

install: all
	install -D -m 755 build/rlctl $(DESTDIR)$(SBINDIR)/rlctl
	for page in $(wildcard user/man/*.[58]); do \
		install -D -m 644 $$page $(DESTDIR)$(MANDIR)/man$${page##*.}/$${page##*/} || exit 1; done
	build/rlctl completion bash | install -D -m 644 /dev/stdin $(DESTDIR)$(BASHDIR)/rlctl
	build/rlctl completion zsh | install -D -m 644 /dev/stdin $(DESTDIR)$(ZSHDIR)/_rlctl
	install -D -m 644 packaging/example.policy $(DESTDIR)$(SYSCONFDIR)/rlctl/example.policy
	install -d $(DESTDIR)$(UNITDIR) $(DESTDIR)$(SYSCONFDIR)/fail2ban/action.d
	$(UNIT_SED) packaging/fail2ban/rlctl.conf >$(DESTDIR)$(SYSCONFDIR)/fail2ban/action.d/rlctl.conf
	chmod 644 $(DESTDIR)$(SYSCONFDIR)/fail2ban/action.d/rlctl.conf
	test -e $(DESTDIR)$(SYSCONFDIR)/rlctl/crowdsec.conf || \
		install -m 600 packaging/crowdsec.conf $(DESTDIR)$(SYSCONFDIR)/rlctl/crowdsec.conf
	for name in rlctl-crowdsec rlctl-fastnetmon rlctl-overload; do \
		sed -e '1s,/usr/bin/env python3,/usr/bin/python3,' -e "s,'/usr/sbin/rlctl','$(SBINDIR)/rlctl'," \
			-e "s,'/etc/rlctl/,'$(SYSCONFDIR)/rlctl/," scripts/$$name | \
			install -m 755 /dev/stdin $(DESTDIR)$(SBINDIR)/$$name || exit 1; done
	sed -e '1s,/usr/bin/env python3,/usr/bin/python3,' -e "s,'/usr/sbin/rlctl','$(SBINDIR)/rlctl'," scripts/rlctl-flowspec | \
		install -D -m 755 /dev/stdin $(DESTDIR)$(DATADIR)/rlctl-flowspec
	ln -sfnr $(DESTDIR)$(DATADIR)/rlctl-flowspec $(DESTDIR)$(SBINDIR)/rlctl-flowspec
	for unit in $(UNITS); do $(UNIT_SED) systemd/$$unit >$(DESTDIR)$(UNITDIR)/$$unit && \
		chmod 644 $(DESTDIR)$(UNITDIR)/$$unit || exit 1; done
	for file in $(DOCS); do install -D -m 644 $$file $(DESTDIR)$(DOCDIR)/$$file || exit 1; done
	for file in $(DATA); do sed 's,/usr/share/doc/rlctl,$(DOCDIR),' scripts/$$file | \
		install -D -m 644 /dev/stdin $(DESTDIR)$(DATADIR)/$$file || exit 1; done
	for file in $(POLICIES); do install -D -m 644 $$file $(DESTDIR)$(DATADIR)/$$file || exit 1; done
	for file in $(PROGRAMS); do sed -e '1s,/usr/bin/env python3,/usr/bin/python3,' -e 's,/usr/share/doc/rlctl,$(DOCDIR),' $$file | \
		install -D -m 755 /dev/stdin $(DESTDIR)$(DATADIR)/$${file#scripts/} || exit 1; done
	ln -sfnr $(DESTDIR)$(DATADIR)/policies $(DESTDIR)$(DOCDIR)/policies
	for file in import tenants; do sed '1s,/usr/bin/env python3,/usr/bin/python3,' scripts/$$file | \
		install -m 755 /dev/stdin $(DESTDIR)$(DATADIR)/$$file || exit 1; done

uninstall:
	rm -f $(DESTDIR)$(SBINDIR)/rlctl $(DESTDIR)$(SBINDIR)/rlctl-crowdsec $(DESTDIR)$(SBINDIR)/rlctl-fastnetmon $(DESTDIR)$(SBINDIR)/rlctl-overload $(DESTDIR)$(SBINDIR)/rlctl-flowspec $(DESTDIR)$(BASHDIR)/rlctl $(DESTDIR)$(ZSHDIR)/_rlctl
	rm -f $(foreach s,5 8,$(patsubst user/man/%,$(DESTDIR)$(MANDIR)/man$(s)/%,$(wildcard user/man/*.$(s))))
	rm -f $(UNITS:%=$(DESTDIR)$(UNITDIR)/%) $(DESTDIR)$(SYSCONFDIR)/rlctl/example.policy
	rm -f $(DESTDIR)$(SYSCONFDIR)/fail2ban/action.d/rlctl.conf
	! cmp -s packaging/crowdsec.conf $(DESTDIR)$(SYSCONFDIR)/rlctl/crowdsec.conf || rm $(DESTDIR)$(SYSCONFDIR)/rlctl/crowdsec.conf
	rm -f $(DOCS:%=$(DESTDIR)$(DOCDIR)/%) $(DATA:%=$(DESTDIR)$(DATADIR)/%) $(DESTDIR)$(DATADIR)/import $(DESTDIR)$(DATADIR)/tenants $(DESTDIR)$(DATADIR)/rlctl-flowspec
	rm -f $(PROGRAMS:scripts/%=$(DESTDIR)$(DATADIR)/%) $(POLICIES:%=$(DESTDIR)$(DATADIR)/%) $(DESTDIR)$(DOCDIR)/policies
	for dir in $(DOCDIR)/docs/runbooks $(DOCDIR)/docs $(DOCDIR) $(DATADIR)/importer $(DATADIR)/events $(DATADIR)/policies $(DATADIR); do \
		[ ! -d $(DESTDIR)$$dir ] || rmdir --ignore-fail-on-non-empty $(DESTDIR)$$dir || exit 1; done

deb rpm:
	@scripts/package.sh $@ $(RELEASE)

clean:
	rm -rf build

help:
	@echo 'make            build/rlctl'
	@echo 'make static     build/static/rlctl, which needs no library but libc'
	@echo 'make tests      the test programs      make benches   the bench tools'
	@echo 'make check      build, lint and run all tests (as root); see scripts/check.sh'
	@echo 'make quick      what to run while editing: a short part of the check'
	@echo 'make check-vm   tests on other kernels under qemu; see tests/vm/run.sh --help'
	@echo 'make lint       style and static analysis only'
	@echo 'make fuzz       the fuzz targets, FUZZ_S=60 seconds each; FUZZ=NAME for one of them'
	@echo 'make bench      run the benchmarks (as root)'
	@echo 'make bench-rules  what hundreds of rules cost (as root)'
	@echo 'make bench-matches  what each match costs (as root)'
	@echo 'make bench-sets  adds to sets, swaps and their memory (as root)'
	@echo 'make bench-set-lookups  what it costs to look an address up in a set (as root)'
	@echo 'make bench-policies  whole policies under floods that they refuse (as root)'
	@echo 'make bench-proof  what it costs to ask who is there (as root)'
	@echo 'make bench-shares  what it costs to share a limit, and what each class has of it (as root)'
	@echo 'make bench-challenge  handshakes beside floods of SYNs (as root)'
	@echo 'make bench-fleet  a fleet of eight members on this machine (as root)'
	@echo 'make bench-fleet-keys  what a fleet costs its Redis'
	@echo 'make install    PREFIX=/usr/local DESTDIR= ; make uninstall ; make clean'
	@echo 'make deb        a package for Debian, in build/      make rpm   one for Fedora'
	@echo 'Variables: V=1 WERROR=1 MINIMAL=1 VERSION= CC= CFLAGS= LDFLAGS= CLANG= BPFTOOL='

-include $(shell find build -type f -name '*.d' 2>/dev/null)
