# pyprof doctor: what is wrong with a process, a command or this environment, and what to do.
load lib/helper

# since PID: when the process began, in ticks; nothing when there is none.
since() {
    sed 's/.*) //' "/proc/$1/stat" 2>/dev/null | cut -d' ' -f20
}

# Most have ended, and their pids may be others' by now.
teardown_file() {
    local pid began
    [ -e "$BATS_FILE_TMPDIR/pids" ] || return 0
    while read -r pid began; do
        [ -z "$began" ] || [ "$(since "$pid")" != "$began" ] || kill "$pid" 2>/dev/null || true
    done <"$BATS_FILE_TMPDIR/pids"
}

# begin COMMAND...: in the background; its pid in $pid. It ends with the suite at the latest.
begin() {
    "$@" >begin.out 2>&1 3>&- &
    pid=$!
    echo "$pid $(since "$pid")" >>"$BATS_FILE_TMPDIR/pids"
}

spin='import time
end = time.monotonic() + 300
while time.monotonic() < end: sum(range(1000))'

# doctor STATUS ARGUMENT...: its output in doctor.txt.
doctor() {
    local wanted=$1 status=0
    shift
    "$PYPROF" doctor "$@" >doctor.txt 2>doctor.err || status=$?
    [ "$status" -eq "$wanted" ] || fail "status $status, expected $wanted: $(cat doctor.txt doctor.err)"
}

# doctor_says STATUS PID PATTERN: for wait_until, as a process begins or changes. The text as one line, of one blank each.
doctor_says() {
    doctor "$1" "$2" && tr -s ' \n' ' ' <doctor.txt | grep -qE "$3"
}

# says PATTERN
says() {
    tr -s ' \n' ' ' <doctor.txt | grep -qE "$1" || fail "not /$1/: $(cat doctor.txt)"
}

# shellcheck disable=SC2153 # PYTHON is with_pythons'
@test "a process that is profiled: all is well" {
    begin env LD_PRELOAD="$LIBPYPROF" "$PYTHON" -c "$spin"
    wait_until 60 doctor_says 0 "$pid" 'profile .*[1-9][0-9]* samples, .* being written'
    for topic in library python thread timers signal settings output profile; do
        grep -q "^ok   $topic " doctor.txt || fail "$topic: $(cat doctor.txt)"
    done
    ! grep -qE '^(warn|FAIL)' doctor.txt || fail "$(cat doctor.txt)"
    says "Python ${VERSION%.*} "
    # A path may be longer than a line: it is not broken.
    grep -vE '[^ ]{60}' doctor.txt | awk 'length > 80' >long.txt
    [ ! -s long.txt ] || fail "wider than 80 columns: $(cat long.txt)"
    doctor 0 --json "$pid"
    judge 'told = json.load(open("doctor.txt"))
assert told["version"] == 1 and told["works"] is True, told
assert {check["level"] for check in told["checks"]} == {"ok"}, told'
    kill "$pid"
}

@test "a process's clock is its own, not what is permitted to doctor" {
    begin env DENIED=perf LD_PRELOAD="$LIBPYPROF" "$BUILD/workloads/denied" "$PYTHON" -c "$spin"
    wait_until 60 doctor_says 0 "$pid" 'warn clock it is sampled by kernel ticks; no perf events: .* -> ticks do not see .* kernel.perf_event_paranoid'
    ! grep -q 'perf events are permitted here' doctor.txt || fail "$(cat doctor.txt)"
    kill "$pid"
}

@test "a directory of profiles is no process: what to type instead" {
    profiled "$PYTHON" "$WORKLOADS/spin.py" 0.3
    doctor 2 pyprof.out
    lines_of doctor.err 1 'pyprof info pyprof.out, or PYPROF_OUT=pyprof.out pyprof doctor$'
    "$PYPROF" help run | unwrapped | grep -q 'PYPROF_CLOCK chooses' || fail "$("$PYPROF" help run)"
}

@test "a process whose traces are to be kept, and that has none: it is said" {
    begin env PYPROF_TRACES=1 LD_PRELOAD="$LIBPYPROF" "$PYTHON" -c "$spin"
    wait_until 60 doctor_says 0 "$pid" 'warn contexts PYPROF_TRACES=1: no trace was seen: the program has imported none of'
    kill "$pid"
}

