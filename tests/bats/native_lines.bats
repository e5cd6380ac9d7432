# Native frames by debug information: functions that the compiler inlined, source files and lines. The oracle is binutils'
# addr2line.
load lib/helper

INNER='square \(inlined\)'

setup_file() {
    local sources
    # Before anyone changes HOME, below which they are.
    read -r PYTHON VERSION _ < <(list_pythons)
    export PYTHON VERSION
    cd "$BATS_FILE_TMPDIR" || return 1
    sources=$BATS_TEST_DIRNAME/../workloads/lib
    gcc -O2 -g -shared -fPIC -Wl,--build-id -o libc.so "$sources/inlined.c"
    g++ -O2 -g -shared -fPIC -Wl,--build-id -o libcc.so "$sources/inlined.cc"
    if rustc --version >/dev/null 2>&1; then
        rustc --crate-type cdylib -C opt-level=2 -g -C link-arg=-Wl,--build-id -o librust.so "$sources/inlined.rs"
    fi
}

# ready: the libraries in the test's directory, and no debug information but their own.
ready() {
    unset "${!DEBUGINFOD_@}"
    # `go tool pprof` is compiled at its first use, for a minute.
    GOCACHE=$(go env GOCACHE 2>/dev/null) || true
    export GOCACHE
    export HOME=$BATS_TEST_TMPDIR XDG_CACHE_HOME=$BATS_TEST_TMPDIR/cache
    cp "$BATS_FILE_TMPDIR"/*.so .
}

# hot LIBRARY...: profiles half a second of hot() in each, until a tick was met in the last one.
hot() {
    until_sampled "\\(${*: -1}\\)" profiled "$PYTHON" "$WORKLOADS/native_lines.py" 0.5 "${@/#/$PWD/}"
}

build_id() {
    readelf -n "$1" | sed -n 's/.*Build ID: //p'
}

# leaf LIBRARY FRAME MIN: percent of the samples in the library that are at this frame; one may be elsewhere, however few.
leaf() {
    collapsed --unit samples >stacks.txt
    grep -F "($1)" stacks.txt | awk -v frame=";$2 \\($1\\) [0-9]+\$" -v least="$3" '
        { all += $NF } $0 ~ frame { there += $NF }
        END { printf "%d of %d samples are there\n", there, all; exit !there || there < least / 100 * all - 1 }' ||
        fail "at $2 in $1: $(tail -n 3 stacks.txt)"
}

no_inlined() {
    ! collapsed | grep -qF "(inlined) ($1)" || fail "inlined functions of $1: $(collapsed | grep -F "(inlined) ($1)" | head -n 2)"
}

# separate LIBRARY: moves its debug information to LIBRARY.debug.
separate() {
    objcopy --only-keep-debug "$1" "$1.debug"
    strip "$1"
}

@test "CPU used in an inlined function is in that function's frame, above its callers'" {
    ready
    hot libc.so libcc.so
    leaf libc.so "$INNER" 80
    leaf libcc.so 'numbers::spin\(unsigned int, unsigned int\) \(inlined\)' 80
    reader stacks stacks.txt 'call_hot .*' 'hidden \(libc.so\)' 'middle \(inlined\) \(libc.so\)' 'square \(inlined\) \(libc.so\)'
    grep -qE ';hidden \(libc\.so\);middle \(inlined\) \(libc\.so\);square \(inlined\) \(libc\.so\) ' stacks.txt ||
        fail "something is between them: $(tail -n 3 stacks.txt)"
    "$PYPROF" report --full >report.txt
    grep -qE ' square \(inlined\) \(libc\.so\)$' report.txt || fail "not in the report: $(cat report.txt)"
}

@test "lines, files and inlined functions of every address equal addr2line's, of CPython too" {
    ready
    local library libraries=("$PWD/libc.so" "$PWD/libcc.so")
    PYPROF_HZ=1000 profiled "$PYTHON" "$WORKLOADS/native_lines.py" 0.5 "${libraries[@]}"
    "$PYPROF" export -o out.pb.gz
    while read -r library; do
        [ ! -f "$library" ] || libraries+=("$library")
    done < <("$PYTHON" -c 'import sysconfig; print(sysconfig.get_config_var("LIBDIR") + "/" + (sysconfig.get_config_var("INSTSONAME") or ""))')
    reader_of_lines "${libraries[@]}" | tee sums.txt
    between 1 "$(sed -E 's/.* ([0-9]+) with inlined.*/\1/' sums.txt)" 1000000 "addresses with inlined functions"
}

