# pyprof run, report and info as a user meets them.
load lib/helper

@test "pyprof run: the program's streams and status, where the profile goes, what was recorded and what to type next" {
    ends_with 7 "$PYPROF" run -- "$PYTHON" "$WORKLOADS/output.py" >out.txt 2>err.txt <<<"input" || fail "$(cat err.txt)"
    grep -q '^out:input' out.txt || fail "stdout: $(cat out.txt)"
    # The program's own line between ours.
    lines_of err.txt 3 '^pyprof: profile goes to .*/pyprof\.out; to watch it run: pyprof top$'
    samples=$(info | reader field /dev/stdin samples)
    tail -n 1 err.txt | grep -qE "^pyprof: $samples samples, [0-9.]+ s CPU( \(of at least [0-9.]+ s that the kernel billed\))? in [0-9.]+ s, 1 process; next: pyprof report\$" ||
        fail "no sum of $samples samples: $(cat err.txt)"
}

# It says itself what the kernel has billed it and the program that it waits for, before its end: some milliseconds.
@test "pyprof run: what the kernel billed, with programs that have no Python" {
    "$PYPROF" run -- "$PYTHON" -c 'import os, resource, subprocess
subprocess.run(["awk", "BEGIN { for (i = 0; i < 5000000; i++) n += i }"])
sum(range(5000000))
both = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
print(*(used.ru_utime + used.ru_stime for used in both))' >out.txt 2>err.txt
    billed=$(sed -nE 's/^pyprof: .* samples?, ([0-9.]+) s CPU \(of at least ([0-9.]+) s that the kernel billed\) in .*/\1 \2/p' err.txt)
    awk -v said="$billed" '{ n = split(said, s, " "); exit !(n == 2 && s[1] < $1 + 0.05 && s[2] > $1 + $2 - 0.01 && s[2] < $1 + $2 + 0.1) }' out.txt ||
        fail "in the program $(cat out.txt): $(cat err.txt)"
    info >info.json
    awk -v said="$(reader field info.json children_ns)" '{ exit !(said > ($2 - 0.001) * 1e9 && said < ($2 + 0.001) * 1e9) }' out.txt ||
        fail "the children used $(cat out.txt): $(cat info.json)"
    "$PYPROF" info | grep -qE "^ +ended children, profiled or not: [0-9.]+ s CPU" || fail "$("$PYPROF" info)"
}

# The bill lies between what the processes have recorded and what the kernel bills pyprof itself with its command. What nothing in
# the run has waited for is in the profile, and in no bill: report and run say what the bill is at least.
@test "pyprof run: what the kernel billed closes the sum of short programs, and says no more than is certain" {
    for kind in loop spawner shell pool chain between left daemon; do
        "$PYTHON" "$WORKLOADS/billed.py" "$PYPROF" "$kind" 2>err.txt || fail "$kind: $(cat err.txt)"
    done
}

# Of a directory that the shell must have in quotes.
@test "pyprof run -o: what it says to type next can be typed" {
    "$PYPROF" run -o "my profile" -- "$PYTHON" -c 'import os
if not os.fork():
    sum(range(20000000))
    os._exit(0)
sum(range(20000000))
os.wait()' 2>err.txt
    tail -n 1 err.txt | grep -q ', 2 processes; next: ' || fail "$(cat err.txt)"
    next=$(sed -n 's/.*; next: pyprof //p' err.txt)
    eval "\"$PYPROF\" $next" >report.txt
    grep -q '; 2 processes, ' report.txt || fail "$next: $(cat report.txt)"
}

@test "pyprof run: where the directory cannot be written, it says so before it starts, once, and where the profile is" {
    : >a_file
    for place in /dev/null/nowhere /proc/nowhere a_file; do
        "$PYPROF" run -o $place -- "$PYTHON" "$WORKLOADS/spin.py" 1.5 >out.txt 2>err.txt
        lines_of err.txt 2 "^pyprof: cannot write to .*$place: .*; profile goes to $TMPDIR/pyprof-[0-9]+ instead; to watch it run: pyprof top $TMPDIR/pyprof-[0-9]+\$"
        next=$(sed -n 's/.* samples, .*; next: pyprof //p' err.txt)
        eval "\"$PYPROF\" $next" >report.txt 2>report.err || fail "$(cat err.txt)"
        grep -q 'spin (' report.txt || fail "$(cat err.txt report.txt)"
    done
    ! ls -d .pyprof-* "$TMPDIR"/.pyprof-* 2>/dev/null || fail "left there"
}

