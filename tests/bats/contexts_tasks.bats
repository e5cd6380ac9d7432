# Samples belong to the asyncio tasks that ran, and to no other.
load lib/helper

# Reads the stacks of ./stacks.txt (collapsed, by task, in samples). Each function in_NAME computes in the task NAME; a
# loop's first samples have none, until the flush thread had a CPU to find it by.
check_tasks() {
    ${READ%% *} -c '
import collections, re
right, wrong, missing = collections.Counter(), [], collections.Counter()
for line in open("stacks.txt"):
    stack, _, count = line.rpartition(" ")
    frames = stack.split(";")
    ran = [match[1] for frame in frames if (match := re.match(r"in_(\w+) \(", frame))]
    if not ran:
        continue
    wanted = {"no_loop": "(none)", "abandoned": "(none)", "in_executor": "executes"}.get(ran[-1], ran[-1])
    frames[0] = frames[0].replace("__main__.", "")  # the names that trio gives
    if frames[0] == wanted:
        right[ran[-1]] += int(count)
    elif frames[0] == "(none)":
        missing[ran[-1]] += int(count)
    else:
        wrong.append(line)
    if len(ran) > 1:
        wrong.append("two tasks in a stack: " + line)
    if wanted not in ("(none)", "executes") and frames[0] == wanted and not {"[loop]", "[creator]"} & set(frames):
        wrong.append("no boundary: " + line)
    if {"_run_once", "run_forever"} & {frame.split(" ")[0] for frame in frames} and frames[0] == wanted != "(none)":
        wrong.append("the frames of the loop: " + line)
print(dict(right), "missing:", dict(missing))
assert missing.pop("in_executor", 0) <= right["in_executor"] / 4 + 2
assert not wrong, wrong[:3]
assert sum(missing.values()) <= 3 + sum(right.values()) / 50, missing
assert len(right) >= 9 and sum(right.values()) >= 40, right'
}

# tasks_of [HOW]: see tasks.py.
tasks_of() {
    PYPROF_HZ=500 PYPROF_MAX_OVERHEAD=100 profiled "$PYTHON" "$WORKLOADS/tasks.py" 0.25 "$@" >truth.json
    "$PYPROF" export --format collapsed --unit samples --by task >stacks.txt
    check_tasks
    # who waits for whom, in each way, up to the main task
    for pair in gathers/gathered waits/waited waits_for/waited_for shields/shielded completes/completed; do
        grep -q "\[task main\];main ([^[]*);\[task ${pair%/*}\];${pair%/*} ([^[]*);\[task ${pair#*/}\];" stacks.txt || fail "$pair: $(grep -F "in_${pair#*/} " stacks.txt)"
    done
    # work that was handed to a thread pool is its task's
    grep -q '\[task main\];main ([^;]*);\[task executes\];executes ([^[]*);\[awaited\];' stacks.txt
}

every_kind() {
    tasks_of
    ! grep -F 'in_grouped (' stacks.txt | grep -v '\[task groups\];groups (.*;\[task grouped\];' || fail "awaited by another"
    "$PYPROF" export --format collapsed --unit samples --no-awaiters >bare.txt
    grep -qF '[task waited]' bare.txt
    ! grep -F '[task waits]' bare.txt | grep -F 'in_waited (' || fail "awaiters, where they are left out"
    info | judge '
assert json.load(sys.stdin)["processes"][0]["contexts"] == "asyncio tasks and what awaits them"'
}

@test "every sample in a task has the name of that task, its own frames, and the tasks that await it" {
    with_each_python every_kind
}

removed_module() {
    cat >removed.py <<'EOF'
import asyncio, gc, sys, time
from cpu import spin

async def in_before():
    spin(0.3)
    time.sleep(1.3)  # what was imported is found within a second
    spin(0.3)

async def in_after(): spin(0.5)

async def main():
    before = asyncio.ensure_future(in_before())
    before.set_name("before")
    await before
    after = asyncio.ensure_future(in_after())
    after.set_name("after")
    for name in [name for name in sys.modules if name.split(".")[0] in ("asyncio", "_asyncio")]:
        del sys.modules[name]
    gc.collect()
    await after

asyncio.new_event_loop().run_until_complete(main())
EOF
    PYPROF_HZ=500 profiled PYTHONPATH="$WORKLOADS" "$PYTHON" removed.py
    "$PYPROF" export --format collapsed --unit samples --by task >stacks.txt
    grep '^after;' stacks.txt | grep -qF 'in_after ('
    # main itself calls it for the coroutine, which takes a moment of main's
    ! grep -F 'in_after (' stacks.txt | grep -v '^after;\|^main;.*;main ([^;]*);in_after ([^;]*) [0-9]*$' || fail "$(grep -F 'in_after (' stacks.txt)"
    ! grep -F 'in_before (' stacks.txt | grep -v '^\(before\|(none)\);'
}

@test "the modules of asyncio are removed while its tasks run: each sample is still its task's" {
    with_each_python removed_module
}

@test "tasks that are made of Python have their names, their frames, and what awaits them" {
    tasks_of python
}

# bats test_tags=long
@test "loops within tasks of nest_asyncio: the innermost task is what runs" {
    case $VERSION in 3.1[4-9]*) return ;; esac # what nest_asyncio patches has changed
    venv=$(venv_with nest_asyncio)
    PYTHON=$venv/bin/python tasks_of nested
    grep -qF 'nested;[creator];[task nested];' stacks.txt
}

