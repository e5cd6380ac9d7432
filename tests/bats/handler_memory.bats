# What the handler reads, and where it runs: memory that goes away meanwhile, odd registers, little stack, coroutines.
load lib/helper

setup_file() {
    for name in unmapping odd_memory stack_use coroutine; do
        gcc -O1 -g -Wall -Wextra -Werror -D_GNU_SOURCE -fno-builtin -shared -fPIC -o "$BATS_FILE_TMPDIR/$name.so" \
            "$WORKLOADS/lib/$name.c" -ldl -lpthread
    done
}

# in_c SOURCE [PATTERN]: Python code with the libraries at hand, under an allocator that unmaps what is freed; until a tick was
# met where the PATTERN is.
in_c() {
    PYPROF_HZ=1000 PYPROF_MAX_OVERHEAD=90 until_sampled "${2:-.}" profiled LD_PRELOAD="$BATS_FILE_TMPDIR/unmapping.so $LIBPYPROF" "$PYTHON" -c "
import ctypes, threading, time
directory = '$BATS_FILE_TMPDIR/'
odd = ctypes.CDLL(directory + 'odd_memory.so')
use = ctypes.CDLL(directory + 'stack_use.so')
loops = ctypes.c_long(150000000)
$1" 2>err.txt || fail "status $?: $(cat err.txt)"
    adds_up
}

deleted_state() {
    in_c 'assert odd.state_is_deleted(200) == 0' 'uses_state \(odd_memory\.so\)'
    ! reader truncated info.json | grep torn || fail "$(reader truncated info.json)"
}

@test "a thread state that another thread deletes: its thread goes on in C" {
    with_each_python deleted_state
}

lent_and_nested_states() {
    in_c 'assert odd.state_is_lent(800) == 0'
    in_c 'assert odd.states_are_nested() == 0'
}

@test "a thread state that another thread runs by meanwhile; thread states within the calls of another" {
    with_each_python lent_and_nested_states
}

# In 3.8 a thread state, of some 280 bytes, is freed while its thread still counts as attached by it.
@test "threads that end under an allocator that unmaps" {
    in_c '
ctypes.CDLL(directory + "unmapping.so").slow_free(ctypes.c_size_t(264), ctypes.c_size_t(320))
def burn():
    end = time.thread_time() + 0.02
    while time.thread_time() < end: pass
for i in range(8):
    threads = [threading.Thread(target=burn) for _ in range(2)]
    for thread in threads: thread.start()
    for thread in threads: thread.join()'
}

@test "interpreters that end under an allocator that unmaps" {
    in_c '
ctypes.CDLL(directory + "unmapping.so").slow_free(ctypes.c_size_t(4096), ctypes.c_size_t(10 << 20))
try:
    import _xxsubinterpreters as interpreters
except ImportError:
    import _interpreters as interpreters
end = time.process_time() + 1
while time.process_time() < end:
    interpreter = interpreters.create()
    interpreters.run_string(interpreter, "sum(range(20000))")
    interpreters.destroy(interpreter)'
}

# glibc keeps room in a DTV for 14 libraries more than there are. It frees the old one before the thread has the new one.
enlarged_dtv() {
    in_c '
slow_free = ctypes.CDLL(directory + "unmapping.so").slow_free
ready, loaded = threading.Barrier(5), threading.Event()
def use_late():
    end = time.thread_time() + 0.02
    while time.thread_time() < end: pass
    ready.wait()
    loaded.wait()
    late[-1].used_here()
    while time.thread_time() < end + 0.02: pass
threads = [threading.Thread(target=use_late) for _ in range(4)]
for thread in threads: thread.start()
ready.wait()
late = [ctypes.PyDLL(f"{directory}late{i}.so") for i in range(20)]
slow_free(ctypes.c_size_t(250), ctypes.c_size_t(1500))
loaded.set()
for thread in threads: thread.join()
slow_free(ctypes.c_size_t(0), ctypes.c_size_t(0)) # the end of the interpreter frees thousands of such blocks' use_late
}

@test "libraries with thread-local storage that are loaded late: a DTV is freed under a thread, with the GIL" {
    gcc -O1 -shared -fPIC -o "$BATS_FILE_TMPDIR/late.so" "$WORKLOADS/lib/late_tls.c"
    for ((i = 0; i < 20; i++)); do
        cp "$BATS_FILE_TMPDIR/late.so" "$BATS_FILE_TMPDIR/late$i.so"
    done
    with_each_python enlarged_dtv
}

