# Code that runs on another stack than its thread's own: nobody knows where that ends.
load helper

setup_file() {
    gcc -O1 -g -Wall -Werror -shared -fPIC -o "$BATS_FILE_TMPDIR/coroutine.so" "$WORKLOADS/lib/coroutine.c"
}

other_stacks() {
    profiled "$PYTHON" -c '
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
    info >info.json
    reader accounting info.json
    reader truncated info.json >truncated.txt
    ! grep -iE 'torn|bad stack' truncated.txt || fail "$(cat truncated.txt)"
    collapsed >stacks.txt
    for function in coroutine python_there signal_stack; do
        between $((95 - $(few 2))) $((100 * $(reader inclusive stacks.txt "$function") / 800000000)) $((105 + $(few 2))) \
            "percent of its CPU in $function"
    done
    # The whole stack, below the handler too.
    awk '
        /signal_stack \(.*burn_elsewhere/ { all += $NF }
        /^(_start|__clone3?|0x[0-9a-f]+) .*signal_stack \(.*on_signal_stack.*handler.*burn_elsewhere/ { whole += $NF }
        END { if (whole < 0.9 * all || !all) { print whole " of " all " ns below a handler are whole"; exit 1 } }' stacks.txt ||
        fail "$(grep signal_stack stacks.txt)"
}

@test "on a coroutine's stack and on one for signals: Python's frames are there, and those below a handler" {
    with_some_pythons other_stacks
}