reader_of_lines() {
    /usr/bin/python3 "$ROOT/tests/oracles/addr2line.py" out.pb.gz "$@"
}

@test "--lines: native frames have the line that uses CPU, in every text" {
    ready
    local line
    line=$(grep -n 'line: square' "$WORKLOADS/lib/inlined.c" | cut -d: -f1)
    hot libc.so
    collapsed --lines >lines.txt
    grep -qE ";hidden \(inlined\.c:$(grep -n 'line: hidden' "$WORKLOADS/lib/inlined.c" | cut -d: -f1)\);middle \(inlined\) \(inlined\.c:$(
        grep -n 'line: middle' "$WORKLOADS/lib/inlined.c" | cut -d: -f1
    )\);square \(inlined\) \(inlined\.c:$line\) " lines.txt || fail "$(tail -n 3 lines.txt)"
    "$PYPROF" report --full --lines >report.txt
    grep -qE " square \(inlined\) \(inlined\.c:$line\)\$" report.txt || fail "$(cat report.txt)"
    "$PYPROF" export --lines --format speedscope >lines.json
    grep -qE "\"name\":\"square \(inlined\)\",\"file\":\"[^\"]*/lib/inlined\.c\",\"line\":$line\}" lines.json || fail "$(grep square lines.json)"
    "$PYPROF" export --format callgrind >out.callgrind
    callgrind_annotate --auto=no out.callgrind | grep -qE '/lib/inlined\.c:square \(inlined\)' || fail "$(callgrind_annotate --auto=no out.callgrind)"
}

# of_line TEXT COLUMN: thousandths of the CPU time that annotate.txt has for the lines with this text: 3 self, 5 total.
of_line() {
    awk -v text="$1" -v column="$2" 'index($0, text) && $2 == "s" { sum += $column } END { print int(sum * 10) }' annotate.txt
}

@test "annotate: the lines of native sources with their CPU; lines and header add up to the stacks" {
    ready
    local name square whole
    hot libc.so libcc.so
    "$PYPROF" annotate inlined.c >annotate.txt
    square=$(of_line 'line: square' 3)
    for name in 'line: middle' 'line: hidden'; do
        between "$square" "$(of_line "$name" 5)" 1000 "thousandths with all that $name calls; square's own"
        between 0 "$(of_line "$name" 3)" $((square / 2)) "thousandths of $name itself"
    done
    # What the lines have by themselves is what ends there in the stacks.
    whole=$(collapsed --lines | awk '/\([^;()]*inlined\.c:[0-9]+\) [0-9]+$/ { there += $NF } END { print int(there / 1e7) }')
    [ "$whole" -gt 20 ] || fail "$whole hundredths of a second in inlined.c"
    between $((whole - 1)) "$(unwrapped <annotate.txt | sed -nE 's/.*inlined\.c: 0*([0-9]+)\.([0-9]+) s CPU in its own lines.*/\1\2/p' | sed 's/^0*//')" $((whole + 1)) "hundredths in the header"
    between $((whole - 3)) "$(awk '$2 == "s" && $4 == "%" { sum += $1 } END { print int(sum * 100 + 0.5) }' annotate.txt)" $((whole + 3)) "hundredths in all lines"
    # By the end of a path, as of Python, and in C++ too.
    "$PYPROF" annotate lib/inlined.cc | grep -qE '^ +[0-9.]+ s +[0-9.]+ % .*[0-9]  .+' || fail "$("$PYPROF" annotate lib/inlined.cc)"
}