@test "the path is named to what is typed next when PYPROF_OUT was set for one command; no other profile is shown" {
    PYPROF_OUT=elsewhere "$PYPROF" run -- "$PYTHON" "$WORKLOADS/spin.py" 0.3 >out.txt 2>err.txt
    head -n 1 err.txt | grep -q '; to watch it run: pyprof top elsewhere$' || fail "$(cat err.txt)"
    tail -n 1 err.txt | grep -q '; next: pyprof report elsewhere$' || fail "$(cat err.txt)"
    PYPROF_OUT=elsewhere "$PYPROF" report --full >report.txt
    grep -q 'pyprof flame elsewhere ' report.txt || fail "$(cat report.txt)"
    PYPROF_OUT=elsewhere "$PYPROF" run -o pyprof.out -- true 2>err.txt
    grep -q '; to watch it run: pyprof top pyprof.out$' err.txt || fail "$(cat err.txt)"
    # A profile of another program where profiles go that cannot be written elsewhere.
    mv elsewhere "$TMPDIR/pyprof-$(id -u)"
    for verb in report info flame runs diff "export --format collapsed" "top --count 1" "annotate spin.py"; do
        # shellcheck disable=SC2086
        ends_with 1 "$PYPROF" $verb >out.txt 2>err.txt || fail "$verb"
        ! grep -q spin out.txt || fail "$verb: $(cat out.txt)"
        [ "$verb" = "top --count 1" ] || grep -qE "no profile in pyprof.out; the latest in $TMPDIR/pyprof-[0-9]+ is of [0-9]+ (second|minute)s? ago: .*spin" err.txt || fail "$verb: $(cat err.txt)"
        [ "$verb" = "top --count 1" ] || lines_of err.txt 3 "If it is that: pyprof $verb $TMPDIR/pyprof-[0-9]+\$"
        [ "$verb" = "top --count 1" ] || grep -q '^To make one: pyprof run -- ' err.txt || fail "$verb: $(cat err.txt)"
    done
    [ ! -e pyprof.html ] || fail "a page was written"
    "$PYPROF" doctor | unwrapped | grep -qE "none in pyprof.out; the latest in $TMPDIR/pyprof-[0-9]+ is of .*spin" || fail "$("$PYPROF" doctor)"
}

@test "processes that a signal has ended are not said to run; a rate that was lowered is told; old Pythons are named" {
    cat >pool.py <<'END'
import multiprocessing, signal, sys, time

def work():
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    end = time.monotonic() + 300
    while time.monotonic() < end:
        sum(range(1000))

if __name__ == "__main__":
    workers = [multiprocessing.Process(target=work) for _ in range(2)]
    for worker in workers:
        worker.start()
    time.sleep(2.5)
    for worker in workers:
        worker.terminate()
        worker.join()
END
    PYPROF_MAX_OVERHEAD=0.01 "$PYPROF" run --hz 200 -- "$PYTHON" pool.py 2>err.txt
    tail -n 1 err.txt | grep -q ', [0-9]* processes (.*2 ended by a signal); the rate was lowered from 200 to [0-9]* samples per CPU second.*; next: ' || fail "$(cat err.txt)"
    sleep 1 # 3.14's fork server ends after its parent
    [ "$("$PYPROF" info | grep -c ' ended by a signal$')" -eq 2 ] || fail "$("$PYPROF" info)"
    "$PYPROF" info | grep -q 'threads [1-9].* (0 alive)' || fail "$("$PYPROF" info)"
    # Of the one that its parent, killed in the same moment, did not wait for.
    mkdir killed
    "$PYPROF" run -o killed -- timeout -s KILL 1 "$PYTHON" "$WORKLOADS/spin.py" 300 2>err.txt || true
    lines_of err.txt 2 ', 1 process \(1 ended by a signal\); next: '
    old=$(compgen -G "${PYENV_ROOT:-$HOME/.pyenv}/versions/*/bin/python3.[67]" | head -n 1)
    [ -n "$old" ] || skip "no Python 3.6 or 3.7 here"
    "$PYPROF" run -- "$old" -c 'sum(range(9000000))' 2>err.txt
    lines_of err.txt 2 '^pyprof: .* is not profiled: Python 3.[67] is too old; Python 3.8 to 3.15 can be profiled$'
    ends_with 1 "$PYPROF" doctor -- "$old" >out.txt && grep -q 'FAIL python   Python 3.[67] is too old' out.txt || fail "$(cat out.txt)"
}