@test "what samples belong to: sources with their versions, and those that are not read, with the reason" {
    begin env LD_PRELOAD="$LIBPYPROF" "$PYTHON" -c "import asyncio, sys, types
def package(name, **names):
    sys.modules[name] = types.ModuleType(name)
    vars(sys.modules[name]).update(names)
package('flask', __version__='1.1')
package('flask.globals')
package('starlette', __version__='9.2')
package('starlette.routing')
package('aiohttp', __version__='3.9')
package('aiohttp.web_urldispatcher')
$spin"
    wait_until 60 doctor_says 0 "$pid" 'ok contexts samples belong to asyncio tasks and what awaits them, endpoints of aiohttp 3.9 warn'
    says 'warn contexts samples do not belong to endpoints of Flask 1.1 \(flask.globals has no context variable _cv_request, as since 2.2\)'
    says 'warn contexts samples do not belong to endpoints of Starlette 9.2 \(Route.handle of starlette.routing is not as it is known\)'
    kill "$pid"
}

@test "not preloaded, library missing, no Python, static program" {
    begin "$PYTHON" -c "$spin"
    wait_until 60 doctor_says 1 "$pid" 'FAIL library not preloaded.*start it with: pyprof run -- '
    kill "$pid"
    # What is printed can be typed: one line, each argument as it was. Code that is long is left out.
    # shellcheck disable=SC1003 # a backslash
    begin "$PYTHON" -c "$spin" "it's" $'a\tb\'c\\n' 'back\slash' ''
    wait_until 60 doctor_says 1 "$pid" 'FAIL library not preloaded.*pyprof run -- .*slash'
    eval "typed=($(sed -n 's/^ *pyprof run -- //p' doctor.txt))"
    # shellcheck disable=SC2154 # typed is evaluated
    printf '%s\0' "${typed[@]}" | cmp - "/proc/$pid/cmdline" || fail "$(cat doctor.txt)"
    kill "$pid"
    begin "$PYTHON" -c "$spin$(printf '%600s' '')"
    wait_until 60 doctor_says 1 "$pid" "pyprof run -- [^ ]* -c … "
    kill "$pid"
    begin env LD_PRELOAD=/no/such/libpyprof.so "$PYTHON" -c "$spin"
    wait_until 60 doctor_says 1 "$pid" 'FAIL library LD_PRELOAD names /no/such/libpyprof.so, which cannot be reached'
    kill "$pid"
    begin env LD_PRELOAD="$LIBPYPROF" sleep 300
    wait_until 60 doctor_says 1 "$pid" 'ok library .* is loaded FAIL python no Python in this process \(sleep\)'
    kill "$pid"
    echo 'int main(void) { for (;;) ; }' >static.c
    gcc -static -o static static.c
    begin env LD_PRELOAD="$LIBPYPROF" ./static
    wait_until 60 doctor_says 1 "$pid" 'FAIL library the program is static'
    kill "$pid"
}

@test "a library that was replaced since" {
    cp "$LIBPYPROF" libpyprof.so
    begin env LD_PRELOAD="$PWD/libpyprof.so" "$PYTHON" -c "$spin"
    wait_until 60 doctor_says 0 "$pid" 'ok timers'
    rm libpyprof.so
    doctor 0 "$pid"
    says 'warn library .*libpyprof.so is loaded, but its file was replaced or deleted'
    kill "$pid"
}

@test "PYPROF_OUT cannot be written: where the files are instead" {
    : >file
    begin env LD_PRELOAD="$LIBPYPROF" PYPROF_OUT="$PWD/file/out" "$PYTHON" -c "$spin"
    wait_until 60 doctor_says 0 "$pid" "warn output user .* cannot write .*file/out: Not a directory; files go to $TMPDIR/pyprof-.* ok profile $TMPDIR/pyprof-"
    kill "$pid"
    begin env LD_PRELOAD="$LIBPYPROF" PYPROF_OUT="$PWD/file/out" TMPDIR="$PWD/file" "$PYTHON" -c "$spin"
    wait_until 60 doctor_says 1 "$pid" 'FAIL output .*neither can it write .*set PYPROF_OUT'
    kill "$pid"
}

@test "a thread that blocks the signal by a system call of its own" {
    # What pthread_sigmask does is the library's business; this is past it.
    begin env LD_PRELOAD="$LIBPYPROF" "$PYTHON" -c "import ctypes
mask = ctypes.c_uint64(2**64 - 1)
ctypes.CDLL(None).syscall(14, 0, ctypes.byref(mask), None, 8)
$spin"
    wait_until 60 doctor_says 1 "$pid" 'FAIL signal SIGURG is blocked in 1 of 1 thread'
    kill -KILL "$pid"
}