@test "annotate: a source that a generator names, as of Cython; what is newer than its library, folded or not there says so" {
    ready
    printf 'cdef hot(n):\n    s = 0\n    s += n\n    return s\n' >fast.pyx
    cat >fast.c <<'END'
#line 3 "fast.pyx"
unsigned hot(unsigned rounds) { volatile unsigned s = 0; for (unsigned n = 0; n < rounds; n++) s += n; return s; }
END
    touch -d '1 hour ago' fast.pyx
    gcc -O2 -g -shared -fPIC -Wl,--build-id -o libfast.so fast.c
    hot libfast.so
    "$PYPROF" annotate fast.pyx >annotate.txt
    [ "$(of_line '3      s += n' 3)" -gt 500 ] || fail "$(cat annotate.txt)"
    "$PYPROF" annotate fast.pyx --native=none >none.txt
    grep -q -- '--native=all' none.txt || fail "$(cat none.txt)"
    # Written after the library: before the profile, but not what was compiled.
    touch -r libfast.so -d '+1 sec' fast.pyx
    "$PYPROF" annotate fast.pyx >newer.txt
    grep -q 'source was changed' newer.txt && ! grep -q 's += n' newer.txt || fail "$(cat newer.txt)"
    rm fast.pyx
    "$PYPROF" annotate fast.pyx | grep -q 'source is not here' || fail "$("$PYPROF" annotate fast.pyx)"
    # Python that was compiled: a file of Python functions and of native code, in which each sample counts once.
    sed -i "1s|.*|#line 11 \"$WORKLOADS/native_lines.py\"|" fast.c
    gcc -O2 -g -shared -fPIC -Wl,--build-id -o libfast.so fast.c
    rm -rf pyprof.out
    hot libfast.so
    "$PYPROF" annotate native_lines.py >annotate.txt
    between 600 "$(awk '$2 == "s" && $7 == 11 { print int($3 * 10) }' annotate.txt)" 1000 "thousandths in the native line: $(cat annotate.txt)"
    between 600 "$(awk '$2 == "s" && $4 == "%" { sum += $3 } END { print int(sum * 10) }' annotate.txt)" 1003 "thousandths in all lines: $(cat annotate.txt)"
    for name in nosuch.pyx ast.pyx ''; do
        run "$PYPROF" annotate "$name"
        [ "$status" -eq 1 ] && [[ $output == *"no function of this file was seen"* ]] || fail "$name: status $status: $output"
    done
}

@test "annotate and lines: code that Cython has made has the lines of its own source, by the comments in it" {
    ready
    mkdir -p build/pkg pkg
    printf 'cdef hot(n):\n    s = 0\n    s += n\n    return s\n' >pkg/fast.pyx
    # As Cython writes it for "pkg/fast.pyx" into another directory; what it adds of its own has no comment.
    cat >build/pkg/fast.c <<'END'
/* Generated by Cython 3.1.0 */
static unsigned __Pyx_own(unsigned rounds);
/* "pkg/fast.pyx":1
 * cdef hot(n):             # <<<<<<<<<<<<<<
 */
unsigned hot(unsigned rounds) {
  /* "pkg/fast.pyx":3
 *     s += n             # <<<<<<<<<<<<<<
 */
  volatile unsigned s = 0; for (unsigned n = 0; n < rounds; n++) s += n; return s + __Pyx_own(rounds);
}
static __attribute__((noinline)) unsigned __Pyx_own(unsigned rounds) { volatile unsigned s = 0; for (unsigned n = 0; n < rounds / 4; n++) s += n; return s; }
END
    touch -d '1 hour ago' pkg/fast.pyx build/pkg/fast.c
    gcc -O2 -g -shared -fPIC -Wl,--build-id -o libfast.so "$PWD/build/pkg/fast.c"
    hot libfast.so
    "$PYPROF" annotate pkg/fast.pyx >annotate.txt
    between 550 "$(of_line '3      s += n' 3)" 950 "thousandths: $(cat annotate.txt)"
    collapsed --lines >lines.txt
    grep -q 'hot (fast.pyx:3)' lines.txt || fail "$(cat lines.txt)"
    grep -q '__Pyx_own (fast.c:12)' lines.txt || fail "$(cat lines.txt)"
    # Written after the library: its lines may be others.
    touch -r libfast.so -d '+1 sec' build/pkg/fast.c
    collapsed --lines | grep -q 'hot (fast.c:10)' || fail "$(collapsed --lines)"
}

@test "formats with a place for inlined functions have them there" {
    ready
    hot libc.so
    "$PYPROF" export --format perf >out.perf
    # The innermost first, all with the same address; perf says so where the module is otherwise.
    awk '
        $2 == "square" && $3 == "(inlined)" && NF == 3 { address = $1; getline; if ($1 == address && $2 == "middle" && $3 == "(inlined)") {
            getline; if ($1 == address && $2 == "hidden" && /libc\.so\)$/) found = 1 } }
        END { exit !found }' out.perf || fail "$(grep -A 3 inlined out.perf | head)"
    "$PYPROF" export -o out.firefox.json
    /usr/bin/python3 - <<'EOF'
