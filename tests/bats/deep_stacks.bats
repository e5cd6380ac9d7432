# Deep stacks: both ends are kept, and what is left out says so.
load lib/helper

setup_file() {
    gcc -O1 -g -Wall -Werror -D_GNU_SOURCE -shared -fPIC -o "$BATS_FILE_TMPDIR/coroutine.so" "$WORKLOADS/lib/coroutine.c"
}

# in_leaf ARGUMENT...: runs deep.py until a tick was met in leaf; leaves stacks.txt.
in_leaf() {
    # shellcheck disable=SC2153 # with_pythons sets PYTHON
    until_sampled 'leaf \(' profiled "$PYTHON" "$WORKLOADS/deep.py" "$@"
}

# deepest FRAME EXPECTED TEXT: in the heaviest stack in leaf FRAME is there EXPECTED times, after main and before leaf.
deepest() {
    grep 'leaf' stacks.txt | awk '{ print $NF, $0 }' | sort -rn | head -n 1 | cut -d' ' -f2- | tr ';' '\n' >frames.txt
    grep -q '^main ' frames.txt || fail "no main: $(grep -vE "$1" frames.txt)"
    grep -q '^leaf ' frames.txt || fail "no leaf: $(grep -vE "$1" frames.txt)"
    [ "$(grep -cE "$1" frames.txt)" -eq "$2" ] || fail "$3: $(grep -cE "$1" frames.txt) frames, expected $2"
}

# In nine tenths of the samples in leaf, but for one. First samples whose stacks are deeper than what is copied say so.
mostly() {
    collapsed --unit samples | awk -v pattern="$1" '
        /no unwind rows yet/ { next }
        /leaf/ { all += $NF }
        /leaf/ && $0 ~ pattern { fit += $NF }
        END { if (!fit || fit < 0.9 * all - 1) { print fit + 0 " of " all " samples in leaf are in /" pattern "/"; exit 1 } }'
}

CUT='\\[python stack truncated: too deep\\]'

