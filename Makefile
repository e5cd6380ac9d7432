# libpyprof: `make` builds, `make demo` shows what it does, `make check` tests it (tests/README.md). See README.md.
#
# Variables to set: CC CFLAGS CPPFLAGS LDFLAGS PREFIX LIBDIR BINDIR DATADIR INCLUDEDIR DESTDIR BUILD
#   SAN=1       AddressSanitizer and UBSan in the tools, the unit tests and the libFuzzer harnesses of tests/fuzz (clang),
#               in build/san
#   TSAN=1      ThreadSanitizer in the tools and the unit tests, in build/tsan
#   ASAN=1      the library with AddressSanitizer and UBSan in its flush code (clang-19), in build/asan: to preload behind
#               clang's own runtime. The handler must not be instrumented: it reads what may not be read.
#   TCMALLOC=1  the tools allocate with tcmalloc
#   WERROR=     warnings are no errors: for compilers other than those that CI has
#   V=1         shows the commands

VERSION := 0.1.0
QUIET   := $(if $(V),,@)
PREFIX  ?= /usr/local
BINDIR  ?= $(PREFIX)/bin
LIBDIR  ?= $(PREFIX)/lib
DATADIR ?= $(PREFIX)/share
INCLUDEDIR ?= $(PREFIX)/include
CFLAGS  ?= -O2 -g
WERROR  ?= -Werror

# PP_CHECK (preload/base/check.h) is in all builds but the product.
CHECKS   := -DPP_CHECKS
ifdef SAN
BUILD    ?= build/san
CC       := $(or $(shell for c in clang clang-19 clang-16 clang-15 clang-14; do command -v $$c && break; done),clang)
VARIANT  := -fsanitize=fuzzer-no-link,address,undefined -fno-sanitize-recover=all -fno-omit-frame-pointer
else ifdef TSAN
BUILD    ?= build/tsan
VARIANT  := -fsanitize=thread -fno-omit-frame-pointer
else ifdef ASAN
# Older runtimes are not prepared for fork in a program with threads: its malloc hangs in the child.
BUILD    ?= build/asan
CC       := clang-19
VARIANT  :=
FLUSH_CFLAGS := -fsanitize=address,undefined -fno-sanitize-recover=all -fno-omit-frame-pointer
else
BUILD    ?= build
VARIANT  :=
CHECKS   :=
endif

# The processor that the compiler compiles for, which may be another one than ours: CC=aarch64-linux-gnu-gcc.
PROCESSOR  := $(firstword $(subst -, ,$(shell $(CC) -dumpmachine)))

ALL_CFLAGS := -std=c11 -D_GNU_SOURCE -DPYPROF_VERSION='"$(VERSION)"' -DPYPROF_PROCESSOR='"$(PROCESSOR)"' -I. -Wall -Wextra $(WERROR) -Wstrict-prototypes \
              -Wmissing-prototypes -Wvla -fvisibility=hidden -MMD -MP $(CPPFLAGS) $(CFLAGS) $(VARIANT) $(CHECKS)
HARDEN     := -Wl,-z,relro,-z,now,-z,noexecstack -Wl,--as-needed

# The library runs inside other people's processes. No fortified calls: a musl child that inherits LD_PRELOAD has none.
# No stack protector: its canary is in TLS, and a raw-clone thread has its creator's. Initial-exec TLS: a TLS access must
# not allocate. No PLT: every address is bound before main. nodelete: late signals still find their handler.
PRELOAD_CFLAGS  := -fPIC -fno-plt -ftls-model=initial-exec -fno-stack-protector -U_FORTIFY_SOURCE
# Atomic operations are instructions: libgcc's functions for them need a constructor, also in a process without Python.
ifeq ($(PROCESSOR),aarch64)
PRELOAD_CFLAGS  += -mno-outline-atomics
endif
PRELOAD_LDFLAGS := -shared -nostartfiles -Wl,-soname,libpyprof.so -Wl,-z,nodelete -Wl,--no-undefined $(HARDEN)
# The handler takes PP_HANDLER_STACK of a stack at most, and jumps nowhere through pointers (tests/capture_symbols.sh).
CAPTURE_CFLAGS  := -fno-jump-tables
ifeq ($(VARIANT),)
CAPTURE_CFLAGS  += -Wframe-larger-than=640
endif