@test "a profile is not overwritten by what is made of it" {
    "$PYPROF" run -- "$PYTHON" "$WORKLOADS/spin.py" 0.3 >out.txt 2>err.txt
    set -- pyprof.out/*.pyprof
    cp "$1" kept
    ln -s "$1" link.svg
    for command in "export --format svg -o $1" "export -o link.svg" "merge -o $1" "merge -o link.svg $1"; do
        status=0
        # shellcheck disable=SC2086
        "$PYPROF" $command >out.txt 2>err.txt || status=$?
        [ "$status" -gt 0 ] || fail "$command: status 0"
        lines_of err.txt 1 'is (a profile|one of the profiles to merge): write to another file$'
        cmp "$1" kept
    done
    # Another profile that `merge` made before may be.
    "$PYPROF" merge -o merged.pyprof && "$PYPROF" merge -o merged.pyprof 2>err.txt
    lines_of err.txt 1 'merged 1 part, .* kB, into merged.pyprof$'
    "$PYPROF" export -o spin.svg 2>err.txt
    lines_of err.txt 1 '^pyprof: wrote spin.svg$'
}

# counts SIGNAL...: a program that counts these, says when it is ready, and ends with status 9 at SIGTERM. Its file "seen" has
# the names so far.
counts='import os, signal, sys, time
seen = []
def count(number, frame):
    seen.append(signal.Signals(number).name)
    with open("seen", "a") as file:
        print(seen[-1], file=file)
for name in sys.argv[1:]:
    signal.signal(getattr(signal, name), count)
def end(number, frame):
    print(*seen, flush=True)
    os._exit(9)
signal.signal(signal.SIGTERM, end)
os.write(1, b"ready %d\n" % os.getpid())  # at once: Ctrl-C flushes what the terminal has not passed on
while True:
    time.sleep(0.01)'

@test "pyprof run passes signals on, and the status of a command that a signal ends" {
    "$PYPROF" run -- "$PYTHON" -c "$counts" SIGHUP SIGUSR1 SIGUSR2 SIGWINCH SIGQUIT SIGRTMIN >out.txt 2>err.txt &
    run=$!
    wait_until 60 grep -q ready out.txt
    for name in HUP USR1 USR2 WINCH QUIT RTMIN; do
        kill -"$name" "$run"
        # Two that wait at once come in the order of their numbers.
        wait_until 60 grep -qx "SIG$name" seen
    done
    kill -TERM "$run"
    ends_with 9 wait "$run" || fail "$(cat err.txt)"
    tail -n 1 out.txt | grep -qx 'SIGHUP SIGUSR1 SIGUSR2 SIGWINCH SIGQUIT SIGRTMIN' || fail "$(cat out.txt)"
    # Killed itself: whoever started pyprof sees the same.
    ends_with 137 "$PYPROF" run -- "$PYTHON" -c 'import os; os.kill(os.getpid(), 9)' 2>err.txt || fail "$(cat err.txt)"
    /usr/bin/python3 -c 'import subprocess, sys
status = subprocess.run(sys.argv[1:], stderr=subprocess.DEVNULL).returncode
assert status == -15, status' "$PYPROF" run -- "$PYTHON" -c 'import os; os.kill(os.getpid(), 15)'
    # Killed from outside: nothing of it goes on.
    "$PYPROF" run -- "$PYTHON" -c "$counts" >killed.txt 2>err.txt &
    run=$!
    wait_until 60 grep -q ready killed.txt
    kill -KILL "$run"
    wait "$run" || true
    command=$(awk '{ print $2 }' killed.txt)
    wait_until 60 sh -c "! kill -0 $command"
    # What is ignored stays so, and what was blocked; a caller that ignores SIGCHLD gets the status all the same.
    /usr/bin/python3 -c 'import os, signal, sys
signal.signal(signal.SIGCHLD, signal.SIG_IGN)
signal.signal(signal.SIGHUP, signal.SIG_IGN)
signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGUSR1])
os.execv(sys.argv[1], sys.argv[1:])' "$PYPROF" run -- "$PYTHON" -c 'import signal
print(signal.getsignal(signal.SIGHUP) == signal.SIG_IGN, signal.getsignal(signal.SIGCHLD) == signal.SIG_IGN,
      *(s.name for s in signal.pthread_sigmask(signal.SIG_BLOCK, [])))' >out.txt 2>err.txt
    grep -qx 'True True SIGUSR1' out.txt || fail "$(cat out.txt err.txt)"
}

@test "pyprof run on a terminal: Ctrl-C reaches the command once; Ctrl-Z stops both, and both go on" {
    cat >steps.txt <<'END'
expect ^ready \d+$
key \x03
expect \^C
signal TERM
expect ^(\^C)?SIGINT$
expect ^pyprof: .*([0-9] samples?, |nothing was profiled)
ends 9
END
    /usr/bin/python3 "$BATS_TEST_DIRNAME/lib/drive.py" steps.txt "$PYPROF" run -- "$PYTHON" -c "$counts" SIGINT >typed.txt 2>&1 ||
        fail "$(cat typed.txt)"
    timeout 120 /usr/bin/python3 - "$PYPROF" run -- "$PYTHON" -c "$counts" <<'END'
import os, signal, subprocess, sys, time

process = subprocess.Popen(sys.argv[1:], preexec_fn=os.setpgrp, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
pids = [process.pid, int(process.stdout.readline().split()[1])]

def wait_for(wanted):
    while True:
        states = [open(f"/proc/{pid}/stat").read().rpartition(")")[2].split()[0] for pid in pids]
        if all((state == "T") == wanted for state in states):
            return
        time.sleep(0.02)

os.killpg(process.pid, signal.SIGTSTP)
wait_for(True)
os.killpg(process.pid, signal.SIGCONT)
wait_for(False)
process.terminate()
assert process.wait() == 9, process.returncode
END
}

@test "pyprof run hands no program of another processor to a shell, but a script without a first line" {
    echo 'int main(void) { return 3; }' >small.c
    gcc -o other small.c
    printf '\x34\x12' | dd of=other bs=1 seek=18 conv=notrunc status=none # e_machine
    PATH=$PWD:$PATH ends_with 126 "$PYPROF" run -- other 2>err.txt
    lines_of err.txt 1 '^pyprof: other: Exec format error: this machine does not run programs that are 64-bit, machine 4660$'
    # shellcheck disable=SC2016 # the script's
    echo 'echo "by sh: $1"' >script
    chmod +x script
    [ "$("$PYPROF" run -- ./script it 2>err.txt)" = 'by sh: it' ] || fail "$(cat err.txt)"
    ! grep -q 'is not profiled' err.txt || fail "$(cat err.txt)"
    echo '#!/no/such/python' >script
    ends_with 127 "$PYPROF" run -- ./script 2>err.txt
    lines_of err.txt 1 '^pyprof: \./script is a script for /no/such/python, which is not here; '
}

@test "pyprof run says when the library cannot be in the command, and when nothing was sampled" {
    echo 'int main(void) { return 3; }' >small.c
    gcc -static -o static small.c
    ends_with 3 "$PYPROF" run -- ./static 2>err.txt
    lines_of err.txt 2 '^pyprof: \./static is not profiled: .*the program is static'
    tail -n 1 err.txt | grep -q '^pyprof: nothing was profiled: .*the program is static' || fail "$(cat err.txt)"
    "$PYPROF" run --hz 50 -- sleep 0.1 2>err.txt
    lines_of err.txt 2 "^pyprof: nothing was profiled: no Python in it used the CPU time of a sample, 20 ms; 'pyprof doctor -- sleep' checks for other reasons$"
    "$PYPROF" run -- env -i "$PYTHON" "$WORKLOADS/spin.py" 0.2 2>err.txt
    lines_of err.txt 2 "^pyprof: nothing was profiled: env -i removes LD_PRELOAD from .*; put '[^ ]*/pyprof run --' after it"
    # shellcheck disable=SC2016 # the inner shell's
    "$PYPROF" run -- sh -c 'unset LD_PRELOAD; exec "$@"' sh "$PYTHON" "$WORKLOADS/spin.py" 0.2 2>err.txt
    lines_of err.txt 2 "^pyprof: nothing was profiled: what used CPU time in it is no Python, or LD_PRELOAD was removed .*'env -i' .*; 'pyprof doctor -- sh' "
    # By a signal, or as a shell and timeout say it.
    mkdir there
    for command in "sh -c 'kill -KILL \$\$'" "sh -c 'exit 137'" "sh -c 'exit 143'" 'timeout 0.01 sleep 60'; do
        eval "'$PYPROF' run -o there -- $command 2>err.txt" || true
        lines_of err.txt 2 '^pyprof: nothing was profiled: the command was killed [.0-9]+ s after its start, before its profile was first written, an eighth of a second after Python.s start$'
    done
    "$PYPROF" run -o there -- sh -c 'exit 124' 2>err.txt || true
    lines_of err.txt 2 'no Python in it used'
    # Another one's files in the directory are not this run's.
    profiled "$PYTHON" "$WORKLOADS/spin.py" 0.3
    "$PYPROF" run -- sleep 0.1 2>err.txt
    lines_of err.txt 2 '^pyprof: nothing was profiled: .*; an earlier run is shown by: pyprof report$'
}