both_ends() {
    local minor=${VERSION#3.}
    minor=${minor%%[!0-9]*}
    in_leaf python 300
    deepest '^by_python' 301 "300 calls"
    in_leaf c 150
    deepest '^by_(c|key)' 301 "150 calls through C"
    in_leaf python 800
    mostly "main .*;outer .*;by_python .*;$CUT;by_python .*;inner .*;leaf"
    in_leaf python 3000
    if [ "$minor" -lt 11 ]; then
        mostly "^$CUT;by_python .*;inner .*;leaf"
        return
    fi
    mostly "main .*;outer .*;by_python .*;$CUT;by_python .*;inner .*;leaf"
    # callers as they are now, not as they were: both lines of outer, half of the samples each, where there are many
    collapsed --lines --unit samples | awk -v cut="$CUT" '
        /leaf/ && $0 ~ cut && match($0, /;outer [^;]*/) { all += $NF; by[substr($0, RSTART, RLENGTH)] += $NF }
        END {
            for (line in by) { lines++; if (by[line] < 0.3 * all - sqrt(all)) few = 1 }
            if (!lines || lines > 2 || all >= 12 && (lines < 2 || few)) { for (line in by) print by[line], line; exit 1 }
        }'
    in_leaf both 3000
    mostly "main .*;outer .*;both .*;by_python [^;]*;$CUT;.+;$CUT;by_python .*;inner .*;leaf"
}

@test "of a deep stack both ends are there, or the inner one, and what is left out says so where it is" {
    with_each_python both_ends
}

# total_of FUNCTION: its share by total in report.txt, without decimals.
total_of() {
    awk -v name="$1" '/^ +SELF +TOTAL/ { on = /PYTHON FUNCTION/ } on && $7 == name { printf "%d", $5; exit }' report.txt
}

which_totals() {
    in_leaf python 800
    "$PYPROF" report --full --sort total --top 1000 | tr -s '\n ' ' ' >text.txt
    "$PYPROF" report --full --sort total --top 1000 >report.txt
    grep -q 'too deep to be kept whole: both ends are kept, so totals of the outermost functions are exact' text.txt ||
        fail "$(tail -n 12 report.txt)"
    between 90 "$(total_of main)" 100 "percent in main, the total: $(cat report.txt)"
    [ "$VERSION" = 3.10 ] || return 0
    in_leaf python 3000
    "$PYPROF" report --full | tr -s '\n ' ' ' >text.txt
    grep -q 'some lack their outer end, so totals of outer functions are too low' text.txt || fail "$(cat text.txt)"
}

@test "a warning of deep stacks says which totals are too low: those of the middle, or of the outer end where that is missing" {
    with_each_python which_totals
}

# handler_ns COMMAND...: the median of the samples of a run, which has some in its work.
handler_ns() {
    until_sampled 'leaf \(|burn_elsewhere' profiled "$@" >/dev/null
    info >info.json
    reader accounting info.json >&2
    "$PYPROF" info pyprof.out | sed -n 's/.*handler: .*p50 [^0-9]*\([0-9]*\) ns.*/\1/p' | head -n 1
}

@test "a sample of a deep stack costs what one of 500 calls does" {
    shallow=$(handler_ns "$PYTHON" "$WORKLOADS/deep.py" python 100)
    deep=$(handler_ns "$PYTHON" "$WORKLOADS/deep.py" python 20000)
    between 1 "$deep" $((10 * shallow)) "ns of a sample at 20,000 calls"
}

@test "nor does one of deep native code cost more, on its own stack or a coroutine's" {
    dig='
import ctypes, sys
def digging(): getattr(ctypes.CDLL(sys.argv[1]), sys.argv[2])(500, int(sys.argv[3]))
digging()'
    for way in dig dig_on_coroutine; do
        shallow=$(handler_ns "$PYTHON" -c "$dig" "$BATS_FILE_TMPDIR/coroutine.so" "$way" 10)
        deep=$(handler_ns "$PYTHON" -c "$dig" "$BATS_FILE_TMPDIR/coroutine.so" "$way" 1500)
        between 1 "$deep" $((10 * shallow)) "ns of a sample below 1,500 native calls, $way"
        collapsed --unit samples | awk '
            /no unwind rows yet/ { next }
            /burn_elsewhere/ { all += $NF }
            /digging .*;\[native stack truncated: too deep\];dig .*;dig .*;burn_elsewhere/ { fit += $NF }
            END { if (!fit || fit < 0.8 * all - 1) { print fit + 0 " of " all " samples say what is left out"; exit 1 } }'
    done
}

@test "600 functions on one stack keep their names" {
    PYPROF_HZ=250 profiled "$PYTHON" "$WORKLOADS/many_functions.py" 600 1
    collapsed >stacks.txt
    # In every stack the functions are f0000, f0001, f0002 … as they call each other.
    grep -oE '(f[0-9]{4} \(many\.py:[0-9]+\);?)+' stacks.txt >chains.txt
    [ -s chains.txt ] || fail "no stacks of them: $(head -n 3 stacks.txt)"
    awk -F';' '{
        for (i = 1; i <= NF && $i != ""; i++)
            if (substr($i, 2, 4) + 0 != substr($1, 2, 4) + i - 1) { print "wrong at " i ": " $i; exit 1 }
    }' chains.txt
}

# The kernel reads the first frame of a coroutine, since its memory may be gone; it proves that those further out are there,
# but in a free-threaded Python. Up to 3.11 it takes the second one to prove that.
calls_of_coroutines() {
    profiled strace -f -qq -e trace=process_vm_readv,rt_sigreturn -o trace.txt "$PYTHON" -c '
import asyncio, time
async def nested(depth):
    if depth:
        return await nested(depth - 1)
    end = time.process_time() + 0.6
    while time.process_time() < end:
        sum(range(500))
asyncio.run(nested(24))'
    collapsed | grep -q 'nested.*;nested.*;nested' || fail "no sample in nested()"
    awk 'NR == 1 { main = $1 } $1 != main { next }
        /SIGURG/ { calls = 0 } /process_vm_readv\(/ { calls++ } /rt_sigreturn/ { print calls }' trace.txt | sort -n >calls.txt
    read -r most single < <("$PYTHON" -c 'import sys, sysconfig
free = sysconfig.get_config_var("Py_GIL_DISABLED")
print(60 if free else 6, 0 if free or sys.version_info < (3, 12) else 25)')
    between 0 "$(awk '{ all[NR] = $1 } END { print all[int((NR + 1) / 2)] }' calls.txt)" "$most" "copies in a sample: $(uniq -c calls.txt)"
    between "$single" "$(awk '{ few += $1 < 2 } END { print int(100 * few / NR) }' calls.txt)" 100 "% of the samples take one: $(uniq -c calls.txt)"
}

@test "a sample in a stack of coroutines takes few system calls" {
    with_each_python calls_of_coroutines
}