@test "an FS register of the program's own, checks of alignment, a hole in the stack and unwind information that is wrong" {
    for function in other_fs alignment_checks; do
        in_c "odd.$function(loops)" "$function \(odd_memory.so\)"
        reader stacks stacks.txt '<module> \(<string>.*' "$function \(odd_memory.so\)"
    done
    in_c 'odd.hole_in_stack(ctypes.c_long(300000000))' 'spin_with_rbp \(odd_memory\.so\)'
}

# A thread's own part may be three quarters of its stack, less what libc puts there.
@test "threads on 16 KiB of stack, of which they use half, live as without us and are named; on 64 KiB they are sampled" {
    in_c 'assert use.on_stack(16 << 10, 8000, 100) == 1 and use.on_stack(64 << 10, 40000, 200) == 1'
    [ "$(reader truncated info.json | sed -n 's/^thread that cannot be interrupted: its stack .*: //p')" -eq 1 ] ||
        fail "not counted: $(cat info.json)"
    [ "$(grep -c 'too small a stack for a signal' err.txt)" -eq 1 ] || fail "stderr: $(cat err.txt)"
}

@test "the handler takes less than 2 KiB of the stack that it interrupts" {
    in_c '
def generate(n):
    if n: yield from generate(n - 1)
    else: yield use.ours_beside_the_kernels(loops)
def deep(n):
    if n % 5 == 1: return sorted([n], key=lambda _: taken.append(deep(n - 1)))
    return deep(n - 1) if n else taken.append(next(generate(10)))
taken = []
deep(200)
open("taken.txt", "w").write(str(taken[0]))' ours_beside_the_kernels
    between 200 "$(cat taken.txt)" 2048 "bytes of stack beside the kernel's part of a signal"
}

# Where a stack that is not the thread's own ends is not known.
@test "on a coroutine's stack and on one for signals: Python's frames are there, and those below a handler" {
    until_sampled 'signal_stack \(.*burn_elsewhere' profiled "$PYTHON" -c '
import ctypes, sys, threading
library = ctypes.CDLL(sys.argv[1])
Call = ctypes.CFUNCTYPE(ctypes.c_int)
library.on_coroutine.argtypes = ctypes.c_int, Call
def from_there(): return sum(range(1000)) & 1
def coroutine(): assert library.on_coroutine(400, Call()) == 0
def python_there(): assert library.on_coroutine(400, Call(from_there)) == 0
def signal_stack(): assert library.on_signal_stack(400) == 0
def all_of_them(): coroutine(); python_there(); signal_stack()
all_of_them()
thread = threading.Thread(target=all_of_them)
thread.start()
thread.join()' "$BATS_FILE_TMPDIR/coroutine.so"
    adds_up
    reader truncated info.json >truncated.txt
    ! grep -iE 'torn|bad stack' truncated.txt || fail "$(cat truncated.txt)"
    for function in coroutine python_there signal_stack; do
        cpu_near "$(reader inclusive stacks.txt "$function")" 800000000 6 "$function"
    done
    # The whole stack, below the handler too, but for first samples: what is copied of a stack ends with the signal's.
    awk -v least=$((90 - $(few 6))) '
        /signal_stack \(.*burn_elsewhere/ { all += $NF }
        /^(_start|__clone3?|0x[0-9a-f]+) .*signal_stack \(.*on_signal_stack.*handler.*burn_elsewhere/ { whole += $NF }
        END { if (100 * whole < least * all || !all) { print whole " of " all " ns below a handler are whole"; exit 1 } }' stacks.txt ||
        fail "$(grep signal_stack stacks.txt)"
}

# resident_with THREADS COMMAND...: KiB of a program with so many threads, each of which has been sampled.
resident_with() {
    "${@:2}" "$PYTHON" -c "
import re, threading, time
count = $1
used, measured = threading.Barrier(count), threading.Event()
def use_cpu():
    end = time.thread_time() + 0.04
    while time.thread_time() < end: sum(range(100))
def work():
    use_cpu()
    used.wait()
    measured.wait()
threads = [threading.Thread(target=work) for _ in range(count - 1)]
for thread in threads: thread.start()
use_cpu()
used.wait()
print(re.search(r'Rss: *(\d+)', open('/proc/self/smaps_rollup').read())[1])
measured.set()
for thread in threads: thread.join()"
}

@test "each further thread of 64 takes at most 48 KB of memory" {
    export PYPROF_HZ=1000 PYPROF_MAX_OVERHEAD=90
    local without with
    without=$(($(resident_with 64 env) - $(resident_with 1 env)))
    with=$(($(resident_with 64 profiled) - $(resident_with 1 profiled)))
    [ $((with - without)) -le $((63 * 48)) ] || fail "63 further threads take $((with - without)) KiB more than without us"
}