import json
shared = json.load(open("out.firefox.json"))["shared"]
names = [shared["stringArray"][name] for name in shared["funcTable"]["name"]]
frames = shared["frameTable"]
found = {(names[f], depth) for f, depth in zip(frames["func"], frames["inlineDepth"])}
assert {("hidden", 0), ("middle", 1), ("square", 2)} <= found, sorted(found)
line = {names[f]: line for f, line in zip(frames["func"], frames["line"])}["square"]
assert line, "no line of square"
EOF
    command -v go >/dev/null || return 0
    "$PYPROF" export -o out.pb.gz
    PPROF_TMPDIR=$BATS_TEST_TMPDIR go tool pprof -traces out.pb.gz 2>/dev/null >traces.txt
    grep -qE 'square \(inline\)$' traces.txt || fail "pprof does not know that square is inlined: $(head -n 30 traces.txt)"
    PPROF_TMPDIR=$BATS_TEST_TMPDIR go tool pprof -list '^square$' out.pb.gz 2>/dev/null >list.txt
    grep -q 'line: square' list.txt || fail "pprof does not find the source line: $(cat list.txt)"
}

@test "sums stay as they are: without the inlined frames it is the profile without debug information, to the ns" {
    ready
    hot libc.so libcc.so
    for part in with without; do
        "$PYPROF" export --native=all --format collapsed >$part.collapsed
        awk '{
            ns = $NF
            sub(/ [0-9]+$/, "")
            n = split($0, frames, ";")
            stack = ""
            for (i = 1; i <= n; i++)
                if (frames[i] !~ / \(inlined\) \([^()]*\)$/)
                    stack = stack ";" frames[i]
            sum[stack] += ns
        } END { for (stack in sum) printf "%s %.0f\n", stack, sum[stack] }' $part.collapsed | sort >$part.txt
        info >$part.json
        rm -f libc.so libcc.so
    done
    grep -qF '(inlined) (libc.so)' with.collapsed || fail "nothing inlined"
    ! grep -qF '(inlined) (libc.so)' without.collapsed || fail "debug information of a file that is gone"
    cmp with.txt without.txt || fail "$(diff with.txt without.txt | head)"
    cmp with.json without.json
}

flavour() {
    local name=$1
    shift
    "$@" -O2 -shared -fPIC -Wl,--build-id -o "$name.so"
    rm -rf pyprof.out
    hot "$name.so"
    "$PYPROF" export -o out.pb.gz
    reader_of_lines "$PWD/$name.so" | tee sums.txt || fail "$name: $(cat sums.txt)"
    grep -qvE ' 0 with inlined' sums.txt || fail "$name: nothing inlined"
}

@test "DWARF 4 and 5, compressed, of gcc and clang, without .debug_aranges, with functions that the linker dropped" {
    ready
    local c=$WORKLOADS/lib/inlined.c cc=$WORKLOADS/lib/inlined.cc
    flavour gcc4 gcc -gdwarf-4 "$c"
    flavour gcc5 g++ -gdwarf-5 "$cc"
    flavour zlib g++ -g -gz=zlib "$cc"
    flavour clang4 clang -gdwarf-4 "$c"
    flavour clang5 clang++ -gdwarf-5 "$cc"
    ! readelf -SW clang5.so | grep -q debug_aranges || fail "clang writes .debug_aranges now: this test needs another way"
    flavour dropped g++ -g -ffunction-sections -Wl,--gc-sections "$cc"
}

@test "a library that is stripped later is read by its debug file in /usr/lib/debug, one replaced by another build is not" {
    ready
    local id directory
    hot libc.so
    id=$(build_id libc.so)
    directory=/usr/lib/debug/.build-id/${id:0:2}
    separate libc.so
    no_inlined libc.so
    if mkdir -p "$directory" 2>/dev/null && [ -w "$directory" ]; then
        cp libc.so.debug "$directory/${id:2}.debug"
        leaf libc.so "$INNER" 80
        rm -f "$directory/${id:2}.debug"
        rmdir --ignore-fail-on-non-empty "$directory"
    fi
    # Another build, with its debug information and the same names: nothing of it fits.
    gcc -O1 -g -DOTHER -shared -fPIC -Wl,--build-id -o libc.so "$WORKLOADS/lib/inlined.c"
    [ "$(build_id libc.so)" != "$id" ] || fail "the same build"
    no_inlined libc.so
    ! collapsed --lines | grep -qF 'inlined.c:' || fail "lines of another build"
}