@test "tasks of trio, beside asyncio, within it and around it: the innermost one is what runs" {
    venv=$(venv_with trio)
    PYPROF_HZ=500 PYPROF_MAX_OVERHEAD=100 profiled "$venv/bin/python" "$WORKLOADS/trio_tasks.py" 0.25 >truth.json
    "$PYPROF" export --format collapsed --unit samples --by task >stacks.txt
    check_tasks
    grep -q '\[task __main__.main\];main (.*;\[task opens_nursery\];opens_nursery (.*;\[task in_nursery\];' stacks.txt
    # what a thread does is the task's that awaits it, and no task's any more when that has abandoned it
    for function in spin hash_without_gil; do
        grep -q "\[task __main__.main\];main (.*;\[task executes\];executes ([^[]*);\[awaited\];.*;in_in_executor (.*;$function (" stacks.txt ||
            fail "$function: $(grep -F in_in_executor stacks.txt)"
    done
    grep -qF ';in_abandoned (' stacks.txt
    ! grep -F ';in_abandoned (' stacks.txt | grep -F '[task' || fail "a task that has abandoned its thread"
    grep -qF '[creator];[task of_asyncio];' stacks.txt # not the task of trio that runs its loop
    grep -qF '__main__.guest;[loop];[task __main__.guest];' stacks.txt
    info | judge '
assert json.load(sys.stdin)["processes"][0]["contexts"].startswith("asyncio tasks and what awaits them, tasks of trio 0.")'
}

# The CPU of each task is what the program measured, and nothing is lost or counted twice.
@test "the CPU time of each task is what the program measured itself, and the sum is the program's" {
    profiled "$PYTHON" "$WORKLOADS/tasks.py" 1 default_name gathers without_gil >truth.json
    "$PYPROF" report --json --by task >by.json
    "$PYPROF" report --json >all.json
    judge '
by = json.load(open("by.json"))["by"]
truth = json.load(open("truth.json"))
found = {row["value"]: row for row in by}
for name, seconds in truth.items():
    if name in ("no_loop", "in_executor"):
        continue
    row = found[name]
    sigma = (seconds * 1e9 * row["cpu_ns"] / row["samples"]) ** 0.5
    print(name, seconds, row)
    assert abs(row["cpu_ns"] - seconds * 1e9) < 3 * sigma + 0.01e9, (name, seconds, row)
whole = json.load(open("all.json"))["program_ns"]
assert sum(row["cpu_ns"] for row in by) == whole, (by, whole)'
}

