# Files that are in the way, in danger or gone: disks that fill up, directories that vanish, users that change, traps.
load lib/helper
# shellcheck disable=SC2153 # prepare sets PYTHON

# sums_close: info.json, and the samples that are there are what it says.
sums_close() {
    adds_up
    collapsed >stacks.txt
    "$PYTHON" - <<'END_OF_CHECK'
import json, sys

total = json.load(open("info.json"))["total"]
found = sum(int(line.rsplit(" ", 1)[1]) for line in open("stacks.txt"))
said = total["sampled_ns"] + total["unsampled_ns"] + total["lost_ns"] + total["thread_exit_ns"]
if found != said:
    sys.exit(f"stacks of {found} ns, info says {said}: {total}")
END_OF_CHECK
}

@test "PYPROF_MAX_DISK: the oldest profiles go, and nothing else; the sums of what is left close, the rest is named" {
    mkdir pyprof.out
    for i in {10..33}; do
        head -c 65536 /dev/zero >pyprof.out/5000077-1500000000000000000-000000"$i".pyprof
        touch -d "2020-01-01 00:00:$i" pyprof.out/5000077-1500000000000000000-000000"$i".pyprof
    done
    head -c 2000000 /dev/zero >pyprof.out/baseline.pyprof
    PYPROF_MAX_DISK=1M profiled "$PYTHON" "$WORKLOADS/new_names.py" pyprof.out 2>err.txt
    [ ! -s err.txt ] || fail "on stderr: $(cat err.txt)"
    [ -e pyprof.out/baseline.pyprof ] || fail "a file that is not ours is gone"
    [ ! -e pyprof.out/5000077-1500000000000000000-00000010.pyprof ] || fail "the oldest is still there"
    [ -e pyprof.out/5000077-1500000000000000000-00000033.pyprof ] || fail "the newest is gone"
    rm pyprof.out/baseline.pyprof
    # The limit and what is written between two checks.
    between 300000 "$(du -sb pyprof.out | cut -f1)" 1300000 "bytes in the directory"
    rm pyprof.out/5000077-*
    sums_close
    between 8 "$(reader field info.json removed_files)" 23 "files removed"
    "$PYPROF" info | unwrapped | grep -q 'removed .* old profiles of .* PYPROF_MAX_DISK' || fail "$("$PYPROF" info)"
    # It has begun two files of its own; without the first of them the sums are those of the other.
    files=$(log_files)
    [ "$(wc -l <<<"$files")" -ge 2 ] || fail "one file only: $(ls -l pyprof.out)"
    whole=$(reader field info.json cpu_ns)
    rm "$(head -n 1 <<<"$files")"
    sums_close
    missing=$(reader field info.json missing_ns)
    [ $(($(reader field info.json cpu_ns) + missing)) -eq "$whole" ] || fail "$missing ns missing of $whole: $(cat info.json)"
    [ "$missing" -gt 0 ] || fail "nothing is missing: $missing ns"
    "$PYPROF" report --full 2>/dev/null | unwrapped | grep -q 'CPU time are not in here' || fail "report says nothing of it: $("$PYPROF" report)"
}

# Of a process that is alive the newest file stays: with a 16th of the limit for each, 24 would take half as much again.
@test "PYPROF_MAX_DISK holds for many processes that write at the same time" {
    PYPROF_MAX_DISK=1M profiled "$PYTHON" "$WORKLOADS/new_names.py" pyprof.out 24 >sizes.txt 2>err.txt
    [ ! -s err.txt ] || fail "on stderr: $(cat err.txt)"
    [ "$(wc -l <sizes.txt)" -eq 24 ] || fail "$(cat sizes.txt)"
    between 300000 "$(($(paste -sd+ sizes.txt)))" 1100000 "bytes that were being written: $(xargs <sizes.txt)"
}

@test "profiles that are moved, cut and removed while they are written: it goes on in new ones, without a word" {
    profiled "$PYTHON" "$WORKLOADS/moved_files.py" "$PWD/pyprof.out" "$PWD/moved.pyprof" >out.txt 2>err.txt
    [ "$(xargs <out.txt)" = "moved cut removed" ] || fail "it says $(cat out.txt)"
    [ ! -s err.txt ] || fail "on stderr: $(cat err.txt)"
    mv moved.pyprof pyprof.out
    sums_close
    [ "$(reader field info.json missing_ns)" -gt 0 ] || fail "nothing is missing: $(cat info.json)"
    [ "$(reader inclusive stacks.txt grows)" -gt 0 ] || fail "the end is not there"
    [ "$("$PYPROF" info | grep -c '^process')" -eq 1 ] || fail "$("$PYPROF" info)"
}