# written_by FUNCTION: a library to preload: at the first call of this function of libdw while the file $WRITTEN is mapped,
# it is written again as `cp` does it: cut, then filled with $WITH, or nothing.
written_by() {
    gcc -shared -fPIC -o "by_$1.so" -xc - <<END
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static int is_mapped(void)
{
    static char line[4096];
    int found = 0;
    FILE *maps = fopen("/proc/self/maps", "re");
    while (!found && fgets(line, sizeof line, maps))
        found = strstr(line, getenv("WRITTEN")) != NULL;
    fclose(maps);
    return found;
}

long $1(long a, long b, long c, long d, long e, long f)
{
    static int done;
    long (*real)(long, long, long, long, long, long) = (long (*)(long, long, long, long, long, long))dlsym(RTLD_NEXT, "$1");
    if (!done && is_mapped()) {
        char data[1 << 16];
        int from = open(getenv("WITH"), O_RDONLY), to = open(getenv("WRITTEN"), O_WRONLY | O_TRUNC);
        for (ssize_t got; (got = read(from, data, sizeof data)) > 0;)
            if (write(to, data, got) != got)
                abort();
        close(from);
        close(to);
        done = 1;
    }
    return real(a, b, c, d, e, f);
}
END
}

@test "a library that is written while pyprof reads it costs its lines, and one line; nothing is taken from another build" {
    ready
    local with
    hot libc.so
    cp libc.so whole.so
    # As long as that, with the same sections: only the file's time tells.
    gcc -O1 -g -DOTHER -shared -fPIC -Wl,--build-id -o other.so "$WORKLOADS/lib/inlined.c"
    written_by dwarf_offdie
    for with in /dev/null "$PWD/other.so"; do
        cp whole.so libc.so
        LD_PRELOAD=$PWD/by_dwarf_offdie.so WITH=$with WRITTEN=$PWD/libc.so "$PYPROF" export --native=all --format collapsed --lines >stacks.txt 2>err.txt ||
            fail "status $?: $(cat err.txt)"
        grep -q "^pyprof: $PWD/libc.so was written while it was read" err.txt || fail "$(cat err.txt)"
        grep -qF '(libc.so' stacks.txt || fail "no frames: $(tail -n 3 stacks.txt)"
        ! grep -qF 'inlined.c' stacks.txt || fail "lines: $(grep -F inlined.c stacks.txt | tail -n 3)"
    done
    # Names that are not in the log: of a stripped library.
    rm -rf pyprof.out
    cp whole.so libc.so
    cp whole.so libc.so.debug
    strip libc.so
    hot libc.so
    written_by dwfl_module_addrinfo
    cp libc.so.debug libc.so
    "$PYPROF" export --native=all --format collapsed >stacks.txt
    grep -qE 'hidden' stacks.txt || fail "no names to lose: $(tail -n 3 stacks.txt)"
    LD_PRELOAD=$PWD/by_dwfl_module_addrinfo.so WITH=/dev/null WRITTEN=$PWD/libc.so "$PYPROF" export --native=all --format collapsed >stacks.txt 2>err.txt ||
        fail "status $?: $(cat err.txt)"
    grep -q "^pyprof: $PWD/libc.so was written while it was read: its functions have no names" err.txt || fail "$(cat err.txt)"
    ! grep -qF 'hidden (libc.so)' stacks.txt || fail "$(tail -n 3 stacks.txt)"
    "$PYPROF" info --json | reader field /dev/stdin cpu_ns
}

@test "debug information in debuginfod's cache is read, without network" {
    ready
    local id
    hot libc.so
    id=$(build_id libc.so)
    separate libc.so
    no_inlined libc.so
    mkdir -p "cache/debuginfod_client/$id"
    : >"cache/debuginfod_client/$id/debuginfo" # what the client writes when no server has it
    no_inlined libc.so
    cp libc.so.debug "cache/debuginfod_client/$id/debuginfo"
    leaf libc.so "$INNER" 80
    # Of another build under this name.
    objcopy --only-keep-debug libcc.so "cache/debuginfod_client/$id/debuginfo"
    no_inlined libc.so
}