# bats test_tags=long
@test "uvloop and anyio: the task, and through its group the task that waits" {
    venv=$(venv_with uvloop anyio)
    cat >app.py <<'END'
import asyncio, sys, time
import anyio, uvloop

def in_child(seconds):
    end = time.thread_time() + seconds
    while time.thread_time() < end:
        pass

async def child(name):
    for _ in range(100):
        in_child(0.004)
        await anyio.sleep(0)

async def main():
    asyncio.current_task().set_name("main")
    for name in "early", "child":
        async with anyio.create_task_group() as group:
            group.start_soon(child, name, name=name)
        time.sleep(2.2)  # what was imported is found once a second

loop = uvloop.new_event_loop()
asyncio.set_event_loop(loop)
loop.run_until_complete(main())
END
    PYPROF_HZ=250 profiled "$venv/bin/python" app.py
    "$PYPROF" export --format collapsed --unit samples --by task >stacks.txt
    grep -F 'in_child (' stacks.txt | grep -v '^early;' >child.txt
    awk '/^child;/ { right += $NF } { all += $NF } END { print right, all; exit right < all - 3 || right < 10 }' child.txt
    [ "$(grep '^child;' child.txt | grep -v '\[task main\];main (.*;\[task child\];' | awk '{ n += $NF } END { print n + 0 }')" -le 2 ]
}

# many_names TASKS [NAMES]: with names of their own, or so many different ones, which say in which function each runs, as its
# endpoint does: 5,000 a second if that much CPU is there.
many_names() {
    cat >app.py <<'END'
import asyncio, ctypes, sys, time

library = ctypes.CDLL(None)

def in_0(seconds):
    end = time.thread_time() + seconds
    while time.thread_time() < end:
        pass

functions = [in_0]
for number in range(1, 16):
    space = {"time": time}
    code = in_0.__code__.replace(co_name="in_%d" % number)
    if hasattr(code, "co_qualname"):
        code = code.replace(co_qualname=code.co_name)
    functions.append(type(in_0)(code, space))

async def request(number):
    library.pyprof_labels(b"endpoint=in_%d" % (number % 16))
    functions[number % 16](0.0001)

names = int(sys.argv[2] if sys.argv[2:] else sys.argv[1])

async def main():
    number = 0
    while number < int(sys.argv[1]):
        start = time.monotonic()
        for _ in range(100):
            number += 1
            asyncio.ensure_future(request(number)).set_name("request %d in_%d " % (number % names, number % 16))
        await asyncio.sleep(max(0, start + 0.02 - time.monotonic()))

start = time.monotonic()
asyncio.run(main())
print("%d tasks in %.1f s" % (int(sys.argv[1]), time.monotonic() - start))
END
    rm -rf pyprof.out
    PYPROF_HZ=1000 PYPROF_MAX_OVERHEAD=100 profiled "$PYTHON" app.py "$@" >out.txt
    "$PYPROF" export --format collapsed --unit samples --by task >stacks.txt
    "$PYPROF" export --format collapsed --unit samples --by endpoint >endpoints.txt
    info >info.json
    judge '
right, wrong, names = 0, [], set()
for line in open("stacks.txt"):
    stack, _, count = line.rpartition(" ")
    value = stack.split(";")[0]
    if value.startswith("[accounting"):
        continue
    ran = [match[1] for match in re.finditer(r";(in_\d+) \(", stack)]
    names.add(value)
    if not ran or value in ("(other)", "(none)"):
        continue
    right += int(count)
    if not re.fullmatch(r"request \d+ %s " % ran[-1], value):
        wrong.append(line)
total = json.load(open("info.json"))["total"]
print(open("out.txt").read().strip(), total["samples"], "samples,", len(names), "names,", right, "with a name of their own;",
      total["most_mapped_bytes"], "bytes mapped at most")
assert not wrong, wrong[:3]
assert right > 50 and len(names) <= 1210, (right, len(names))
odd = [name for name in names if name not in ("(other)", "(none)", "main") and not name.startswith("request ")]
assert not odd, odd
for line in open("endpoints.txt"):
    ran = re.search(r";(in_\d+) \(", line)
    assert not line.startswith("(other)") and (not ran or line.startswith(ran[1] + ";")), line'
}

@test "a task for each request, with a name of its own: none is under another one's, and what is kept stays bounded" {
    many_names 15000
    size=$(stat -c %s "$(log_files)")
    [ "$size" -lt 400000 ]
}