@test "a disk that fills up and is emptied: the last of it is the program's, one line, and the profile goes on" {
    needs_namespaces -m
    mkdir disk
    # The file system goes with the namespace.
    # shellcheck disable=SC2016
    PYPROF_OUT=$PWD/disk/out LIBPYPROF=$LIBPYPROF unshare -m sh -ec '
        mount -t tmpfs -o size=4m tmpfs disk
        status=0
        LD_PRELOAD=$LIBPYPROF timeout 300 "$0" "$1" "$PWD/disk/out" >out.txt 2>err.txt || status=$?
        cp -r disk/out kept
        exit $status' "$PYTHON" "$WORKLOADS/full_disk.py" || fail "status $?: $(cat err.txt)"
    [ "$(xargs <out.txt)" = "not grown again" ] || fail "it says $(cat out.txt)"
    lines_of err.txt 1 'cannot write profile to .*disk/out: no space left'
    OUT=kept sums_close
    OUT=kept info | grep -q 'flush not written' || fail "$(OUT=kept info)"
    # Beside other programs it gets little of the seconds in which nothing can be written.
    [ "$(reader field info.json lost_ns)" -gt 50000000 ] || fail "nothing was lost: $(cat info.json)"
}

@test "a disk that is full to the end: the process has ended, its sums close, and what could not be written is lost" {
    needs_namespaces -m
    mkdir disk
    cat >fills.py <<'END'
import glob, os, time
def use_cpu(until):
    while not until():
        sum(i * i for i in range(5000))
use_cpu(lambda: glob.glob("disk/out/*.pyprof"))
space = os.statvfs("disk")
with open("disk/ballast", "wb") as file: # less is left than the library leaves to others, and yet some
    file.write(bytes(space.f_bavail * space.f_frsize - space.f_blocks * space.f_frsize // 40))
end = time.process_time() + 2
use_cpu(lambda: time.process_time() > end)
END
    # shellcheck disable=SC2016
    PYPROF_OUT=$PWD/disk/out LIBPYPROF=$LIBPYPROF unshare -m sh -ec '
        mount -t tmpfs -o size=4m tmpfs disk
        LD_PRELOAD=$LIBPYPROF timeout 100 "$0" fills.py 2>err.txt
        cp -r disk/out kept' "$PYTHON" || fail "status $?: $(cat err.txt)"
    lines_of err.txt 1 'cannot write profile to .*disk/out: no space left'
    OUT=kept sums_close
    [ "$(reader field info.json lost_ns)" -gt 1500000000 ] || fail "nothing was lost: $(cat info.json)"
    grep -q '"ended": true' info.json || fail "$(cat info.json)"
}

# bats test_tags=core
@test "RLIMIT_FSIZE: no SIGXFSZ because of us, the program gets its own, one line" {
    cat >limited.py <<'END'
import os, resource, signal, sys, time

came = []
signal.signal(signal.SIGXFSZ, lambda *_: came.append(1))
resource.setrlimit(resource.RLIMIT_FSIZE, (3000, 3000))
end = time.monotonic() + 4
while time.monotonic() < end:
    sum(i * i for i in range(20000))
    time.sleep(0.01)
if came or 25 in signal.sigpending():
    sys.exit("a SIGXFSZ that is none of its own")
file = os.open("own", os.O_WRONLY | os.O_CREAT)
try:
    while True:
        os.write(file, b"x" * 1000)
except OSError:
    pass
sum(range(1000))
print(len(came), os.path.getsize("own"))
END
    profiled "$PYTHON" limited.py >out.txt 2>err.txt
    [ "$(cat out.txt)" = "1 3000" ] || fail "it says $(cat out.txt)"
    lines_of err.txt 1 'cannot write profile to .*file size limit'
}

# as USER COMMAND...
as() {
    local user=$1
    shift
    setpriv --reuid "$user" --regid "$user" --clear-groups "$@"
}

# Places that others can reach.
open_to_others() {
    [ "$(id -u)" -eq 0 ] || skip "needs root"
    chmod 1777 "$TMPDIR"
    chmod 755 "$BATS_RUN_TMPDIR" "$(dirname "$(dirname "$BATS_TEST_TMPDIR")")" "$(dirname "$BATS_TEST_TMPDIR")" "$BATS_TEST_TMPDIR"
}

@test "a program that gives up its privileges: a new file of the new user, elsewhere if it must be; nothing is lost" {
    open_to_others
    cat >drops.py <<'END'
import os, sys, time
from cpu import spin

def written():
    return sum(file.stat().st_size for file in os.scandir(sys.argv[1]))

# A flush in whose midst the user changes is lost, and said to be. One that sleeps is woken at once when a flush is over.
def right_after_a_flush():
    end = time.monotonic() + 300
    while time.monotonic() < end:
        spin(0.03)
        before, until = written(), time.monotonic() + 1.5
        while time.monotonic() < until:
            if written() != before:
                return
            time.sleep(0.001)
    sys.exit("waited in vain")

right_after_a_flush()
os.setgid(65534)
os.setuid(65534)
spin(0.3)
END
    mkdir open closed
    chmod 1777 open
    PYPROF_OUT=$PWD/open profiled PYTHONPATH="$WORKLOADS" "$PYTHON" drops.py open 2>err.txt
    [ ! -s err.txt ] || fail "on stderr: $(cat err.txt)"
    [ "$(stat -c %u open/*.pyprof | sort | xargs)" = "0 65534" ] || fail "$(ls -ln open)"
    OUT=open sums_close
    [ "$(reader field info.json lost_ns)" -eq 0 ] || fail "lost: $(cat info.json)"
    chmod 700 closed
    PYPROF_OUT=$PWD/closed profiled PYTHONPATH="$WORKLOADS" "$PYTHON" drops.py closed 2>err.txt
    lines_of err.txt 1 "cannot write profile to .*closed: permission denied; writing to $TMPDIR/pyprof-65534"
    [ "$(stat -c %u:%a "$TMPDIR/pyprof-65534" "$TMPDIR"/pyprof-65534/*.pyprof | xargs)" = "65534:700 65534:600" ] ||
        fail "$(ls -lnR "$TMPDIR")"
    # It is found by the run's id, whatever else is there.
    mkdir "$TMPDIR/pyprof-7"
    PYPROF_OUT=$TMPDIR/pyprof-7 profiled "$PYTHON" -c 'sum(range(9000000))'
    OUT=closed sums_close 2>elsewhere.txt
    [ "$(reader field info.json missing_ns)" -eq 0 ] || fail "missing: $(cat info.json)"
    lines_of elsewhere.txt 2 "with 1 file that could not be written there: $TMPDIR/pyprof-65534/"
    # More than half of it was used as the other user.
    [ "$(reader field info.json cpu_ns)" -gt "$("$PYPROF" info --json closed/*.pyprof | reader field /dev/stdin cpu_ns)" ] ||
        fail "$(cat info.json)"
    for verb in report info runs doctor; do
        [ $verb = doctor ] || set -- closed
        PYPROF_OUT=closed "$PYPROF" $verb "$@" >out.txt 2>&1
        grep -q "pyprof-65534/" out.txt || fail "$verb: $(cat out.txt)"
        shift $#
    done
    chown -R 65533 closed
    if as 65533 "$PYPROF" --version >out.txt; then
        as 65533 "$PYPROF" info closed 2>&1 >out.txt | unwrapped >err.txt
        grep -q "may be more of it in $TMPDIR/pyprof-65534, which only its user and root can read" err.txt || fail "$(cat err.txt)"
    fi
    chown -R 0 closed
    rm -r "$TMPDIR"/pyprof-*
    # One that does so in its first second has made nothing before.
    PYPROF_OUT=$PWD/open/young profiled "$PYTHON" -c 'import os, time
end = time.monotonic() + 0.4
while time.monotonic() < end: pass
os.setgid(65534)
os.setuid(65534)
end = time.monotonic() + 1.2
while time.monotonic() < end: pass' 2>err.txt
    [ ! -s err.txt ] || fail "young, on stderr: $(cat err.txt)"
    [ "$(stat -c %u open/young open/young/*.pyprof | xargs)" = "65534 65534" ] || fail "$(ls -lnR open)"
}

@test "a spawned worker that is terminated within its first second leaves its profile, root's too" {
    cat >spawns.py <<'END'
import multiprocessing
import os
import time

def work(used, seconds):
    while time.process_time() < seconds:
        used.value = time.process_time()
        sum(range(2000))

if __name__ == "__main__":
    spawn = multiprocessing.get_context("spawn")
    used = spawn.Value("d", 0)
    work(used, 0.3)
    while not os.path.isdir("pyprof.out") or not os.listdir("pyprof.out"):
        time.sleep(0.05)
    used.value = 0
    worker = spawn.Process(target=work, args=(used, 60))
    worker.start()
    while used.value < 0.4:
        time.sleep(0.005)
    worker.kill()
    worker.join()
    print(worker.pid)
END
    profiled "$PYTHON" spawns.py >pid.txt
    info | judge '
pid = int(open("pid.txt").read())
worker, = [process for process in json.load(sys.stdin)["processes"] if process["pid"] == pid]
assert worker["samples"] > 2, worker'
}

# The directory is new, as in each container: only the workers have written yet, their parent is as young as they are.
@test "workers that are killed young, of a program that has just begun: their profiles, root's too" {
    cat >begins.py <<'END'
import subprocess
import sys
import time

if sys.argv[1:]:
    while time.process_time() < 0.3:
        sum(range(2000))
    print("ready", flush=True)
    time.sleep(60)
workers = [subprocess.Popen([sys.executable, sys.argv[0], "worker"], stdout=subprocess.PIPE) for i in range(2)]
for worker in workers:
    worker.stdout.readline()
for worker in workers:
    worker.kill()
print(*[worker.pid for worker in workers])
END
    for way in run library; do
        if [ $way = run ]; then
            "$PYPROF" run -- "$PYTHON" begins.py >pids.txt 2>err.txt
        else
            profiled "$PYTHON" begins.py >pids.txt
        fi
        info | judge '
seen = {process["pid"]: process["cpu_ns"] / 1e9 for process in json.load(sys.stdin)["processes"]}
for pid in map(int, open("pids.txt").read().split()):
    assert seen.get(pid, 0) > 0.12, (pid, seen)' || fail "$way: $(cat err.txt)"
        rm -r pyprof.out
    done
}

@test "a link or directory of another user where all may write: one line, and nothing of ours goes there" {
    open_to_others
    mkdir -m 1777 shared
    as 65534 mkdir -m 777 shared/app
    mkdir -m 777 trap
    as 65534 ln -s "$PWD/trap" shared/link
    for place in shared/app shared/app/below shared/link; do
        PYPROF_OUT=$place profiled "$PYTHON" -c 'sum(range(3000000))' 2>err.txt
        lines_of err.txt 1 "cannot write profile to .*$place: a link or directory of another user is in the way; writing to $TMPDIR/pyprof-0"
        [ -z "$(find shared/app trap -mindepth 1)" ] || fail "$(ls -lR shared trap)"
    done
    [ "$(log_files "$TMPDIR/pyprof-0" | wc -l)" -eq 3 ] || fail "$(ls -lR "$TMPDIR")"
}

@test "logs that another user has put where all may write: not taken for ours unless that is asked for" {
    open_to_others
    mkdir -m 1777 shared
    PYPROF_OUT=shared profiled "$PYTHON" -c 'sum(range(3000000))'
    PYPROF_OUT=planted profiled "$PYTHON" -c 'sum(range(3000001))'
    chown 65534 planted/*
    cp -p planted/* shared
    planted=$("$PYPROF" runs planted 2>&1 | sed -n '2s/ .*//p')
    for verb in report info "export --format collapsed" "flame -o page.html" runs "top --count 1"; do
        # shellcheck disable=SC2086
        "$PYPROF" $verb shared >out.txt 2>err.txt || fail "$verb: $(cat err.txt)"
        ! grep -q 3000001 out.txt || fail "$verb: $(cat out.txt)"
        sed -i '/: wrote page.html$/d' err.txt
        [ "$verb" = "top --count 1" ] || lines_of err.txt 1 "left out: run $planted of user 65534.*--run ID"
    done
    PYPROF_OUT=shared "$PYPROF" doctor >out.txt 2>&1
    ! grep -q 3000001 out.txt || fail "$(cat out.txt)"
    "$PYPROF" report --full --run "$planted" shared | grep -q 3000001 || fail "not even if asked for"
    "$PYPROF" info --all shared 2>&1 | grep -c '^process' | grep -qx 2 || fail "$("$PYPROF" info --all shared)"
    "$PYPROF" runs --all shared | grep -q 3000001 || fail "$("$PYPROF" runs --all shared)"
    # Nothing but such; and what the directory's owner has written, who is named.
    rm "$(find shared -user 0 -name '*.pyprof')"
    ends_with 1 "$PYPROF" report shared >out.txt 2>err.txt || fail "$(cat out.txt)"
    lines_of err.txt 1 "left out: run $planted of user 65534"
    chown 65534 shared
    "$PYPROF" report --full shared 2>err.txt | grep -q 3000001 || fail "$(cat err.txt)"
    lines_of err.txt 1 "showing the latest run, $planted, of user 65534"
}

@test "chroot: nothing of ours is made in the jail, and one line says so" {
    [ "$(id -u)" -eq 0 ] || skip "needs root"
    cat >jailed.py <<'END'
import os, sys, time
from cpu import spin

spin(float(sys.argv[1]))
os.chroot("jail")
os.chdir("/")
spin(1.2)
if not os.fork():
    spin(0.3)
    os._exit(0)
os.wait()
END
    for before in 0 2.2; do
        mkdir jail
        rm -rf pyprof.out
        profiled PYTHONPATH="$WORKLOADS" "$PYTHON" jailed.py $before 2>err.txt
        [ -z "$(ls -A jail)" ] || fail "$(ls -lR jail)"
        lines_of err.txt 1 "cannot write profile to .*/pyprof.out: the program has changed its root directory; what comes after this is in no profile"
        rmdir jail
    done
    [ "$(info | reader field /dev/stdin cpu_ns)" -gt 500000000 ] || fail "what was there before is gone: $(info)"
}

@test "two containers with pid 1 on one volume, and exec that keeps the pid: each program has its own file" {
    needs_namespaces -m -p -f --mount-proc
    mkdir volume
    cat >execs.py <<'END'
import os, sys, time

def burn():
    end = time.process_time() + 0.2
    while time.process_time() < end:
        sum(i * i for i in range(5000))

burn()
if int(sys.argv[1]):
    os.execv(sys.executable, [sys.executable, sys.argv[0], str(int(sys.argv[1]) - 1)])
END
    for container in 1 2; do
        # shellcheck disable=SC2016
        PYPROF_OUT=$PWD/volume LIBPYPROF=$LIBPYPROF timeout 300 unshare --pid --fork --mount-proc \
            sh -c 'LD_PRELOAD=$LIBPYPROF exec "$@"' sh "$PYTHON" execs.py 2 >out$container.txt 2>&1 3>&- &
    done
    wait
    [ -z "$(cat out1.txt out2.txt)" ] || fail "$(cat out1.txt out2.txt)"
    # Three programs one after the other in the same process, twice at once, all with pid 1.
    [ "$(find volume -name '1-*.pyprof' | wc -l)" -eq 6 ] || fail "$(ls volume)"
    OUT=volume collapsed --all >stacks.txt
    "$PYPROF" info --json --all volume >info.json
    # All runs, where cpu_at_least would take the last one.
    used=$(reader inclusive stacks.txt burn)
    [ "$used" -ge 1150000000 ] || reader near "$used" 1200000000 12 "burn in six programs of pid 1" info.json
    [ "$(grep -c '"pid": 1,' info.json)" -eq 6 ] || fail "$(cat info.json)"
}

# In a file system of the namespace's own: no other process sees the privileged program, and it goes with the last process there.
@test "a setuid program that has the library by /etc/ld.so.preload: nothing is written where its caller says" {
    needs_namespaces -m
    # One that needs no library beside it and may be run by another user.
    python=$(readlink -f /usr/bin/python3)
    ! ldd "$python" | grep -q libpython || skip "no interpreter in one piece"
    cat >run.sh <<'END'
set -e
mount -t tmpfs -o mode=755 none /mnt
cp "$2" /mnt/python
cp "$LIBPYPROF" /mnt
chmod 4755 /mnt/python
mkdir /mnt/etc
cp -a /etc/. /mnt/etc
mount --bind /mnt/etc /etc
echo /mnt/libpyprof.so >/etc/ld.so.preload
export PYPROF_OUT=/mnt/out
program='import os; print(os.geteuid()); sum(i * i for i in range(6000000))'
if [ "$1" = setuid ]; then
    set -- setpriv --reuid 65534 --regid 65534 --clear-groups /mnt/python
else
    set -- /mnt/python
fi
"$@" -c "$program"
[ ! -e /mnt/out ] || find /mnt/out
END
    for kind in plain setuid; do
        PYTHONHOME=/usr timeout 300 unshare -m sh run.sh $kind "$python" >$kind.txt 2>$kind.err || fail "$kind: $(cat $kind.txt $kind.err)"
    done
    [ "$(head -qn 1 plain.txt setuid.txt | xargs)" = "0 0" ] || fail "$(cat plain.txt setuid.txt plain.err setuid.err)"
    grep -q 'out/.*\.pyprof$' plain.txt || fail "nothing even without privileges to guard: $(cat plain.txt plain.err)"
    lines_of setuid.txt 1 '^0$'
    [ ! -s setuid.err ] || fail "on stderr: $(cat setuid.err)"
}

@test "every file is opened so that no other program inherits it" {
    grep -rnE 'pp_sys_open(at)?\(|SYS_open|SYS_memfd|SYS_socket|SYS_pipe|SYS_epoll|SYS_eventfd|SYS_perf' "$ROOT/preload" >opens.txt
    [ "$(wc -l <opens.txt)" -ge 5 ]
    # Lines of names only are of the list of calls that a filter must permit.
    ! grep -vE '_CLOEXEC|\{SYS_perf_event_open, \{0, -1, -1, -1\}\},$|static inline int pp_sys_open|return pp_sys_openat|return \(int\)pp_syscall4\(SYS_openat|:[0-9]+: *(SYS_[a-z_0-9]+, ?)+$' opens.txt ||
        fail "above"
}

# killed COUNT: so many runs, each killed at some moment in its first four seconds. What the file says is at most a flush period
# old.
killed() {
    local i file
    cat >burns.py <<'END'
import os, time

# What CPU time it had used, every few milliseconds, and when.
clock = os.open("clock", os.O_WRONLY)
end = time.monotonic() + 300
while time.monotonic() < end:
    sum(i * i for i in range(5000))
    os.pwrite(clock, b"%020d %020d\n" % (time.process_time_ns(), time.time_ns()), 0)
END
    for ((i = 0; i < $1; i++)); do
        rm -rf pyprof.out
        : >clock
        LD_PRELOAD=$LIBPYPROF "$PYTHON" burns.py 3>&- &
        wait_until 120 test -s clock
        sleep "$((RANDOM % 4)).$((RANDOM % 900 + 100))"
        # Else there may be no file at all in a few runs.
        [ "$i" -gt 0 ] || wait_until 120 compgen -G 'pyprof.out/*.pyprof'
        kill -KILL $!
        wait $! || true
        for file in $(log_files); do
            "$PYPROF" info --json "$file" >info.json 2>err.txt || fail "run $i: $(cat err.txt)"
            [ ! -s err.txt ] || fail "run $i: $(cat err.txt)"
            # A power cut: blocks of the disk that were never written are zeros.
            cp "$file" zeros.pyprof
            head -c $((RANDOM * 3 + 1)) /dev/zero >>zeros.pyprof
            "$PYPROF" info --json zeros.pyprof >zeros.json 2>err.txt || fail "run $i with zeros: $(cat err.txt)"
            lines_of err.txt 1 'cut short at the end|damaged'
            ages >>ages.txt || fail "run $i: $(cat clock info.json)"
        done
    done
    [ -s ages.txt ] || fail "no run wrote anything"
    sort -n ages.txt | awk '{ a[NR] = $1 } END { print "# " NR " files, the last flush before the end: median " a[int((NR + 1) / 2)] ", most " a[NR] " ms" }' >&3
}

ages() {
    "$PYTHON" - <<'END'
import json, sys

info, zeros = (json.load(open(name))["processes"][0] for name in ("info.json", "zeros.json"))
used, at = map(int, open("clock").read().split())
# On a full machine we may come to write when the program has not been on for long.
late = max(0, at - info["end_unix_ns"])
# What it used since the last flush fits into the time since then, and into that which the flush took.
if used - info["cpu_ns"] - info["before_start_ns"] > late + 400e6 or info["ended"]:
    sys.exit(f"{used} ns used, {info['cpu_ns']} in the file, which ends {late} ns before")
for key in "cpu_ns", "sampled_ns", "samples":
    if info[key] != zeros[key]:
        sys.exit(f"zeros behind it change {key}")
# A flush is a second after the one before, unless the machine is busy with others.
print(late // 1000000)
END
}

# bats test_tags=long
@test "200 runs killed at any moment: each file is whole, up to a flush before the end, and zeros behind it do no harm" {
    killed 200
}

@test "killed at any moment, a few times: the same" {
    killed 4
}

# In its second second saves are a quarter of a second apart or a little more, later a second.
@test "a young process that is killed loses little: it saves more often than an old one" {
    cat >saves.py <<'END'
import glob, os, subprocess, sys, time

def size():
    return sum(map(os.path.getsize, glob.glob("pyprof.out/*.pyprof")))

program = subprocess.Popen(sys.argv[2:], stdout=subprocess.DEVNULL, env=dict(os.environ, LD_PRELOAD=sys.argv[1]))
sizes, until = set(), time.monotonic() + 300
while time.monotonic() < until:
    if size() and not sizes:
        until = time.monotonic() + 1.2
    sizes.add(size())
    sizes.discard(0)
    time.sleep(0.01)
program.kill()
program.wait()
print(len(sizes))
END
    for _ in 1 2 3 4 5; do
        rm -rf pyprof.out
        saves=$(/usr/bin/python3 saves.py "$LIBPYPROF" "$PYTHON" "$WORKLOADS/spin.py" 60)
        # The first one, and one that is a second later.
        [ "$saves" -le 2 ] || return 0
    done
    fail "$saves saves in its second second"
}

# Files of libraries are open while names are read, and closed before the profile is.
@test "with three or four descriptors, which the program uses itself, the whole profile is written" {
    for limit in 3 4; do
        rm -rf pyprof.out
        profiled "$PYTHON" -c "
import resource, time
resource.setrlimit(resource.RLIMIT_NOFILE, ($limit, $limit))
while time.process_time() < 1.3:
    sum(range(1000))"
        adds_up
        between 0 "$(reader field info.json lost_ns)" 0 "ns lost with $limit"
        between 1250000000 "$(reader field info.json sampled_ns)" 1400000000 "ns sampled with $limit"
    done
}

# Names of one stack are in more files than stay open, and than a process may open.
@test "a program that has used up its descriptors: functions of twenty libraries in one stack have their names" {
    gcc -O1 -fomit-frame-pointer -fno-optimize-sibling-calls -shared -fPIC -o chain.so "$WORKLOADS/lib/chain.c"
    for ((i = 0; i < 20; i++)); do
        cp chain.so "chain$i.so"
    done
    profiled "$PYTHON" -c '
import ctypes, os, resource
chain = [ctypes.CDLL(f"./chain{i}.so").step for i in range(20)]
steps = (ctypes.c_void_p * 20)(*[ctypes.cast(step, ctypes.c_void_p).value for step in chain[1:]])
resource.setrlimit(resource.RLIMIT_NOFILE, (12, 12))
try:
    while True: os.open("/dev/null", os.O_RDONLY)
except OSError as error:
    print(os.strerror(error.errno))
chain[0].argtypes = ctypes.c_void_p, ctypes.c_double
print(chain[0](steps, 0.5))
try:
    os.open("/dev/null", os.O_RDONLY)
except OSError as error:
    print(os.strerror(error.errno))' >out.txt 2>err.txt
    [ "$(cat out.txt)" = "$(printf 'Too many open files\n19\nToo many open files')" ] || fail "$(cat out.txt)"
    [ ! -s err.txt ] || fail "$(cat err.txt)"
    adds_up
    rm chain*.so # pyprof would read their names, too
    collapsed >stacks.txt
    whole=$(printf ';step (chain%d.so)' {0..19})
    cpu_near "$(grep -F "$whole" stacks.txt | awk '{ n += $NF } END { print n + 0 }')" 500000000 20 "twenty libraries"
    ! grep -F chain stacks.txt | grep -vF "$whole" || fail "stacks that are not whole"
}

@test "without memory for another page the whole profile is written, or a line says that it is not" {
    for _ in 1 2 3 4 5 6; do
        rm -rf pyprof.out
        profiled "$PYTHON" -c '
import resource, time
resource.setrlimit(resource.RLIMIT_AS, (0, 0))
while time.process_time() < 1.2:
    sum(range(1000))
print("as without us")' >out.txt 2>err.txt || fail "status $?: $(cat err.txt)"
        [ "$(cat out.txt)" = "as without us" ] || fail "$(cat out.txt)"
        if ! grep -q '^pyprof: no memory to write the profile with' err.txt; then
            adds_up
            between 1100000000 "$(reader field info.json cpu_ns)" 1400000000 "ns of CPU without a word"
        fi
    done
}

# loses_little PROGRAM CONDITION: of a few runs there is one in which the process that PROGRAM has killed, and prints with the
# seconds that the kernel has billed to it, has lost little: CONDITION is awk's, of used and written.
loses_little() {
    local pid used written
    for _ in 1 2 3 4 5; do
        rm -rf pyprof.out
        read -r pid used < <(LD_PRELOAD=$LIBPYPROF "$PYTHON" "$1")
        written=$("$PYPROF" info --json pyprof.out | "$PYTHON" -c "import json, sys
print(sum(p['cpu_ns'] for p in json.load(sys.stdin)['processes'] if p['pid'] == $pid) / 1e9)")
        awk -v used="$used" -v written="$written" "BEGIN { exit !($2) }" && return 0
    done
    fail "$written s in the profile of a process that has used $used s"
}

# A pool ends its workers by SIGTERM, at once when the last result has come.
@test "a child of fork that is killed after a second and a half has lost less than a fifth of a second" {
    cat >worker.py <<'END'
import os, signal, sys, time

pid = os.fork()
if not pid:
    while True:
        sum(range(1000))
time.sleep(1.5)
os.kill(pid, signal.SIGTERM)
_, _, usage = os.wait4(pid, 0)
print(pid, usage.ru_utime + usage.ru_stime)
END
    loses_little worker.py 'used - written < 0.2'
}

# Servers' workers do: what they are not told to end by is rare, and each save costs them CPU time.
@test "a child of fork that handles SIGTERM saves less often than one that SIGTERM would kill" {
    cat >children.py <<'END'
import glob, os, signal, time

os.mkdir("pyprof.out")  # root's processes make none in their first second
children = {}
for handles in (False, True):
    pid = os.fork()
    if not pid:
        if handles:
            signal.signal(signal.SIGTERM, lambda *_: os._exit(0))
        while True:
            sum(range(1000))
    children[pid] = set()
until = time.monotonic() + 3
while time.monotonic() < until:
    for pid, sizes in children.items():
        for path in glob.glob(f"pyprof.out/{pid}-*.pyprof"):
            sizes.add(os.path.getsize(path))
    time.sleep(0.01)
for pid in children:
    os.kill(pid, signal.SIGKILL)
    os.wait()
print(*map(len, children.values()))
END
    for _ in 1 2 3 4 5; do
        rm -rf pyprof.out
        read -r killed handles < <(LD_PRELOAD=$LIBPYPROF "$PYTHON" children.py)
        # 13 and 20 where the machine is quiet
        "$PYPROF" report | unwrapped >said.txt
        grep -q 'Missing: what 2 processes had not written when a signal ended them' said.txt || fail "$(cat said.txt)"
        [ $((handles * 10)) -gt $((killed * 8)) ] || return 0
    done
    fail "$killed saves of the child that SIGTERM kills, $handles of the one that handles it"
}

@test "a young process that sleeps before it works, and is killed soon after, keeps most of it" {
    cat >sleeper.py <<'END'
import os, signal, sys, time

os.mkdir("pyprof.out")  # root's processes make none in their first second
pid = os.posix_spawn(sys.executable, [sys.executable, "-c", "import time; time.sleep(0.3)\nwhile True: sum(range(1000))"], os.environ)
time.sleep(0.95)
os.kill(pid, signal.SIGKILL)
_, _, usage = os.wait4(pid, 0)
print(pid, usage.ru_utime + usage.ru_stime)
END
    loses_little sleeper.py 'written >= 0.6 * used'
}

@test "where nothing can be written whole, no files are left behind" {
    (
        # KiB. A first flush of one short stack may fit into that, without a long command line.
        ulimit -f 1
        profiled "$PYTHON" "$WORKLOADS/spin.py" 3 "$(printf 'long %.0s' {1..400})" >/dev/null 2>&1
    )
    [ -z "$(log_files)" ] || fail "left: $(ls -l pyprof.out)"
}