@test "debuginfod's servers are asked when DEBUGINFOD_URLS names them, and only then" {
    ready
    local id port server
    hot libc.so
    id=$(build_id libc.so)
    separate libc.so
    mkdir -p "served/buildid/$id"
    cp libc.so.debug "served/buildid/$id/debuginfo"
    port=$(free_port "$PYTHON")
    "$PYTHON" -u -m http.server -b 127.0.0.1 -d served "$port" >server.log 2>&1 3>&- &
    server=$!
    wait_until 60 grep -q Serving server.log
    no_inlined libc.so
    ! grep -q GET server.log || fail "asked without being told to: $(cat server.log)"
    # Sums need no names.
    DEBUGINFOD_URLS=http://127.0.0.1:$port "$PYPROF" info >info.txt
    ! grep -q GET server.log || fail "asked for info: $(cat server.log)"
    DEBUGINFOD_URLS=http://127.0.0.1:$port leaf libc.so "$INNER" 80
    grep -q "GET /buildid/$id/debuginfo" server.log || fail "did not ask: $(cat server.log)"
    stop_server "$server" TERM
    # From the cache now; and a server that is not there does no harm.
    DEBUGINFOD_URLS=http://127.0.0.1:$port leaf libc.so "$INNER" 80
    rm -rf cache
    DEBUGINFOD_URLS=http://127.0.0.1:$port no_inlined libc.so
    DEBUGINFOD_URLS=http://127.0.0.1:$port "$PYPROF" report --full >report.txt 2>errors.txt
    [ ! -s errors.txt ] || fail "$(cat errors.txt)"
}

@test "what dwz moved to a common file is found there, by build-id" {
    ready
    local n
    for n in one two; do
        g++ -O2 -g -shared -fPIC -Wl,--build-id -Wl,-soname,$n -o $n.so "$WORKLOADS/lib/inlined.cc"
    done
    dwz -m common.dwz one.so two.so
    readelf -SW one.so | grep -q gnu_debugaltlink || fail "dwz moved nothing"
    hot one.so
    leaf one.so 'numbers::spin\(unsigned int, unsigned int\) \(inlined\)' 80
    mv common.dwz away.dwz
    no_inlined one.so
    collapsed --lines | grep -qF 'hot (inlined.cc:' || fail "no lines without the common file: $(collapsed --lines | tail -n 1)"
    # By its path it is there, but it is another.
    cp libcc.so common.dwz
    no_inlined one.so
    ! collapsed --lines | grep -qF 'hot (inlined.cc:' || fail "the common file of another build was read"
}

# Assembly for debug information in which each of 200 blocks is the child of the one before it, and what comes after that one
# as well: as a tree it has 2^200 blocks.
endless() {
    cat <<'EOF'
    .section .debug_abbrev,"",@progbits
    .uleb128 1; .uleb128 0x11; .byte 1            # compile_unit, has children
    .uleb128 0x11; .uleb128 0x01; .uleb128 0x12; .uleb128 0x06; .byte 0, 0
    .uleb128 2; .uleb128 0x2e; .byte 1            # subprogram: name, low_pc, high_pc
    .uleb128 0x03; .uleb128 0x08; .uleb128 0x11; .uleb128 0x01; .uleb128 0x12; .uleb128 0x06; .byte 0, 0
    .uleb128 3; .uleb128 0x0b; .byte 1            # lexical_block: sibling
    .uleb128 0x01; .uleb128 0x13; .byte 0, 0
    .byte 0
    .section .debug_info,"",@progbits
start:
    .long end - version
version:
    .value 4
    .long 0
    .byte 8
    .uleb128 1; .quad hot; .long 4096
    .uleb128 2; .string "hot"; .quad hot; .long 4096
EOF
    for ((i = 0; i < 200; i++)); do
        printf 'block%d: .uleb128 3; .long block%d - start\n' "$i" $((i + 1))
    done
    printf 'block200: .byte 0, 0, 0\nend:\n.section .note.GNU-stack,"",@progbits\n'
}

@test "debug information that never ends does no harm" {
    ready
    endless >endless.s
    gcc -O2 -shared -fPIC -Wl,--build-id -o libendless.so "$WORKLOADS/lib/inlined.c" endless.s
    readelf --debug-dump=info libendless.so 2>/dev/null | grep -q DW_TAG_lexical_block || fail "no such debug information"
    hot libendless.so
    timeout 300 "$PYPROF" export --native=all --format collapsed >stacks.txt || fail "it took too long"
    grep -qF " (libendless.so) " stacks.txt || fail "nothing of the library"
}

# 250 namespaces within each other, without a word on where they end: a search for that walks through 30 MB each time.
nested() {
    cat <<'EOF'
    .section .debug_abbrev,"",@progbits
    .uleb128 1; .uleb128 0x11; .byte 1            # compile_unit, has children
    .uleb128 0x11; .uleb128 0x01; .uleb128 0x12; .uleb128 0x06; .byte 0, 0
    .uleb128 2; .uleb128 0x39; .byte 1, 0, 0      # namespace, has children
    .uleb128 3; .uleb128 0x24; .byte 0, 0, 0      # base_type
    .byte 0
    .section .debug_info,"",@progbits
    .long end - version
version:
    .value 4
    .long 0
    .byte 8
    .uleb128 1; .quad hot; .long 4096
    .fill 249, 1, 2
    .fill 30000000, 1, 3
    .fill 250, 1, 0
end:
    .section .note.GNU-stack,"",@progbits
EOF
}

