# Native and Python frames in one stack, in the order of the calls.
#
# The native walk passes code of CPython's JIT only when a sample outside it has shown how the eval function lays out its
# frame; until then such a stack has its Python frames, no C frames, and says so.
load lib/helper

UNDER=()

python_calls_c() {
    profiled "${UNDER[@]}" "$PYTHON" "$WORKLOADS/stacks.py" hash
    collapsed >stacks.txt
    reader stacks stacks.txt '<module> \(.*stacks\.py:1\)' 'main \(.*stacks\.py:\d+\)' 'c_hash \(.*stacks\.py:10\)' \
        '.* \((_hashlib\..*\.so|python3.*|libpython3.*)\)' '.* \(libcrypto\.so.*\)'
    # Nearly all of the program is spent there.
    share=$(reader share stacks.txt 'c_hash \(.*' '.* \(libcrypto\.so.*\)')
    [ "$share" -ge $((85 - $(few 2))) ] || fail "only $share % of the CPU is in libcrypto below c_hash: $(sort -k1,1 stacks.txt | head -n 20)"
}

@test "hashlib: c_hash, then _hashlib's functions, then libcrypto's" {
    with_each_python python_calls_c
}

c_calls_python() {
    profiled "${UNDER[@]}" "$PYTHON" "$WORKLOADS/stacks.py" sort
    collapsed >stacks.txt
    reader stacks stacks.txt 'sort_them \(.*stacks\.py:22\)' '.* \((lib)?python3.*\)' 'by_key \(.*stacks\.py:15\)'
    share=$(reader share stacks.txt 'sort_them \(.*' '.* \((lib)?python3.*\)' 'by_key \(.*')
    least=80
    [[ $PYTHON_BUILD != *jit* ]] || least=40
    [ "$share" -ge $((least - $(few 2))) ] || fail "only $share % of the CPU is in by_key below C below sort_them"
    # Never the other way round.
    share=$(reader share stacks.txt 'by_key \(.*' 'sort_them \(.*')
    [ "$share" -eq 0 ] || fail "$share % of the CPU has sort_them below by_key"
    if [[ $PYTHON_BUILD == *stripped* ]]; then
        echo "stripped interpreter: C frames have no names of static functions"
    else
        reader stacks stacks.txt 'sort_them \(.*' '(list_sort|list\.sort|listsort|builtin_sorted|PyList_Sort).* \(.*\)' 'by_key \(.*'
    fi
    # Every stack of the main thread starts where the process does; a cut one says so.
    share=$(reader share stacks.txt '\[.*(torn|truncated|pair).*\]')
    most=2
    [[ $PYTHON_BUILD != *jit* ]] || most=50
    [ "$share" -le $((most + $(few 2))) ] || fail "$share % of the CPU has a stack that is torn, truncated or unpaired: $(grep -E 'torn|truncated|pair' stacks.txt | head)"
    reader stacks stacks.txt '<module> \(.*stacks\.py:1\)'
    collapsed --lines >stacks.txt
    reader stacks stacks.txt 'sort_them \(.*stacks\.py:24\)' 'by_key \(.*stacks\.py:(16|17|18|19)\)'
    share=$(reader share stacks.txt 'by_key \(.*stacks\.py:(15|16|17|18|19)\)')
    any=$(reader share stacks.txt 'by_key \(.*')
    [ "$share" -eq "$any" ] || fail "by_key: $share % of the CPU on its own lines, $any % in all"
}

@test "sorted(key=function): C frames between two Python frames, hardly a stack torn, truncated or unpaired; --lines" {
    with_each_python c_calls_python
}

without_process_vm_readv() {
    UNDER=("$BUILD/workloads/filtered" absent)
    c_calls_python
    rm -r pyprof.out
    python_calls_c
}

@test "where process_vm_readv is not there: the same stacks" {
    with_each_python without_process_vm_readv
}

# Of threads that stand still: Python frames with their lines as faulthandler prints them, native frames with their addresses
# as libunwind finds them from another process.
frozen() {
    PYPROF_SIGNAL=34 profiled "$PYTHON" "$WORKLOADS/frozen.py" python.txt "$BUILD/oracles/native_stack" native.txt
    "$PYPROF" export --lines --threads --native=all --format perf -o p.perf
    "$PYTHON" "$ROOT/tests/bats/lib/compare_stacks.py" p.perf python.txt native.txt
}

@test "17 ways from C to Python: each frame is that of libunwind and faulthandler" {
    needs_ptrace
    with_each_python frozen
}

