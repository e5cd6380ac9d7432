# Two runs of one program, for suites that compare or choose runs.

# program: the source, which uses digest and burn for so many seconds each.
program() {
    cat <<'END'
import hashlib
import sys
import time

def fib(n):
    return n if n < 2 else fib(n - 1) + fib(n - 2)

def digest(seconds):
    end = time.thread_time() + seconds
    while time.thread_time() < end:
        hashlib.sha256(b"x" * 200000).digest()

def burn(seconds):
    end = time.thread_time() + seconds
    while time.thread_time() < end:
        fib(15)

digest(float(sys.argv[1]))
burn(float(sys.argv[2]))
END
}

once() {
    if [ ! -e "$BATS_FILE_TMPDIR/done" ]; then
        (
            cd "$BATS_FILE_TMPDIR" || exit 1
            program >app.py
            touch -d '1 hour ago' app.py
            profiled "$PYTHON" app.py 1 0.1
            profiled "$PYTHON" app.py 0.1 1
        )
        touch "$BATS_FILE_TMPDIR/done"
    fi
    cp -rp "$BATS_FILE_TMPDIR/pyprof.out" "$BATS_FILE_TMPDIR/app.py" .
}

total() {
    awk '{ n += $NF } END { printf "%.0f\n", n }' "$@"
}