@test "debug information that takes too long to read is left out, and that is said" {
    ready
    nested >nested.s
    gcc -O2 -shared -fPIC -Wl,--build-id -o libnested.so "$WORKLOADS/lib/inlined.c" nested.s
    hot libnested.so
    timeout 120 "$PYPROF" export --native=all --format collapsed >stacks.txt 2>err.txt || fail "it took too long"
    lines_of err.txt 1 "^pyprof: .*/libnested.so: its debug information takes too long to read, or too much memory: some inlined functions are missing\$"
    grep -qF " (libnested.so) " stacks.txt || fail "nothing of the library"
}

@test ".gnu_debugdata names static functions of a stripped library" {
    ready
    objcopy --only-keep-debug libc.so mini
    strip --strip-debug mini
    xz mini
    strip libc.so
    objcopy --add-section .gnu_debugdata=mini.xz libc.so
    hot libc.so
    collapsed >stacks.txt
    grep -qE ';hidden \(libc\.so\) [0-9]+$' stacks.txt || fail "$(tail -n 2 stacks.txt)"
}

# as_lld_leaves_it LIBRARY: its sections of code have no size of an entry.
as_lld_leaves_it() {
    /usr/bin/python3 - "$1" <<'END'
import struct, sys

with open(sys.argv[1], "r+b") as file:
    content = bytearray(file.read())
    headers, = struct.unpack_from("<Q", content, 0x28)
    size, count = struct.unpack_from("<HH", content, 0x3A)
    for at in range(headers, headers + size * count, size):
        if struct.unpack_from("<Q", content, at + 8)[0] & 4:  # SHF_EXECINSTR
            struct.pack_into("<Q", content, at + 56, 0)
    file.seek(0)
    file.write(content)
END
}

@test "stubs by which a library calls others have the names of those, in each kind of table; stripped, too" {
    ready
    cat >stubs.c <<'END'
#include <stdlib.h>
#ifdef TAKEN
int (*volatile taken)(int) = abs;
#endif
int other(int i)
{
    return i;
}
unsigned hot(unsigned count)
{
    int (*ways[2])(int) = {other};
    unsigned sum = 0, random = 1;
    __asm__("leaq abs@PLT(%%rip), %0" : "=r"(ways[1]));
    while (count--) {
        /* Which way is no CPU's guess: when it was wrong a tick finds it at the first instruction there, while it begins again. */
        random = random * 1664525 + 1013904223;
        sum += (unsigned)ways[random >> 31]((int)count);
    }
    return sum;
}
END
    for kind in lazy indirect taken plain; do
        case $kind in
        lazy | plain) section=.plt options=(-fcf-protection=none) ;;
        indirect) section=.plt.sec options=(-fcf-protection=full -Xlinker -z -Xlinker ibtplt) ;;
        taken) section=.plt.got options=(-fcf-protection=none -DTAKEN) ;;
        esac
        gcc -O1 -fno-builtin -shared -fPIC -s -Wl,--build-id "${options[@]}" -o lib$kind.so stubs.c
        [ $kind != plain ] || as_lld_leaves_it libplain.so
        readelf -SW lib$kind.so | grep -qF " $section " || fail "lib$kind.so has no $section: $(readelf -SW lib$kind.so)"
        until_sampled "abs@plt \\(lib$kind\\.so\\)" profiled "$PYTHON" -c "
import ctypes, time
library = ctypes.CDLL('./lib$kind.so')
while time.process_time() < 0.5: library.hot(100000)"
        ! grep -E ";_init \(lib$kind\.so\)" stacks.txt || fail "_init: $(cat stacks.txt)"
    done
}

@test "Rust: names without hashes, inlined closures" {
    ready
    [ -e librust.so ] || skip "rustc is missing"
    hot librust.so
    collapsed >stacks.txt
    grep -qE ';inlined::numbers::total(::<[^;]*>)? \(librust\.so\);.*;inlined::step_of \(inlined\) \(librust\.so\);inlined::spin \(inlined\) \(librust\.so\)' stacks.txt ||
        fail "$(tail -n 2 stacks.txt)"
    ! grep -qE '17h[0-9a-f]{16}|::h[0-9a-f]{16}|;_R[A-Z]' stacks.txt || fail "mangled: $(tail -n 2 stacks.txt)"
}