@test "an idle process: no samples is right" {
    begin env LD_PRELOAD="$LIBPYPROF" "$PYTHON" -c 'import time
end = time.process_time() + 0.3
while time.process_time() < end: pass
time.sleep(300)'
    wait_until 60 doctor_says 0 "$pid" 'ok profile .*idle for .* without CPU time there is nothing to sample'
    kill "$pid"
    # It has never used what a sample is worth.
    begin env LD_PRELOAD="$LIBPYPROF" PYPROF_HZ=1 "$PYTHON" -S -c 'import time; time.sleep(300)'
    wait_until 60 doctor_says 0 "$pid" 'ok profile'
    kill "$pid"
}

# bats test_tags=core
@test "timer_create is refused by a sandbox: of a process, and here" {
    begin env LD_PRELOAD="$LIBPYPROF" "$BUILD/workloads/denied" "$PYTHON" -c "$spin"
    wait_until 60 doctor_says 1 "$pid" 'FAIL timers none is armed.*seccomp'
    kill "$pid"
    ends_with 1 "$BUILD/workloads/denied" "$PYPROF" doctor >doctor.txt || fail "$(cat doctor.txt)"
    says 'FAIL machine a timer cannot be made here.*timer_create'
}

@test "a set-user-ID process, whose loader ignores LD_PRELOAD" {
    [ "$(id -u)" -eq 0 ] || skip "only root can make one"
    cp "$(command -v sleep)" privileged
    chown 65534 privileged
    chmod u+s privileged
    begin env LD_PRELOAD="$LIBPYPROF" ./privileged 300
    wait_until 60 doctor_says 1 "$pid" 'FAIL library the process is privileged'
    kill "$pid"
}

@test "a version of Python that is too old" {
    old=$(compgen -G "${PYENV_ROOT:-$HOME/.pyenv}/versions/3.7.*/bin/python3.7" | head -n 1)
    [ -n "$old" ] || skip "no Python 3.7 here"
    begin env LD_PRELOAD="$LIBPYPROF" "$old" -c "$spin"
    wait_until 60 doctor_says 1 "$pid" 'FAIL python Python 3.7 in .* is too old -> Python 3.8 to 3.15 can be profiled Sampling'
    kill "$pid"
}

@test "a stopped process; one that wrote over its environment" {
    begin env LD_PRELOAD="$LIBPYPROF" "$PYTHON" -c "$spin"
    wait_until 60 doctor_says 0 "$pid" 'ok profile .* and being written'
    kill -STOP "$pid"
    wait_until 60 doctor_says 0 "$pid" "warn process it is stopped.* kill -CONT $pid"
    kill -KILL "$pid"
    # What setproctitle does to the environment that the kernel shows.
    begin env LD_PRELOAD="$LIBPYPROF" PYPROF_OUT="$PWD/elsewhere" "$PYTHON" -c "import ctypes
start, end = map(int, open('/proc/self/stat').read().rsplit(')', 1)[1].split()[47:49])
ctypes.memset(start, 0, end - start)
$spin"
    wait_until 60 doctor_says 0 "$pid" 'ok timers .*warn settings its environment does not name the library'
    kill "$pid"
}

@test "a process without Python is asked about for its children's sake" {
    begin env LD_PRELOAD="$LIBPYPROF" sh -c "'$PYTHON' -c '$spin'; exit 0"
    wait_until 60 doctor_says 0 "$pid" 'warn python no Python .*ok child .*: sampled'
    # As it was typed; what is long is cut in the middle.
    says 'ok child [0-9]+ \(python[0-9.]* -c .*(…|\.\.\.).*sum\(range\(1000\)\)\): sampled'
    pkill -P "$pid"
    begin sh -c "'$PYTHON' -c '$spin'; exit 0"
    wait_until 60 doctor_says 1 "$pid" 'warn child .*not preloaded'
    pkill -P "$pid"
}

