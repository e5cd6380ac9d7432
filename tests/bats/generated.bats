# Code that no unwind rows describe: perf's trampolines between Python functions, and what CPython's JIT makes.
load helper

# whole_stacks NAME: hardly any native stack ends early, and the frames of both kinds are where they belong.
whole_stacks() {
    collapsed >"$1.txt"
    awk -v what="$1" '
        { ns = $NF; all += ns }
        /truncated: code outside|no module/ { cut += ns; if (!example) example = $0 }
        /^_start .*main \(.*hot_loop.py/ { whole += ns }
        /list_sort.*by_key \(.*hot \(/ { sorted += ns }
        END {
            printf "%s: %.1f %% from _start on, %.1f %% cut\n", what, 100 * whole / all, 100 * cut / all
            if (cut > all / 20) { print "cut: " example; exit 1 }
            if (whole < 0.8 * all) exit 1
        }' "$1.txt"
}

behind_trampolines() {
    case $VERSION in 3.8.* | 3.9.* | 3.10.* | 3.11.*) return ;; esac
    profiled "$PYTHON" -X perf "$WORKLOADS/hot_loop.py" 1
    rm -f "/tmp/perf-$(reader field <(info) pid).map"
    whole_stacks trampolines
}

@test "stacks go on behind the trampolines of -X perf" {
    with_each_python behind_trampolines
}

behind_the_jit() {
    PYTHON_JIT=1 "$PYTHON" -c 'import sys; sys.exit(not (hasattr(sys, "_jit") and sys._jit.is_enabled()))' || return 0
    profiled PYTHON_JIT=1 "$PYTHON" "$WORKLOADS/hot_loop.py" 1
    whole_stacks jit
}

@test "stacks go on behind code of CPython's JIT" {
    with_each_python behind_the_jit
}

# Assembly that says nothing about its frame, as OpenBLAS has it: what called it is known from the eval frame on.
around_assembly() {
    case $VERSION in 3.8.* | 3.9.* | 3.10.*) return ;; esac # their eval frames have no markers
    gcc -shared -fPIC -O1 -o assembly.so "$WORKLOADS/lib/assembly.c"
    profiled "$PYTHON" -c '
import ctypes, time
library = ctypes.CDLL("./assembly.so")
def before():
    while time.thread_time() < 0.5:
        sum(range(1000))
def outer():
    end = time.thread_time() + 1
    while time.thread_time() < end:
        inner()
def inner():
    library.spin_without_cfi(3000000)
before() # where the marker lies in an eval frame is learnt from a stack that is whole
outer()'
    collapsed >stacks.txt
    awk '
        { ns = $NF; all += ns }
        /spin_without_cfi/ { spin += ns }
        /^_start .*;outer \(.*;inner \(.*\[native stack truncated: no unwind rule for this address\];spin_without_cfi \(assembly.so\)/ { whole += ns }
        END {
            printf "spin_without_cfi %.1f %%, from _start on %.1f %%\n", 100 * spin / all, 100 * whole / all
            if (spin < 0.5 * all || whole < 0.8 * spin) exit 1
        }' stacks.txt
}

@test "stacks go on behind assembly without unwind information" {
    with_each_python around_assembly
}