# The generators that throw() and cancel() pass through are in the stack, though no native frame runs them. Before 3.10 they
# are not in Python's own stack either.
thrown_into() {
    [[ $VERSION != 3.[89].* ]] || return 0
    profiled "$PYTHON" -c '
import asyncio, time
def work():
    end = time.thread_time() + 0.5
    while time.thread_time() < end: sum(range(100))
def inner():
    try: yield
    except ValueError: work()
def middle(): yield from inner()
def outer(): yield from middle()
def go():
    generator = outer()
    next(generator)
    try: generator.throw(ValueError())
    except StopIteration: pass
async def sleeper():
    try: await asyncio.sleep(60)
    except asyncio.CancelledError: work()
async def waiter(): await sleeper()
async def cancels():
    task = asyncio.ensure_future(waiter())
    await asyncio.sleep(0.01)
    task.cancel()
    await task
go()
asyncio.run(cancels())'
    "$PYPROF" export --format collapsed >stacks.txt
    awk '/work \(/ {
            all += $NF
            if (/;go \([^;]*;outer \([^;]*;middle \([^;]*;inner \([^;]*;work \(/) by_throw += $NF
            if (/waiter \(.*;sleeper \([^;]*;work \(/) by_cancel += $NF
            if (/ \(.*libc.so.*;work \(/) misplaced += $NF
        }
        END { if (by_throw < 0.4 * all || by_cancel < 0.4 * all || misplaced || !all) {
            print "of " all " ns " by_throw " below throw(), " by_cancel " below cancel(), " misplaced " misplaced"; exit 1 } }' \
        stacks.txt || fail "$(grep -E 'work \(|torn' stacks.txt | head -n 5)"
}

@test "exceptions thrown into generators and coroutines that wait for others: the whole stack" {
    with_each_python thrown_into
}

compiled() {
    local headers main stack thread
    headers=$("$PYTHON" -c 'import sysconfig; print(sysconfig.get_path("include"))')
    case $VERSION in 3.11.* | 3.12.* | 3.13.*) ;; *) return 0 ;; esac
    if [ ! -e "$headers/internal/pycore_frame.h" ] || [[ $PYTHON_BUILD == *free* ]]; then
        echo "no headers of $PYTHON"
        return 0
    fi
    gcc -O1 -Wall -Werror -shared -fPIC -I"$headers" -o compiled_frames.so "$WORKLOADS/lib/compiled_frames.c" -lpthread
    PYTHONPATH=. profiled "$PYTHON" "$WORKLOADS/compiled.py"
    collapsed --native=none >stacks.txt
    main='^<module> \(.*compiled\.py:1\);compiled_outer \(.*\);interpreted \(.*\);compiled_inner \(.*:8\)'
    thread='^compiled_root \(.*:8\)'
    for stack in "$main " "$main;burn " "$thread " "$thread;interpreted \(.*\);compiled_inner \(.*:8\) " "$thread;.*;burn "; do
        grep -qE "$stack" <(sed -E 's/^[^<c]*;(compiled_root)/\1/' stacks.txt) || fail "no $stack: $(cat stacks.txt)"
    done
    [ "$(reader share stacks.txt '\[python stack torn\]')" -eq 0 ] || fail "torn: $(cat stacks.txt)"
    # C functions are below the compiled ones that run them, and what starts the thread above.
    collapsed >stacks.txt
    reader stacks stacks.txt 'compiled_inner \(.*\)' 'burn_native \(compiled_frames\.so\)'
    reader stacks stacks.txt 'in_thread \(compiled_frames\.so\)' 'compiled_root \(.*\)' 'burn_native \(compiled_frames\.so\)'
}

@test "functions that Nuitka has compiled are in the stacks, with their first lines" {
    with_each_python compiled
}

@test "code in two sections far from each other, as BOLT leaves it: names and stacks of both" {
    gcc -O1 -fomit-frame-pointer -shared -fPIC -Wl,--section-start=.bolt.org.text=0x4000000 -o two.so \
        "$WORKLOADS/lib/two_sections.c"
    [ "$(readelf -lW two.so | grep -c 'LOAD.* R E ')" -eq 2 ] || fail "$(readelf -lW two.so)"
    profiled "$PYTHON" -c '
import ctypes
ctypes.CDLL("./two.so").to_and_fro(ctypes.c_double(0.4))'
    rm two.so # pyprof would read its names, too
    collapsed >stacks.txt
    for way in cold_middle,hot_leaf hot_middle,cold_leaf; do
        stack="^_start .*;to_and_fro \\(two\\.so\\);${way%,*} \\(two\\.so\\);${way#*,} \\(two\\.so\\) "
        cpu_near "$(grep -E "$stack" stacks.txt | awk '{ n += $NF } END { print n + 0 }')" 400000000 20 "$way"
    done
    # One sample may be where nothing is yet, or no more.
    awk '/two\.so/ && !/_leaf/ { other += $NF } END { exit other > 80000000 }' stacks.txt || fail "$(grep -F two.so stacks.txt)"
}