@test "pyprof run does not keep the command's streams open" {
    timeout 120 /usr/bin/python3 - "$PYPROF" run -- sh -c 'exec >&-; until [ -e read ]; do sleep 0.05; done' <<'END'
import subprocess, sys

process = subprocess.Popen(sys.argv[1:], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
process.stdout.read()
assert process.poll() is None
open("read", "w").close()
assert process.wait() == 0
END
}

@test "pyprof run appends to LD_PRELOAD" {
    # What is preloaded already stays.
    cat >other.c <<'END'
int pyprof_test_other(void) { return 42; }
END
    gcc -shared -fPIC -o other.so other.c
    LD_PRELOAD=$PWD/other.so "$PYPROF" run -- "$PYTHON" -c 'import ctypes, os
print(ctypes.CDLL(None).pyprof_test_other(), "libpyprof" in os.environ["LD_PRELOAD"])' >out.txt 2>err.txt
    [ "$(cat out.txt)" = "42 True" ] || fail "$(cat out.txt err.txt)"
}

@test "pyprof run of a program that does not exist: status 127 and one line" {
    ends_with 127 "$PYPROF" run -- ./no-such-program >out.txt 2>err.txt
    lines_of err.txt 1 '^pyprof: \./no-such-program: command not found$'
    : >"my app.py"
    for script in "my app.py" "./my app.py"; do
        status=0
        "$PYPROF" run "$script" >out.txt 2>err.txt || status=$?
        [ "$status" -eq 127 ] || [ "$status" -eq 126 ] || fail "status $status"
        lines_of err.txt 1 "; it is run by Python: pyprof run -- python3 '$script'\$"
    done
}

@test "pyprof run on a terminal ends with the report, none of which goes to the command's stdout" {
    # shellcheck disable=SC2016 # the inner shell's
    NO_COLOR=1 /usr/bin/python3 "$BATS_TEST_DIRNAME/lib/on_terminal.py" 80 bash -c '"$@" >out.txt' - "$PYPROF" run -- "$PYTHON" "$WORKLOADS/spin.py" 0.3 |
        sed 's/.*\r//; s/\x1b\[K//' >screen.txt
    printf 'ready\ndone\n' | diff - out.txt
    grep -qE '^pyprof: [0-9]+ samples, [^;]*$' screen.txt || fail "$(cat screen.txt)"
    sed -n '/^pyprof: [0-9]* samples/,$p' screen.txt | sed 1,2d >report.txt
    grep -q '^ *SELF+LIBRARIES  *TOTAL  OWN FUNCTION' report.txt || fail "$(cat screen.txt)"
    [ "$(wc -l <report.txt)" -le 22 ] && grep -qE '^Next: pyprof annotate spin.py   ' report.txt || fail "$(cat report.txt)"
}

@test "pyprof info --json: all fields, right values" {
    profiled "$PYTHON" "$WORKLOADS/spin.py" 1
    info >info.json
    "$PYTHON" - info.json "$VERSION" <<'END'
import json, sys

info = json.load(open(sys.argv[1]))
process, = info["processes"]
wanted = """run pid python_version cmdline start_unix_ns end_unix_ns threads exited_threads samples cpu_ns sampled_ns
unsampled_ns lost_samples lost_ns own_ns thread_exit_ns difference_ns before_start_ns handler_ns truncated warnings""".split()
missing = [key for key in wanted if key not in process]
problems = [f"missing: {missing}"] if missing else []
if info["version"] != 1:
    problems.append(f"version {info['version']}")
if process["python_version"] != sys.argv[2]:
    problems.append(f"python_version {process['python_version']}, not {sys.argv[2]}")
if "spin.py" not in str(process["cmdline"]):
    problems.append(f"cmdline {process['cmdline']}")
handler = process["handler_ns"]
if not 0 < handler["p50"] <= handler["p99"] <= handler["max"] or not 0 < handler["mean"] <= handler["max"]:
    problems.append(f"handler_ns {handler}")
# Fewer than 100 where other programs want the CPUs as well.
if not 1 <= process["samples"] <= 130:
    problems.append(f"samples {process['samples']} in 1 s at 100 Hz")
if process["lost_samples"] or process["lost_ns"]:
    problems.append(f"lost {process['lost_samples']} samples, {process['lost_ns']} ns")
print("\n".join(problems))
sys.exit(1 if problems else 0)
END
    reader accounting info.json
}

# on_terminal COMMAND...: what pyprof writes to a terminal of 80 columns.
on_terminal() {
    /usr/bin/python3 "$BATS_TEST_DIRNAME/lib/on_terminal.py" 80 "$PYPROF" "$@" || fail "status $?: $*"
}

fits() {
    # What goes to stderr is one line each.
    sed 's/\x1b\[[0-9;]*[mK]//g; s/.*\r//; /^pyprof: /d' "$1" | grep -E '.{81}' && fail "$2"
    return 0
}

@test "report, info, runs, diff, annotate and help fit 80 columns; colours on a terminal only, and not with NO_COLOR" {
    export LC_ALL=C.UTF-8
    mkdir -p a/rather/long/name/of/a/directory
    {
        echo "def $(printf 'a_long_name_%.0s' {1..9})():"
        echo "    return sum(i * i for i in range(10000000)) + $(printf '1 + %.0s' {1..40})1"
        echo "$(printf 'a_long_name_%.0s' {1..9})()"
    } >a/rather/long/name/of/a/directory/app.py
    touch -d '1 hour ago' a/rather/long/name/of/a/directory/app.py
    for _ in 1 2; do
        profiled "$PYTHON" a/rather/long/name/of/a/directory/app.py and many arguments behind it, so that it is long
    done
    for verb in report "report --full" "report --threads --processes" "report --lines" "report --ci" "report own --ci" "report --by package --ci" info runs diff "annotate app.py" "annotate app.py --ci"; do
        # shellcheck disable=SC2086
        on_terminal $verb >screen.txt
        fits screen.txt "$verb"
        grep -q $'\x1b\\[1m' screen.txt || [ "$verb" = info ] || fail "$verb: no colours: $(cat -v screen.txt)"
        # shellcheck disable=SC2086
        NO_COLOR=1 on_terminal $verb | sed 's/\r.*\x1b\[K//' >screen.txt
        ! grep -q $'\x1b' screen.txt || fail "$verb: colours: $(cat -v screen.txt)"
        # shellcheck disable=SC2086
        "$PYPROF" $verb >text.txt 2>/dev/null
        ! grep -q $'\x1b' text.txt || fail "$verb: colours: $(cat -v text.txt)"
    done
    # Names are whole where they are not cut.
    "$PYPROF" report --full 2>/dev/null >text.txt
    grep -qE "$(printf 'a_long_name_%.0s' {1..9})(\.<locals>[^ ]*)? \(" text.txt || fail "$(cat text.txt)"
    for verb in "" $("$PYPROF" manpage list); do
        # shellcheck disable=SC2086
        "$PYPROF" help $verb >help.txt
        fits help.txt "help $verb"
    done
}

@test "names, command lines and sources cannot command a terminal" {
    printf 'x = "\302\2331;31m\342\200\256"; sum(i * i for i in range(3000000))\n' >evil.py
    touch -d '1 hour ago' evil.py
    until_sampled 'evil\.py' profiled "$PYTHON" evil.py $'\e[2J\xc2\x9b31m\u202e'
    for verb in report info runs "diff pyprof.out pyprof.out" "annotate evil.py"; do
        # shellcheck disable=SC2086
        NO_COLOR=1 on_terminal $verb | sed 's/\r.*\x1b\[K//' >screen.txt
        ! LC_ALL=C grep -qE $'\x1b|\xc2\x9b|\xe2\x80\xae' screen.txt || fail "$verb: $(cat -v screen.txt)"
    done
    # Exports, which a pipe carries to a terminal; JSON has the same name by escapes.
    profiled "$PYTHON" -c '
import time
def work():
    end = time.thread_time() + 0.3
    while time.thread_time() < end: pass
name = "ev\x9b31m\u202eil\u2028"
code = work.__code__.replace(co_name=name)
type(work)(code.replace(co_qualname=name) if hasattr(code, "co_qualname") else code, globals())()' $'\e[2J\xc2\x9b31m\u202e'
    for format in collapsed callgrind perf speedscope firefox; do
        "$PYPROF" export --format "$format" pyprof.out >export.txt 2>/dev/null
        ! LC_ALL=C grep -qE $'\x1b|\xc2\x9b|\xe2\x80\xae|\xe2\x80\xa8' export.txt || fail "$format: $(cat -v export.txt)"
        grep -qE 'ev(\?31m\?il\?|\\u009b31m\\u202eil\\u2028)' export.txt || fail "$format: $(cat -v export.txt)"
    done
    "$PYPROF" export --format speedscope pyprof.out | judge '
assert "ev\x9b31m\u202eil\u2028" in [frame["name"] for frame in json.load(sys.stdin)["shared"]["frames"]]'
}

@test "a command line of 100 KB takes little of the screen, of a file too" {
    # shellcheck disable=SC2046 # words
    profiled "$PYTHON" -c 'sum(range(10**7))' $(seq 20000)
    for verb in report info runs "diff pyprof.out pyprof.out"; do
        # shellcheck disable=SC2086 # words
        "$PYPROF" $verb >text.txt 2>/dev/null
        grep -q 'sum(range(' text.txt || fail "$verb: no command: $(head -c 1000 text.txt)"
        between 1 "$(awk 'length > most { most = length } END { print most }' text.txt)" 410 "characters in the longest line of $verb"
    done
}

@test "pyprof run: helpers of multiprocessing, which end just after the program, are not said to run; what goes on is" {
    cat >pool.py <<'END'
import multiprocessing, time
def work(seconds):
    end = time.thread_time() + seconds
    while time.thread_time() < end: pass
if __name__ == "__main__":
    work(0.1)
    worker = multiprocessing.get_context("spawn").Process(target=work, args=(0.2,))
    worker.start()
    worker.join()
END
    mkdir pyprof.out
    for _ in 1 2 3; do
        "$PYPROF" run -o pyprof.out -- "$PYTHON" pool.py 2>err.txt
        grep -qE ', [23] processes;' err.txt || fail "$(cat err.txt)"
    done
    "$PYPROF" run -o pyprof.out -- sh -c "$PYTHON -c 'import time
end = time.thread_time() + 0.3
while time.thread_time() < end: pass
open(\"pid.txt\", \"w\").write(str(__import__(\"os\").getpid()))
time.sleep(60)' >/dev/null 2>&1 & until [ -s pid.txt ]; do sleep 0.1; done" 2>err.txt
    kill "$(cat pid.txt)"
    grep -q '1 process (1 still running)' err.txt || fail "$(cat err.txt)"
}

@test "report --json: what the text says, to the nanosecond" {
    profiled "$PYTHON" -c '
import os, threading, time
def burn():
    end = time.thread_time() + 0.5
    while time.thread_time() < end:
        sum(range(10000))
child = os.fork()
thread = threading.Thread(target=burn, name="other")
thread.start()
burn()
thread.join()
if child:
    os.wait()'
    "$PYPROF" report --json --processes --native=all >report.json
    "$PYPROF" report --json --native=all >plain.json
    "$PYPROF" report --json >libraries.json
    collapsed >stacks.txt
    collapsed --processes --threads >threads.txt
    "$PYPROF" info --json >info.json
    /usr/bin/python3 - <<'END'
import collections, json

report, info = json.load(open("report.json")), json.load(open("info.json"))
selves, totals, whole = collections.Counter(), collections.Counter(), 0
stacks = [(stack, int(ns)) for stack, ns in (line.rsplit(" ", 1) for line in open("stacks.txt"))]
for stack, ns in stacks:
    frames = stack.split(";")
    whole += ns
    selves[frames[-1]] += ns
    for frame in set(frames):
        totals[frame] += ns
assert report["version"] == 1 and report["shown_ns"] == whole, report["shown_ns"]
assert {f["text"]: f["self_ns"] for f in report["functions"] if f["self_ns"]} == dict(selves)
assert {f["text"]: f["total_ns"] for f in report["functions"]} == dict(totals)
assert {f["kind"] for f in report["functions"]} >= {"python", "native"}
native = sum(f["self_ns"] for f in report["functions"] if f["kind"] == "native")
assert report["interpreter_ns"] + report["library_ns"] == native and report["interpreter_ns"] > report["library_ns"], report["interpreter_ns"]
burn = next(f for f in report["python"] if f["text"].startswith("burn "))
assert burn["self_ns"] == sum(ns for stack, ns in stacks if "burn (" in stack), burn
assert report["hottest"]["function"] == "burn" and report["hottest"]["lines"][0]["line"] == 6, report["hottest"]
for rows in ("processes", "threads"):
    assert sum(row["shown_ns"] for row in report[rows]) == whole, rows
    assert [row["shown_ns"] for row in report[rows]] == sorted((row["shown_ns"] for row in report[rows]), reverse=True)
for row in report["processes"]:
    assert sum(f["self_ns"] for f in row["functions"]) == row["shown_ns"], row
threads = {tuple(line.split(";")[:2]) for line in open("threads.txt")}
assert len(report["threads"]) == len(threads), (report["threads"], threads)
assert len([t for t in report["threads"] if t["tid"]]) >= 2, report["threads"]
assert "functions" not in report["threads"][0]
plain = json.load(open("plain.json"))
assert plain["threads"] == report["threads"]
times = lambda functions: [(f["text"], f["self_ns"], f["total_ns"]) for f in functions]
assert times(plain["functions"]) == times(report["functions"])
libraries = json.load(open("libraries.json"))
for name in ("shown_ns", "interpreter_ns", "library_ns"):
    assert libraries[name] == report[name], name
assert sum(f["self_ns"] for f in libraries["functions"] if f["kind"] == "native") == report["library_ns"]
for name in ("cpu_ns", "sampled_ns", "own_ns", "samples", "warnings"):
    assert report["total"][name] == info["total"][name], name
END
    [ "$("$PYPROF" report --json --top 2 | grep -c '"text"')" -eq 4 ]
}

@test "long work shows how far it is, on a terminal only, and leaves no trace of it there" {
    mkdir logs
    "$BUILD/bench/make_logs" logs 5 13
    for verb in report "flame -o page.html" "export -o out.pb.gz" "merge -o merged.pyprof"; do
        what="reading [1-5] of 5 files, [67][0-9] MB in all"
        [ "${verb%% *}" != merge ] || what="merging [1-5] of 5 files"
        # shellcheck disable=SC2086
        on_terminal $verb logs >screen.txt
        grep -qE "$what" screen.txt || fail "$verb: $(head -c 2000 screen.txt | cat -v)"
        # Each is written over by the next thing in its line.
        ! sed 's/.*\r\x1b\[K//' screen.txt | grep -E "$what" || fail "$verb"
        # shellcheck disable=SC2086
        "$PYPROF" $verb logs >out.txt 2>err.txt
        ! grep -qE "$what" out.txt err.txt || fail "$verb: $(cat err.txt)"
    done
}

# A process of root's does not make the directory in its first second: it may be about to give up root.
@test "what is killed before its first write: pyprof run says so, and that it does not happen once there is a directory" {
    cat >killed.py <<'END'
import os, sys, time

def use_cpu(until):
    while time.process_time() < until:
        sum(range(1000))

use_cpu(0.3)
if len(sys.argv) > 1:
    os.mkdir("pyprof.out")
    use_cpu(0.7)
os.system("kill -KILL $PPID")
END
    "$PYPROF" run -- "$PYTHON" killed.py 2>err.txt || true
    if [ "$(id -u)" = 0 ]; then
        lines_of err.txt 2 '^pyprof: nothing was profiled: the command was killed [0-9.]+ s after its start, before .*[.] Root.s .*; before the next try: mkdir -p [^ ]*pyprof.out$'
        [ ! -e pyprof.out ] || fail "there is a directory"
    fi
    rm -rf pyprof.out
    "$PYPROF" run -- "$PYTHON" killed.py makes-it 2>err.txt || true
    between 300 "$("$PYPROF" info --json pyprof.out | judge 'print(sum(p["cpu_ns"] for p in json.load(sys.stdin)["processes"]) // 10**6)')" 800 "ms: $(cat err.txt)"
}

@test "pyprof run --repeat: the runs are shown as one, with what a run differs by; diff compares them; the first that fails ends them" {
    cat >app.py <<'END'
import sys, time
def spin(seconds):
    end = time.thread_time() + seconds
    while time.thread_time() < end:
        pass
spin(float(sys.argv[1]))
END
    echo 'to the first' | "$PYPROF" run --repeat 3 -- sh -c "cat; $PYTHON app.py 0.2" >out.txt 2>err.txt
    [ "$(cat out.txt)" = 'to the first' ]
    lines_of err.txt 2 '3 runs of 0\.[0-9]+ to 0\.[0-9]+ s CPU, .*; next: pyprof report$'
    "$PYPROF" run --repeat 4 -- "$PYTHON" app.py 0.3 2>err.txt
    [ "$("$PYPROF" runs --json | jq -r '.runs[].run' | cut -c1-24 | uniq -c | awk '{ print $1 }' | xargs)" = '4 3' ] || fail "$("$PYPROF" runs --json)"
    "$PYPROF" report >report.txt 2>err.txt
    grep -q '; 1 other run left out' err.txt || fail "$(cat err.txt)"
    grep -qE '^A run: 0\.[0-9]+ ± 0\.[0-9]+ s CPU \(95 % of 4 runs, from ' report.txt || fail "$(cat report.txt)"
    "$PYPROF" report --json 2>/dev/null | jq -e '.runs == 4 and .run_cpu_ns > 2.9e8 and .run_cpu_margin_ns > 0' || fail "$("$PYPROF" report --json)"
    [ "$(wc -l <report.txt)" -le 24 ] || fail "$(cat report.txt)"
    "$PYPROF" report --run "$("$PYPROF" runs | tail -n 1 | cut -c1-8)" | grep -q ' of 3 runs, from ' || fail "by the beginning of their id"
    "$PYPROF" diff >diff.txt
    grep -qE '^[0-9]+ % slower than before: .* of CPU, ± [0-9.]+ % \(3 and 4 runs\)$' diff.txt || fail "$(cat diff.txt)"
    ends_with 3 "$PYPROF" run --repeat 3 -- sh -c 'echo once; exit 3' >out.txt 2>err.txt && [ "$(cat out.txt)" = once ] || fail "$(cat out.txt)"
    grep -q 'failed in run 1 of 3' err.txt || fail "$(cat err.txt)"
}