TOOLS_CFLAGS  := -fPIE -fstack-protector-strong
ifeq ($(VARIANT),)
TOOLS_CFLAGS  += -U_FORTIFY_SOURCE -D_FORTIFY_SOURCE=2
endif
TOOLS_LDFLAGS := -pie $(HARDEN)
TOOLS_LIBS    := -lz -lisal -lelf -ldw -liberty -lm -lpthread
ifdef TCMALLOC
# --as-needed would drop it: nothing refers to it by name.
TOOLS_LIBS    += -Wl,--no-as-needed -ltcmalloc_minimal
endif

comma := ,
objects = $(patsubst %.c,$(BUILD)/obj/%.o,$(1))
both    = $(BUILD)/obj/preload/$(1).o $(BUILD)/checked/preload/$(1).o

PRELOAD_OBJ := $(call objects,$(shell find preload -name '*.c' -not -path 'preload/arch/*') $(wildcard preload/arch/$(PROCESSOR)/*.c))
# What the unit tests and torture have of the library: the same with checks.
CHECKED_OBJ := $(if $(CHECKS),$(PRELOAD_OBJ),$(patsubst $(BUILD)/obj/%,$(BUILD)/checked/%,$(PRELOAD_OBJ)))
# The programs of a wheel have gzip_zlib.c in place of gzip_isal.c.
TOOLS_OBJ   := $(call objects,$(filter-out %/gzip_zlib.c,$(shell find tools -name '*.c')) preload/common/settings.c preload/common/control.c preload/cpython/layouts.c) \
               $(BUILD)/obj/page.o $(BUILD)/obj/live.o
GZIP_ZLIB   := $(BUILD)/obj/tools/base/gzip_zlib.o
TOOLS_LIB_OBJ := $(filter-out $(BUILD)/obj/tools/main.o,$(TOOLS_OBJ))
FIXTURE_OBJ := $(call objects,$(wildcard tests/unit/log_fixture.c))
UNIT_TOOLS  := $(patsubst tests/unit/%.c,$(BUILD)/unit/%,$(wildcard tests/unit/test_tools_*.c))
UNIT_ZLIB   := $(BUILD)/unit/test_tools_gzip_zlib
# What test_gaps tests there is on AArch64 only.
UNIT_PRELOAD := $(filter-out $(UNIT_TOOLS) $(if $(filter x86_64,$(PROCESSOR)),$(BUILD)/unit/test_gaps),$(patsubst tests/unit/%.c,$(BUILD)/unit/%,$(wildcard tests/unit/test_*.c)))
UNIT_SHARED := $(patsubst tests/unit/%.c,$(BUILD)/unit/%.so,$(wildcard tests/unit/*_preload.c))
TORTURE     := $(patsubst %,$(BUILD)/torture/torture.so,$(wildcard tests/torture/torture.c))
FUZZERS     := $(patsubst tests/fuzz/%.c,$(BUILD)/%,$(wildcard tests/fuzz/fuzz_*.c))
HELPERS     := $(patsubst tests/workloads/%.c,$(BUILD)/workloads/%,$(wildcard tests/workloads/*.c)) \
               $(patsubst tests/oracles/%.c,$(BUILD)/oracles/%,$(wildcard tests/oracles/*.c))

BENCHES     := $(addprefix $(BUILD)/bench/,make_logs grow_logs walkers.so paused.so floor.so)
.PHONY: all units library-units helpers fuzzers objects compile-aarch64 demo check check-long bench bench-accuracy lint docs install uninstall clean FORCE
.DELETE_ON_ERROR:
.SECONDARY:

all: $(if $(or $(SAN),$(if $(PRELOAD_OBJ),,none)),,$(BUILD)/libpyprof.so) $(if $(TOOLS_OBJ),$(BUILD)/pyprof)

$(BUILD)/libpyprof.so: $(PRELOAD_OBJ)
	@echo '  LINK $@'
	$(QUIET)$(CC) $(CFLAGS) $(if $(FLUSH_CFLAGS),$(FLUSH_CFLAGS) -shared-libasan) $(PRELOAD_LDFLAGS) $(LDFLAGS) -o $@ $^

$(BUILD)/pyprof: $(TOOLS_OBJ)
	@echo '  LINK $@'
	$(QUIET)$(CC) $(CFLAGS) $(VARIANT) $(TOOLS_LDFLAGS) $(LDFLAGS) -o $@ $^ $(TOOLS_LIBS)

# Rebuilds everything when the compiler or its flags change.
$(BUILD)/flags: FORCE
	@mkdir -p $(@D)
	@echo '$(subst ','\'',$(CC) $(ALL_CFLAGS) $(LDFLAGS) $(TCMALLOC))' | cmp -s - $@ || \
	  echo '$(subst ','\'',$(CC) $(ALL_CFLAGS) $(LDFLAGS) $(TCMALLOC))' > $@

$(foreach wing,capture context handler,$(call both,$(wing)/%)) $(call both,base/memory_file): KIND_CFLAGS = $(PRELOAD_CFLAGS) $(CAPTURE_CFLAGS)
$(foreach file,$(addsuffix /%,cpython python unwind modules log account merge labels flush) base/arena base/intern base/safe_copy,\
  $(call both,$(file))): KIND_CFLAGS = $(PRELOAD_CFLAGS) $(FLUSH_CFLAGS)
$(call both,%): KIND_CFLAGS = $(PRELOAD_CFLAGS)
$(BUILD)/obj/tools/%.o: KIND_CFLAGS = $(TOOLS_CFLAGS)
$(BUILD)/obj/tests/%.o $(BUILD)/obj/contrib/%.o: KIND_CFLAGS = -fPIC
$(BUILD)/obj/tests/unit/%.o $(BUILD)/obj/tests/torture/%.o: KIND_CFLAGS = -fPIC -DPP_CHECKS
# Tests of the tools take longer to compile than to run.
$(BUILD)/obj/tests/unit/test_tools_%.o: KIND_CFLAGS = -fPIC -DPP_CHECKS -O0

COMPILE = @mkdir -p $(@D); echo '  CC   $@'; $(if $(V),set -x;) $(CC) $(ALL_CFLAGS) $(KIND_CFLAGS)
$(BUILD)/obj/%.o: %.c $(BUILD)/flags Makefile
	$(COMPILE) -c -o $@ $<
$(BUILD)/checked/%.o: %.c $(BUILD)/flags Makefile
	$(COMPILE) -DPP_CHECKS -c -o $@ $<

# The tools compile for other processors, too: with headers of this one's libraries, as nothing is linked.
objects: $(TOOLS_OBJ) $(GZIP_ZLIB)

compile-aarch64:
	@$(MAKE) --no-print-directory BUILD=$(BUILD)/tools-aarch64 CC=aarch64-linux-gnu-gcc \
	  CPPFLAGS='-idirafter /usr/include' objects

# The pages of `pyprof flame`, from tools/flame/web, and of `pyprof serve`, from tools/serve/web. The order of the scripts is that in which they need each other.
PAGE := page.html style.css $(addsuffix .js,data text colour uncertainty tree invert layout paint strip table legend svg state search source around \
        filters groups header graph keys main)

$(BUILD)/page.c: tools/flame/web/embed.sh $(addprefix tools/flame/web/,$(PAGE))
	@mkdir -p $(@D)
	@echo '  PAGE $@'
	$(QUIET)sh $< page tools/flame/flame.h $(filter-out $<,$^) > $@

$(BUILD)/live.c: tools/flame/web/embed.sh $(addprefix tools/serve/web/live.,html css js)
	@mkdir -p $(@D)
	@echo '  PAGE $@'
	$(QUIET)sh $< live tools/serve/live_page.h $(filter-out $<,$^) > $@

$(BUILD)/obj/page.o $(BUILD)/obj/live.o: $(BUILD)/obj/%.o: $(BUILD)/%.c $(BUILD)/flags Makefile
	@mkdir -p $(@D)
	$(QUIET)$(CC) $(ALL_CFLAGS) $(TOOLS_CFLAGS) -c -o $@ $<

# Unit tests. The library's objects come as an archive behind -lc, so that a test gets the libc's own functions and not
# those that the library puts in front of them.
$(BUILD)/libpyprof_unit.a: $(CHECKED_OBJ)
	@rm -f $@
	@$(AR) rcs $@ $^

# The main of those that have none.
$(BUILD)/unit_main.a: $(BUILD)/obj/tests/unit/unit_main.o
	@rm -f $@
	@$(AR) rcs $@ $^

# For what compares the product's code with others' or measures it.
$(BUILD)/libpyprof_objects.a: $(PRELOAD_OBJ)
	@rm -f $@
	@$(AR) rcs $@ $^

$(BUILD)/libpyprof_tools.a: $(TOOLS_LIB_OBJ)
	@rm -f $@
	@$(AR) rcs $@ $^

units: library-units $(UNIT_TOOLS) $(UNIT_ZLIB)
library-units: $(UNIT_PRELOAD) $(UNIT_SHARED) $(if $(SAN),,$(TORTURE))

UNIT_LINK = @mkdir -p $(@D); echo '  LINK $@'; $(CC) $(CFLAGS) $(VARIANT) $(LDFLAGS) -o $@

$(UNIT_TOOLS): $(BUILD)/unit/%: $(BUILD)/obj/tests/unit/%.o $(FIXTURE_OBJ) $(BUILD)/libpyprof_tools.a $(BUILD)/unit_main.a
	$(UNIT_LINK) $^ -lcmocka $(TOOLS_LIBS)

$(UNIT_ZLIB): $(BUILD)/obj/tests/unit/test_tools_gzip.o $(GZIP_ZLIB) $(BUILD)/libpyprof_tools.a $(BUILD)/unit_main.a
	$(UNIT_LINK) $^ -lcmocka $(TOOLS_LIBS)

# The oracle compares our unwinder with libunwind; --as-needed leaves it out of the other tests.
$(UNIT_PRELOAD): $(BUILD)/unit/%: $(BUILD)/obj/tests/unit/%.o $(BUILD)/unit_main.a $(BUILD)/libpyprof_unit.a
	$(UNIT_LINK) $< $(BUILD)/unit_main.a -lcmocka -lc $(BUILD)/libpyprof_unit.a -Wl,--as-needed -lunwind-$(PROCESSOR) -lunwind -ldl -lpthread

# libunwind has _Unwind_* functions of its own: libgcc's come first, or a program's exceptions would not be its own.
$(UNIT_SHARED): $(BUILD)/unit/%.so: $(BUILD)/obj/tests/unit/%.o $(BUILD)/libpyprof_unit.a
	$(UNIT_LINK) -shared $< -lc $(BUILD)/libpyprof_unit.a $(if $(findstring oracle,$@),-Wl$(comma)--no-as-needed -lgcc_s) -Wl,--as-needed -lunwind-$(PROCESSOR) -lunwind -ldl -lpthread

# Steps through an interpreter: see tests/torture/torture.c.
$(TORTURE): $(call objects,$(wildcard tests/torture/*.c)) $(BUILD)/libpyprof_unit.a
	$(UNIT_LINK) -shared -Wl,-z,defs $(filter %.o,$^) -lc $(BUILD)/libpyprof_unit.a -ldl -lpthread

# C programs that tests profile or run under the library, and those that compare its parts with someone else's answer.
helpers: $(HELPERS) $(BENCHES)
$(BUILD)/workloads/%: tests/workloads/%.c $(BUILD)/flags
	@mkdir -p $(@D)
	@echo '  LINK $@'
	$(QUIET)$(CC) $(ALL_CFLAGS) -o $@ $< $(LDFLAGS) -lpthread

$(BUILD)/oracles/%: $(BUILD)/obj/tests/oracles/%.o $(BUILD)/libpyprof_objects.a
	@mkdir -p $(@D)
	@echo '  LINK $@'
	$(QUIET)$(CC) $(CFLAGS) $(VARIANT) $(LDFLAGS) -o $@ $< -lc $(BUILD)/libpyprof_objects.a

$(BUILD)/oracles/native_stack: $(BUILD)/obj/tests/oracles/native_stack.o
	@mkdir -p $(@D)
	@echo '  LINK $@'
	$(QUIET)$(CC) $(CFLAGS) $(VARIANT) $(LDFLAGS) -o $@ $< -lunwind-ptrace -lunwind-$(PROCESSOR) -lunwind

# A harness uses the tools' objects when its name says so, the library's otherwise.
fuzzers: $(FUZZERS)
$(filter $(BUILD)/fuzz_tools_%,$(FUZZERS)): $(BUILD)/%: $(BUILD)/obj/tests/fuzz/%.o $(BUILD)/libpyprof_tools.a
	@echo '  LINK $@'
	$(QUIET)$(CC) $(CFLAGS) $(VARIANT) -fsanitize=fuzzer $(LDFLAGS) -o $@ $^ $(TOOLS_LIBS)
$(filter-out $(BUILD)/fuzz_tools_%,$(FUZZERS)): $(BUILD)/%: $(BUILD)/obj/tests/fuzz/%.o $(BUILD)/libpyprof_unit.a
	@echo '  LINK $@'
	$(QUIET)$(CC) $(CFLAGS) $(VARIANT) -fsanitize=fuzzer $(LDFLAGS) -o $@ $< -lc $(BUILD)/libpyprof_unit.a

demo:
	@tests/deps.sh demo
	@$(MAKE) --no-print-directory all
	@BUILD=$(BUILD) tests/demo.sh

check:
	@tests/deps.sh check
	@BUILD=$(BUILD) tests/check.sh

# PART=2/6: of six parts that take as long as each other, the second.
check-long:
	@tests/deps.sh long
	@BUILD=$(BUILD) tests/check.sh --long $(PART)

$(BUILD)/bench/make_logs $(BUILD)/bench/grow_logs: $(BUILD)/bench/%: $(BUILD)/obj/tests/bench/%.o $(FIXTURE_OBJ)
	@mkdir -p $(@D)
	@echo '  LINK $@'
	$(QUIET)$(CC) $(CFLAGS) $(VARIANT) $(LDFLAGS) -o $@ $^ -lz

# Of libunwind the system's own: what others walk with.
$(BUILD)/bench/walkers.so: $(call objects,tests/bench/walkers.c tests/bench/rows.c) $(BUILD)/libpyprof_objects.a
	@mkdir -p $(@D)
	@echo '  LINK $@'
	$(QUIET)$(CC) $(CFLAGS) $(VARIANT) $(LDFLAGS) -shared -Wl,-z,defs -o $@ $(filter %.o,$^) -lc $(BUILD)/libpyprof_objects.a -lunwind -lpthread

$(BUILD)/bench/paused.so $(BUILD)/bench/floor.so: $(BUILD)/bench/%.so: $(BUILD)/obj/tests/bench/%.o
	@mkdir -p $(@D)
	@echo '  LINK $@'
	$(QUIET)$(CC) $(CFLAGS) $(VARIANT) $(LDFLAGS) -shared -o $@ $<

bench:
	@tests/deps.sh bench
	@$(MAKE) --no-print-directory all $(BENCHES)
	@BUILD=$(BUILD) tests/bench/run.sh

# How right the figures are, beside other profilers: see tests/bench/accuracy.sh.
bench-accuracy:
	@tests/deps.sh bench
	@tests/deps.sh accuracy || echo 'not all profilers to compare with can be had'
	@$(MAKE) --no-print-directory all
	@BUILD=$(BUILD) tests/bench/accuracy.sh

lint:
	@tests/deps.sh check
	@BUILD=$(BUILD) tests/lint.sh

# Manual pages and completions come from the program's own tables: a build for another machine has none.
# The picture in README.md is made if it is missing; `make README.svg` makes it again.
docs: $(BUILD)/pyprof $(if $(wildcard README.svg),,README.svg)
	@tools/man/make.sh $(or $(RUNS_HERE),$(BUILD)/pyprof) $(BUILD)/share

README.svg: all
	$(QUIET)$(BUILD)/pyprof run -o $(BUILD)/example -- python3 contrib/example/app.py
	$(QUIET)$(BUILD)/pyprof export --ignore _find_and_load -o $@ $(BUILD)/example

install: all docs
	install -d $(DESTDIR)$(BINDIR) $(DESTDIR)$(LIBDIR) $(DESTDIR)$(INCLUDEDIR)
	install -m 755 $(BUILD)/pyprof $(DESTDIR)$(BINDIR)/pyprof
	install -m 755 $(BUILD)/libpyprof.so $(DESTDIR)$(LIBDIR)/libpyprof.so
	install -m 644 preload/pyprof.h $(DESTDIR)$(INCLUDEDIR)/pyprof.h
	cd $(BUILD)/share && find . -type f -exec install -D -m 644 {} $(abspath $(DESTDIR)$(DATADIR))/{} \;

uninstall:
	rm -f $(DESTDIR)$(BINDIR)/pyprof $(DESTDIR)$(LIBDIR)/libpyprof.so $(DESTDIR)$(INCLUDEDIR)/pyprof.h
	rm -f $(DESTDIR)$(DATADIR)/man/man1/pyprof.1 $(DESTDIR)$(DATADIR)/man/man1/pyprof-*.1 \
	  $(DESTDIR)$(DATADIR)/man/man5/pyprof-log.5 $(DESTDIR)$(DATADIR)/man/man7/libpyprof.7 \
	  $(DESTDIR)$(DATADIR)/bash-completion/completions/pyprof $(DESTDIR)$(DATADIR)/zsh/site-functions/_pyprof \
	  $(DESTDIR)$(DATADIR)/fish/vendor_completions.d/pyprof.fish

# The wheel and the source distribution: see contrib/python/README.md. The wheel's pyprof is linked with libc.a, too: it
# runs wherever the library does, with any glibc from 2.17 on and with musl.
PACK        := python3 contrib/python/backend.py
STATIC_LIBS  = $(foreach name,dw elf iberty z lzma bz2,$(if $(WHEEL_ROOT),\
                 $(WHEEL_ROOT)/usr/lib/$(PROCESSOR)-linux-gnu/lib$(name).a,$(shell $(CC) -print-file-name=lib$(name).a)))
# Another processor's Debian, if the wheel is for that; then where the wheel goes, and a pyprof that runs here.
WHEEL_ROOT  :=
DIST        := $(BUILD)/dist
RUNS_HERE   ?=
WHEEL_DIR   := $(BUILD)/wheel

.PHONY: wheel wheel-aarch64 wheel-programs sdist
ifeq ($(origin ARCH)$(filter wheel,$(MAKECMDGOALS)),command linewheel)
  $(error the wheel for AArch64 is made by: make wheel-aarch64)
endif
wheel: $(WHEEL_DIR)/static/pyprof $(WHEEL_DIR)/static/libpyprof.so
	$(QUIET)tools/man/make.sh $(or $(RUNS_HERE),$<) $(<D)/share
	$(QUIET)$(PACK) wheel $(<D) $(DIST) $(STATIC_LIBS) $(shell $(CC) -print-file-name=libc.a)

# The wheel for AArch64, on any processor.
wheel-aarch64: $(BUILD)/pyprof
	@tests/deps.sh wheel-aarch64
	$(QUIET)root=$$(tests/roots.sh arm64 | tail -n 1) && \
	  $(MAKE) --no-print-directory BUILD=$(BUILD)/wheel-aarch64 CC=aarch64-linux-gnu-gcc WHEEL_ROOT=$$root DIST=$(BUILD)/dist \
	    RUNS_HERE=$(BUILD)/pyprof CPPFLAGS="-idirafter $$root/usr/include -idirafter $$root/usr/include/aarch64-linux-gnu" wheel

sdist:
	$(QUIET)$(PACK) sdist $(DIST)

# What the source distribution builds and installs: for this system, with its shared libraries.
wheel-programs: $(WHEEL_DIR)/linux/pyprof $(WHEEL_DIR)/linux/libpyprof.so
	$(QUIET)tools/man/make.sh $< $(<D)/share

WHEEL_OBJ := $(filter-out %/gzip_isal.o,$(TOOLS_OBJ)) $(GZIP_ZLIB)

$(WHEEL_DIR)/linux/pyprof: $(WHEEL_OBJ)
	@mkdir -p $(@D)
	@echo '  LINK $@'
	$(QUIET)$(CC) $(CFLAGS) $(TOOLS_LDFLAGS) $(LDFLAGS) -s -o $@ $^ $(filter-out -lisal,$(TOOLS_LIBS))

$(WHEEL_DIR)/static/pyprof: $(WHEEL_OBJ) $(BUILD)/obj/contrib/python/no_debuginfod.o
	@tests/deps.sh wheel
	@mkdir -p $(@D)
	@echo '  LINK $@'
	$(QUIET)$(CC) $(CFLAGS) -static-pie $(filter-out -pie,$(TOOLS_LDFLAGS)) -Wl,--build-id=sha1 -s -o $@ $^ $(STATIC_LIBS) -lm

# The build id is that of what is in the wheel, not that of debugging information, which names directories.
$(WHEEL_DIR)/%/libpyprof.so: $(PRELOAD_OBJ)
	@mkdir -p $(@D)
	@echo '  LINK $@'
	$(QUIET)$(CC) $(CFLAGS) $(PRELOAD_LDFLAGS) $(LDFLAGS) -Wl,--build-id=sha1 -s -o $@ $^

# A package for the Debian or Ubuntu that this is, in $(BUILD)/deb, from what is committed. ARCH=arm64: in $(BUILD)/deb-arm64
# for Debian 12 on that processor, with what wheel-aarch64 has, too.
ARCH        :=
DEB_DIR      = $(BUILD)/deb$(ARCH:%=-%)
ifdef ARCH
ARM64        = $(or $(shell tests/roots.sh arm64 | tail -n 1),$(error no arm64 root))
ARM64_DIRS   = $(ARM64)/usr/lib/aarch64-linux-gnu $(ARM64)/lib/aarch64-linux-gnu
DEB_ENV      = RUNS_HERE=$(abspath $(BUILD)/pyprof) DEB_CPPFLAGS_APPEND="-idirafter $(ARM64)/usr/include -idirafter \
                 $(ARM64)/usr/include/aarch64-linux-gnu" SHLIBDEPS="$(ARM64_DIRS:%=-l%)" \
                 DEB_LDFLAGS_APPEND="$(ARM64_DIRS:%=-L%) $(ARM64_DIRS:%=-Wl$(comma)-rpath-link$(comma)%)"
endif
.PHONY: deb
deb: $(if $(ARCH),$(BUILD)/pyprof)
	@tests/deps.sh deb$(ARCH:%=-%)
	$(QUIET)rm -rf $(DEB_DIR)
	$(QUIET)mkdir -p $(DEB_DIR)/libpyprof-$(VERSION)
	$(QUIET)git archive HEAD | tar -x -C $(DEB_DIR)/libpyprof-$(VERSION)
	$(QUIET)cp -r contrib/debian $(DEB_DIR)/libpyprof-$(VERSION)/debian
	$(QUIET)$(if $(ARCH),cp $(ARM64)/shlibs $(DEB_DIR)/libpyprof-$(VERSION)/debian/shlibs.local)
	$(QUIET)cd $(DEB_DIR)/libpyprof-$(VERSION) && env -u MAKEFLAGS -u MFLAGS -u MAKELEVEL -u BUILD $(DEB_ENV) \
	  dpkg-buildpackage -b -uc -us $(if $(ARCH),-a$(ARCH) -d) >../build.log 2>&1 || { tail -n 30 ../build.log; exit 1; }
	@ls $(DEB_DIR)/*.deb

clean:
	rm -rf $(BUILD)

-include $(shell find $(BUILD)/obj $(BUILD)/checked -name '*.d' 2>/dev/null)