@test "a process that gave up root; a process of another user" {
    [ "$(id -u)" -eq 0 ] || return 0
    mkdir -m 700 private
    begin env LD_PRELOAD="$LIBPYPROF" PYPROF_OUT="$PWD/private" TMPDIR=/no/such "$PYTHON" -c "import os
os.setuid(65534)
$spin"
    wait_until 60 doctor_says 1 "$pid" 'FAIL output user 65534 cannot write .*private'
    kill "$pid"
    # To a user who may not see into a process doctor says so. The test's own directory is closed to others.
    begin env LD_PRELOAD="$LIBPYPROF" "$PYTHON" -c "import subprocess, sys
subprocess.call([sys.executable, '-c', '''$spin'''])"
    wait_until 60 doctor_says 0 "$pid" 'ok child .*: sampled'
    open=$(mktemp -d /var/tmp/pyprof-test-XXXXXX)
    chmod 755 "$open"
    cp "$PYPROF" "$open/pyprof"
    status=0
    (cd / && setpriv --reuid 65534 --regid 65534 --clear-groups "$open/pyprof" doctor "$pid") >doctor.txt || status=$?
    rm -r "$open"
    [ "$status" -eq 1 ] || fail "status $status: $(cat doctor.txt)"
    says 'warn library .*cannot be seen.* -> ask as that user or as root \(the right is CAP_SYS_PTRACE\)'
    says "ok thread .* ok signal .* warn child .*: cannot be seen by user 65534, .* CPU Sampling cannot be seen by user 65534. "
    pkill -P "$pid"
    kill "$pid"
}

@test "a process that is not there, that has ended, no process id: what to do instead" {
    doctor 1 4194303
    says 'FAIL process there is no process 4194303'
    sh -c 'echo $$' >pid.txt
    doctor 1 "$(cat pid.txt)"
    says "there is no process .*pyprof report --pid $(cat pid.txt)"
    for wrong in abc 0 -1 12x 99999999999 ''; do
        ends_with 2 "$PYPROF" doctor "$wrong" >doctor.txt 2>doctor.err || fail "'$wrong'"
        lines_of doctor.err 1 'pyprof'
    done
    doctor 2 1 2
    doctor 2 --
    lines_of doctor.err 1 'pyprof doctor -- python app.py'
    # Ended, and its parent does not care.
    # Not a shell: dash takes notice of what has ended after each command, in two of five tries before its exec.
    begin python3 -c 'import os, time
pid = os.fork() or os._exit(0)
print(pid, file=open("zombie.txt", "w"))
time.sleep(300)'
    wait_until 60 test -s zombie.txt
    wait_until 60 doctor_says 1 "$(cat zombie.txt)" 'has ended; its parent'
    kill "$pid"
}

@test "of a command: what its file is, without running it" {
    doctor 0 -- "$PYTHON" -c 'open("it_ran", "w")'
    [ ! -e it_ran ] || fail "it was run"
    says "ok command $PYTHON is a 64-bit x86-64 program ok python python.* is Python ok library .* can be preloaded"
    printf '#!/usr/bin/env sh\n' >script
    doctor 1 -- ./script
    says 'FAIL command ./script: Permission denied -> make it executable'
    chmod +x script
    doctor 0 -- ./script
    says 'ok command ./script is a script, run by .*/sh ok command .*/sh is a .* program ok python sh is not Python itself'
    # It starts Python without LD_PRELOAD, unless that is set again.
    for option in - -i --ignore-environment; do
        doctor 1 -- env "$option" "$PYTHON" -c pass
        says "FAIL command env $option removes LD_PRELOAD from .* -> put '$PYPROF run --' after it"
        doctor 0 -- env "$option" LD_PRELOAD="$LIBPYPROF" "$PYTHON" -c pass
        doctor 0 -- env "$option" "$PYPROF" run -- "$PYTHON" -c pass
    done
    for option in '-u LD_PRELOAD' -uLD_PRELOAD --unset=LD_PRELOAD LD_PRELOAD=; do
        # shellcheck disable=SC2086 # two words
        doctor 1 -- env A=b $option "$PYTHON" -c pass
        says "FAIL command env $option removes LD_PRELOAD from "
    done
    doctor 0 -- env HOME=/ "$PYTHON" -i
    printf '#!/bin/sh\n' >sudo
    chmod +x sudo
    doctor 1 -- ./sudo -u nobody "$PYTHON"
    says 'FAIL command sudo removes LD_PRELOAD'
    doctor 1 -- no-such-command
    says 'FAIL command no-such-command: command not found -> is it in PATH'
    cp "$(command -v sleep)" privileged
    chmod u+s privileged
    # Of the user that asks: no more rights than before.
    doctor 0 -- ./privileged
    if [ "$(id -u)" -eq 0 ]; then
        chown 65534 privileged
        chmod u+s privileged
        doctor 1 -- ./privileged
        says 'FAIL command ./privileged is set-user-ID'
    fi
    # Another machine's.
    cp "$(command -v sleep)" foreign
    printf '\267' | dd of=foreign bs=1 seek=18 conv=notrunc status=none
    doctor 1 -- ./foreign
    says 'FAIL library the program is 64-bit ARM, the library 64-bit x86-64'
    echo 'int main(void) { return 0; }' >static.c
    gcc -static -o static static.c
    doctor 1 -- ./static
    says 'FAIL library the program is static'
    printf '\267' | dd of=static bs=1 seek=18 conv=notrunc status=none
    doctor 1 -- ./static
    says 'FAIL library the program is 64-bit ARM, the library 64-bit x86-64'
    if command -v musl-gcc >/dev/null; then
        musl-gcc -o musl static.c
        doctor 0 -- ./musl
        says 'ok library the program is of musl libc'
    fi
    echo 'no program' >text
    chmod +x text
    doctor 0 -- ./text
    says "ok command ./text has no '#!' in its first line: it is run by /bin/sh"
    printf '#!/no/such/python\n' >text
    doctor 1 -- ./text
    says 'FAIL command ./text is a script for /no/such/python, which is not here'
    printf '#!/bin/sh\r\n' >text
    doctor 1 -- ./text
    says "FAIL command ./text is a script for /bin/sh.r, which is not here -> its lines end as those of Windows do"
    doctor 1 -- /
    says 'FAIL command /: Is a directory -> name a program in it'
    : >file
    PYPROF_OUT=$PWD/file/out TMPDIR=$PWD/file doctor 1 -- "$PYTHON"
    says 'FAIL output'
    LD_PRELOAD=/no/such/libpyprof.so doctor 1 -- "$PYTHON"
    says 'FAIL library LD_PRELOAD names /no/such/libpyprof.so'
}