# Which endpoint a sample belongs to, its function says; each request has a tenant of its own.
@test "a tenant for each request: endpoints are what they are, and what has become (other) is counted" {
    cat >tenants.py <<'END'
import ctypes, hashlib, sys, threading, time

library, data, space = ctypes.CDLL(None), bytes(1 << 18), {}
for number in range(50):
    exec("def in_%d(): hashlib.sha256(data)" % number, {"hashlib": hashlib, "data": data}, space)

def serve(first):
    number = first
    while time.thread_time() < float(sys.argv[1]):
        library.pyprof_labels(b"endpoint=/%d;tenant=%d" % (number % 50, number))
        space["in_%d" % (number % 50)]()
        number += 1

threads = [threading.Thread(target=serve, args=(first,)) for first in (0, 1000000)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
END
    # More samples than that, of a kernel of few ticks too.
    for seconds in 3 10 30; do
        rm -rf pyprof.out
        PYPROF_HZ=1000 PYPROF_MAX_OVERHEAD=100 profiled "$PYTHON" tenants.py $seconds
        info >info.json
        [ "$(reader field info.json other_labels)" -lt 100 ] || break
    done
    "$PYPROF" export --format collapsed --unit samples --by endpoint >stacks.txt
    "$PYPROF" report --json --by label:tenant >tenants.json
    judge '
total = json.load(open("info.json"))["total"]
rows = {row["value"]: row for row in json.load(open("tenants.json"))["by"]}
other = rows.pop("(other)")
print(total["samples"], "samples,", len(rows), "tenants,", other)
assert total["other_labels"] > 100 and len(rows) <= 1001, (total, len(rows))
assert (other["samples"], other["cpu_ns"]) == (total["other_labels"], total["other_labels_ns"]), (other, total)
for line in open("stacks.txt"):
    ran = re.search(r";in_(\d+) \(", line)
    assert not line.startswith("(other)") and (not ran or line.startswith("/" + ran[1] + ";")), line'
    count=$(reader field info.json other_labels)
    "$PYPROF" info | tr -s ' \n' ' ' | grep -q " $count samples of [0-9.]* s have a label (other): more than 1,000 combinations of labels "
    "$PYPROF" report --full | tr -s ' \n' ' ' | grep -q " $count samples of [0-9.]* s have a label (other): more than 1,000 combinations of labels in 1 process "
}

mapped_now() {
    ${READ%% *} -c 'import json; print(json.load(open("info.json"))["total"]["mapped_bytes"])'
}

# At least 100,000 tasks in a minute, or this proves nothing.
fast_enough() {
    awk '{ exit $1 / $4 < 100000 / 60 }' out.txt || fail "the machine is too slow for this test: $(cat out.txt)"
}

# bats test_tags=long
@test "5,000 tasks a second with names of their own, for a minute: memory and log are those of a thousand names" {
    local few many size_few size
    many_names 300000 16
    fast_enough
    few=$(mapped_now)
    size_few=$(stat -c %s "$(log_files)")
    many_names 300000
    fast_enough
    many=$(mapped_now)
    size=$(stat -c %s "$(log_files)")
    echo "with 16 names: $few bytes mapped, log of $size_few bytes; with 300,000: $many, $size"
    # a thousand sets of labels and a few more, however many there are
    [ "$many" -le $((few + 1000000)) ]
    [ "$size" -le $((size_few + 200000)) ]
}

odd_callbacks() {
    for kind in partial method; do
        PYPROF_HZ=1000 PYPROF_MAX_OVERHEAD=100 profiled "$PYTHON" "$WORKLOADS/odd_callbacks.py" $kind >out.txt
        [ "$(cat out.txt)" = ok ]
        "$PYPROF" report --json --by task | grep -q '"main"'
    done
    cat >cancels.py <<'END'
import asyncio, time

async def innocent():
    await asyncio.sleep(60)

async def worker():
    end = time.process_time() + 0.3
    while time.process_time() < end:
        pass

async def main():
    other = asyncio.ensure_future(innocent())
    other.set_name("innocent")
    task = asyncio.ensure_future(worker())
    task.set_name("worker")
    task.add_done_callback(lambda task, cancel=other.cancel: cancel())
    task.add_done_callback(other.remove_done_callback)
    while not task.done():
        await asyncio.sleep(0.01)

asyncio.get_event_loop_policy().new_event_loop().run_until_complete(main())
END
    profiled "$PYTHON" -W ignore cancels.py 2>/dev/null
    collapsed --native=none >stacks.txt
    grep -qF '[task worker];worker ' stacks.txt
    ! grep -F '[task innocent]' stacks.txt
}

@test "callbacks that are neither functions nor a task's wake-up are left alone" {
    with_each_python odd_callbacks
}

@test "a hundred threads with loops of their own: each has its task" {
    cat >loops.py <<'END'
import asyncio, threading, time

def in_loop(name):
    async def job():
        for _ in range(4):
            end = time.thread_time() + 0.02
            while time.thread_time() < end:
                pass
            await asyncio.sleep(0)
    async def main():
        asyncio.current_task().set_name(name)
        await job()
    asyncio.run(main())

threads = [threading.Thread(target=in_loop, args=("job %d" % i,), name="job %d" % i) for i in range(100)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
END
    PYPROF_HZ=1000 PYPROF_MAX_OVERHEAD=100 profiled "$PYTHON" loops.py
    "$PYPROF" export --format collapsed --unit samples --native=none --threads --by task >stacks.txt
    # A busy machine lets some threads end without a tick: those that met one are judged.
    ${READ%% *} -c '
import collections, re
right, missing, wrong = collections.Counter(), 0, []
for line in open("stacks.txt"):
    stack, _, count = line.rpartition(" ")
    if not re.search(r"job \(loops\.py:\d+\)", stack):
        continue
    thread, task = re.match(r"thread (.*) \(\d+\);([^;]*);", stack).groups()
    if task == thread:
        right[thread] += int(count)
    elif task == "(none)":
        missing += int(count)
    else:
        wrong.append(line)
print(len(right), "threads with", sum(right.values()), "samples in their task,", missing, "in none")
assert not wrong, wrong[:3]
assert len(right) >= 50 and missing <= 3 + sum(right.values()) / 20, (len(right), missing)'
}

# true_of NAME KEY COMMAND...: profiles it; ./NAME.txt has its stacks by KEY.
true_of() {
    local name=$1 key=$2
    shift 2
    rm -rf pyprof.out
    PYTHONPATH=$ROOT/contrib/python PYTHONWARNINGS=ignore PYPROF_HZ=1000 PYPROF_MAX_OVERHEAD=100 profiled "$@" >/dev/null
    "$PYPROF" export --format collapsed --unit samples --by "$key" >"$name.txt"
}

all_true() {
    local seconds=${TRUE_SECONDS:-1}
    true_of asyncio task "$PYTHON" "$WORKLOADS/tasks.py" "$seconds"
    true_of python task "$PYTHON" "$WORKLOADS/tasks.py" 0.3 python
    true_of labels label:truth "$PYTHON" "$WORKLOADS/true_contexts.py" labels 0.5
    case $VERSION in 3.[89]* | 3.1[01]*) ;; *) true_of eager task "$PYTHON" "$WORKLOADS/tasks.py" 0.3 eager ;; esac
    if [[ $PYTHON_BUILD != *free-threaded* ]]; then
        true_of uvloop task "$(venv_with uvloop)/bin/python" "$WORKLOADS/tasks.py" 0.3 uvloop
        true_of gevent greenlet "$(venv_with gevent)/bin/python" "$WORKLOADS/true_contexts.py" gevent 0.5
    fi
    true_of trio task "$(venv_with trio)/bin/python" "$WORKLOADS/trio_tasks.py" 0.3
    true_of spans span "$(venv_with opentelemetry-sdk)/bin/python" "$WORKLOADS/true_contexts.py" spans 0.5
    "${READ%% *}" "$ROOT/tests/bats/lib/true_contexts.py" ./*.txt >sums || fail "$(cat sums)"
    cat sums
    awk '$1 == "total"' sums >>"${TRUE_TABLE:-/dev/null}"
    [ "$(sed -n "s/^total .*'right': \([0-9]*\).*/\1/p" sums)" -ge 5000 ]
}

# bats test_tags=long
@test "5,000 samples of tasks, greenlets, labels and spans: each belongs to what it ran in" {
    with_each_python all_true
}