@test "report: native functions of the project are the application's own, with their lines: of Cython, of C; not those of packages" {
    ready
    local venv found=
    while read -r PYTHON _; do # not sid's
        found=$(ls "$("$PYTHON" -c 'import sysconfig; print(sysconfig.get_path("include"))')/Python.h" 2>/dev/null) && break
    done < <(list_pythons)
    [ -n "$found" ] || skip "no Python here has headers"
    venv=$(venv_with cython setuptools) || fail "$venv"
    mkdir -p project/lib/site-packages elsewhere
    cat >project/fastgeo.pyx <<'END'
# cython: language_level=3
cdef class Track:
    cdef double total
    cpdef double smooth(self, int n):
        cdef int i
        for i in range(n):
            self.total += i % 11
        return self.total
def walk(items, function):
    for i in items:
        function(i)
END
    cat >project/fast.c <<'END'
#include <math.h>
static double heavy(int n) { double x = 0; for (int i = 0; i < n; i++) x += sin(i); return x; }
double crunch(int n) { return heavy(n); }
END
    cat >project/app.py <<'END'
import ctypes, os, sys, time
here = os.path.dirname(os.path.abspath(__file__))
sys.path.append(here + "/lib/site-packages")
import fastgeo
fast, installed = (ctypes.PyDLL(here + "/" + name) for name in ("fast.so", "lib/site-packages/installed.so"))
def score(i):
    return sum(range(2000))
def run(function, *arguments):
    end = time.thread_time() + 0.3
    while time.thread_time() < end:
        function(*arguments)
track = fastgeo.Track()
run(track.smooth, 20000)
run(track.smooth, 20000)
run(fastgeo.walk, range(40), score)
run(fast.crunch, 20000)
run(installed.crunch, 20000)
END
    (cd project && CFLAGS='-O1 -g' "$venv/bin/cythonize" -i -q fastgeo.pyx) >build.txt 2>&1 || fail "$(tail -n 5 build.txt)"
    gcc -O1 -g -shared -fPIC -o project/fast.so project/fast.c -lm
    gcc -O1 -g -shared -fPIC -o project/lib/site-packages/installed.so project/fast.c -lm
    # Beside the script, from wherever it is started; where it is started, wherever the script is.
    for where in elsewhere project; do
        rm -rf pyprof.out
        (cd "$where" && PYPROF_OUT="$OLDPWD/pyprof.out" profiled "$venv/bin/python" "$OLDPWD/project/app.py")
        "$PYPROF" report >report.txt
        [ "$(wc -l <report.txt)" -le 24 ] || fail "$(cat report.txt)"
        for row in 'fastgeo.Track.smooth \(fastgeo.pyx\)' 'heavy \(fast.c\)' 'score \(.*app.py:6\)' 'run \(.*app.py:8\)'; do
            grep -qE "^ .* s +[1-4][0-9]\\.[0-9] % .* %  $row" report.txt || fail "no $row: $(cat report.txt)"
        done
        grep -qE ' % of it at fastgeo.pyx:[67]: (self.total|for i in)' report.txt || fail "$(cat report.txt)"
        # What a package has belongs to its caller.
        ! grep -q '__Pyx\|@plt' report.txt || fail "$(cat report.txt)"
        between 980 "$(awk '/OWN FUNCTION/ { on = 1; next } !NF { on = 0 } on && $2 == "s" { sum += $3 } END { print int(sum * 10) }' report.txt)" 1020 "thousandths in all rows: $(cat report.txt)"
        "$PYPROF" report lines >lines.txt
        grep -qE '%  fastgeo.pyx:7 +self.total' lines.txt && grep -qE '%  fast.c:2 +static double' lines.txt || fail "$(cat lines.txt)"
    done
}

@test "report lines: what a native library beside the application uses is the line's that calls it, if its own lines are not known" {
    printf 'void work(long n) { while (n-- > 0) __asm__ volatile("pause"); }\n' >work.c
    gcc -O1 -shared -fPIC -o work.so work.c
    cat >app.py <<'END'
import ctypes
library = ctypes.CDLL("./work.so")
library.work.argtypes = [ctypes.c_long]

def call():
    library.work(15000000)

call()
END
    until_sampled 'work \(work.so\)' profiled "$PYTHON" app.py
    "$PYPROF" report lines >lines.txt
    share=$(awk '$5 == "app.py:6" { print int($3) }' lines.txt)
    [ "${share:-0}" -gt 80 ] || fail "$(cat lines.txt)"
}