@test "without an argument: this environment and the latest profile" {
    doctor 0
    says 'ok library .*libpyprof.so, pyprof .* ok machine .* ok output .* ok profile none yet in pyprof.out -> pyprof run'
    profiled "$PYTHON" "$WORKLOADS/spin.py" 1
    doctor 0
    says 'ok profile the latest run, .* 1 process, .* s CPU, [1-9][0-9]* samples \(.*spin.py'
    [ ! -s doctor.err ] || fail "stderr: $(cat doctor.err)"
}

# The settings are those of the library, and what it complains about.
@test "settings: doctor complains where the library does" {
    while IFS='=' read -r name value; do
        rm -rf pyprof.out
        profiled "$name=$value" "$PYTHON" -c pass >library.txt 2>&1
        env "$name=$value" "$PYPROF" doctor >doctor.txt || fail "$(cat doctor.txt)"
        library=$(grep -c "$name=" library.txt || true)
        ours=$(grep -c "warn settings $name=.*" doctor.txt || true)
        [ "$library" -eq "$ours" ] || fail "$name=$value: the library says $(cat library.txt), doctor: $(cat doctor.txt)"
    done <<'END'
PYPROF_HZ=0
PYPROF_HZ=100
PYPROF_HZ=1001
PYPROF_HZ=1e2
PYPROF_HZ=
PYPROF_SIGNAL=SIGUSR1
PYPROF_SIGNAL=PROF
PYPROF_SIGNAL=33
PYPROF_SIGNAL=40
PYPROF_SIGNAL=65
PYPROF_MAX_OVERHEAD=2%
PYPROF_MAX_OVERHEAD=0.5
PYPROF_MAX_OVERHEAD=0.00001
PYPROF_MAX_OVERHEAD=.5%
PYPROF_MAX_OVERHEAD=1.
PYPROF_MAX_OVERHEAD=101
PYPROF_MAX_OVERHEAD=-1
PYPROF_MAX_OVERHEAD=much
PYPROF_MAX_DISK=0
PYPROF_MAX_DISK=500M
PYPROF_MAX_DISK=2g
PYPROF_MAX_DISK=1000000
PYPROF_MAX_DISK=40K
PYPROF_MAX_DISK=1048576
PYPROF_MAX_DISK=1.5G
PYPROF_MAX_DISK=10MB
PYPROF_MAX_DISK=-1
PYPROF_MAX_DISK=99999999999G
END
    PYPROF_HERTZ=100 doctor 0
    says 'warn settings PYPROF_HERTZ is no setting'
}
