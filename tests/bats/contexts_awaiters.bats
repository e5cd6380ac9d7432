# What awaits a task, and what does not, however the task was started.
load lib/helper

eager_tasks() {
    case $VERSION in 3.[89]* | 3.1[01]*) skip "tasks start eagerly since 3.12" ;; esac
    cat >eager.py <<'END'
import asyncio, time

def compute():
    end = time.thread_time() + 0.15
    while time.thread_time() < end:
        pass

def at_first(): compute()
def alone(): compute()
def awaited(): compute()
def gathered(): compute()
def between(): compute()
def at_once(): compute()

async def child():  # begins in its creator, goes on while that awaits something else, and at last while it awaits this
    at_first()
    await asyncio.sleep(0.001)
    alone()
    await asyncio.sleep(0.001)
    awaited()

async def part():
    await asyncio.sleep(0.001)
    gathered()

async def ends_at_once():
    at_once()

async def creates():
    task = asyncio.create_task(child(), name="child")
    between()
    await asyncio.sleep(0.1)
    await task
    await asyncio.gather(part(), part())
    await asyncio.create_task(ends_at_once())

async def main():
    time.sleep(1.5)  # what was imported is found within a second
    asyncio.get_running_loop().set_task_factory(asyncio.eager_task_factory)
    await asyncio.create_task(creates(), name="creates")

asyncio.run(main())
END
    PYPROF_HZ=500 PYPROF_MAX_OVERHEAD=100 profiled "$PYTHON" eager.py
    "$PYPROF" export --format collapsed --native=none --unit samples >stacks.txt
    # in the order of the program: up to the function that computes, and nothing else
    local creates='\[loop\];\[task main\];main (.*);\[task creates\];creates (.*)' stack function
    for stack in '\[creator\];\[task child\];child (.*);at_first' '\[creator\];\[task creates\];creates (.*);between' \
        '\[loop\];\[task child\];child (.*);alone' "$creates;\\[task child\\];child (.*);awaited" \
        "$creates;\\[task part\\];part (.*);gathered" '\[creator\];\[task ends_at_once\];ends_at_once (.*);at_once'; do
        function=${stack##*;}
        grep -q ";$function (" stacks.txt || fail "nothing in $function: $(cat stacks.txt)"
        ! grep ";$function (" stacks.txt | grep -v "^${stack//.\*/[^;]*} (" || fail "$function"
    done
}

@test "an eager task: its creator is [creator], and awaits it from when it does" {
    with_each_python eager_tasks
}

which_await() {
    cat >awaits.py <<'EOF'
import asyncio, hashlib, time

def compute(seconds):
    end = time.process_time() + seconds
    while time.process_time() < end:
        pass

async def leaf():
    compute(0.15)

def work():
    compute(0.1)
    end = time.process_time() + 0.15
    while time.process_time() < end:
        hashlib.sha256(b"x" * 3000000).digest()

async def nested():
    await asyncio.ensure_future(leaf())

async def job_big():
    await nested()
    await asyncio.gather(leaf(), leaf())
    compute(0.1)
    await asyncio.get_event_loop().run_in_executor(None, work)

async def recurses(depth):
    if depth:
        await recurses(depth - 1)
    else:
        await nested()

async def main():
    time.sleep(1.5)  # what was imported is found within a second
    big = asyncio.ensure_future(job_big())
    big.set_name("big-0")
    await big
    await recurses(100)

asyncio.get_event_loop_policy().new_event_loop().run_until_complete(main())
EOF
    PYPROF_HZ=500 PYPROF_MAX_OVERHEAD=100 profiled "$PYTHON" -W ignore awaits.py
    "$PYPROF" export --format collapsed --lines --native=none --unit samples >stacks.txt
    # in_stack PATTERN...: of frames that follow each other, from the root on
    in_stack() {
        local pattern
        pattern=$(printf ';%s' "$@")
        grep -q "^${pattern#;}[; ]" stacks.txt || fail "$pattern: $(cat stacks.txt)"
    }
    local main='\[task main\]' big='\[task big-0\]' leaf='\[task leaf\];leaf (awaits.py:9)'
    in_stack '\[loop\]' "$main" 'main (awaits.py:36)' "$big" 'job_big (awaits.py:21)' 'nested (awaits.py:18)' "$leaf"
    in_stack '\[loop\]' "$main" 'main (awaits.py:36)' "$big" 'job_big (awaits.py:22)' "$leaf"
    # work for it in a thread, with the GIL and without it
    in_stack "$main" 'main (awaits.py:36)' "$big" 'job_big (awaits.py:24)' '\[awaited\].*;work (awaits.py:12)'
    in_stack "$main" 'main (awaits.py:36)' "$big" 'job_big (awaits.py:24)' '\[awaited\].*;work (awaits.py:15)'
    # of a deep one the ends
    in_stack '\[loop\]' "$main" 'main (awaits.py:37)\(;recurses (awaits.py:28)\)\{23\}' '\[python stack truncated: too deep\]' \
        '\(recurses (awaits.py:28);\)\{21\}recurses (awaits.py:30)' 'nested (awaits.py:18)' "$leaf"
    # what was used on its behalf is found by its function
    "$PYPROF" report --json --focus job_big >focus.json
    judge '
report = json.load(open("focus.json"))
assert 0.65e9 < report["shown_ns"] < 0.95e9, report["shown_ns"]'
    collapsed --no-awaiters >bare.txt
    ! grep -F 'awaited' bare.txt || fail "a mark is left"
    # It has a few samples of its own.
    ! grep -E 'nested \([^;]*;.*leaf \(' bare.txt || fail "an awaiter is left"
}

@test "what awaits a task, or work in a thread, is in the stack with its coroutines and their lines" {
    with_each_python which_await
}

wrapped_awaits() {
    cat >wrapped.py <<'EOF'
import asyncio, contextlib, sys, time

async def leaf():
    end = time.process_time() + 0.1
    while time.process_time() < end:
        pass

async def generates():
    await asyncio.ensure_future(leaf())
    yield

async def in_asend():
    async for _ in generates():
        pass

async def in_anext():
    await anext(generates(), None)

@contextlib.asynccontextmanager
async def manages():
    yield
    await asyncio.ensure_future(leaf())

async def in_exit():
    async with manages():
        pass

@contextlib.asynccontextmanager
async def cleans_up():
    try:
        yield
    finally:
        await asyncio.ensure_future(leaf())

async def in_athrow():
    try:
        async with cleans_up():
            raise ValueError
    except ValueError:
        pass

async def waits():
    await asyncio.ensure_future(leaf())

class Awaitable:
    def __await__(self):
        return waits().__await__()

async def in_awaitable():
    await Awaitable()

async def recurses(depth):
    await (recurses(depth - 1) if depth else waits())

async def main():
    time.sleep(1.5)  # what was imported is found within a second
    for way in [in_asend, in_exit, in_athrow, in_awaitable] + [in_anext] * (sys.version_info >= (3, 10)):
        await way()
    await recurses(200)

asyncio.get_event_loop_policy().new_event_loop().run_until_complete(main())
EOF
    PYPROF_HZ=500 PYPROF_MAX_OVERHEAD=100 profiled "$PYTHON" -W ignore wrapped.py
    "$PYPROF" export --format collapsed --lines --native=none --unit samples >stacks.txt
    local pair
    for pair in 'in_asend (wrapped.py:13);generates (wrapped.py:9)' \
        'in_exit (wrapped.py:2[56]);[^;]*__aexit__ ([^;]*);manages (wrapped.py:22)' \
        'in_athrow (wrapped.py:3[78]);[^;]*__aexit__ ([^;]*);cleans_up (wrapped.py:33)' \
        'in_awaitable (wrapped.py:50);waits (wrapped.py:43)' 'in_anext (wrapped.py:17);generates (wrapped.py:9)'; do
        case $VERSION$pair in 3.[89]*anext*) continue ;; esac
        grep -q ";$pair;\[task leaf\];" stacks.txt || fail "$pair: $(cut -c1-300 stacks.txt)"
    done
    # more than are followed: its outermost frames, and a mark where the others were
    grep -q ';main ([^;]*)\(;recurses (wrapped.py:53)\)\{46\};\[python stack truncated: too deep\];\[task leaf\];' stacks.txt
}

@test "what awaits a task by an asynchronous generator, or an object's own __await__, is in the stack" {
    with_each_python wrapped_awaits
}

yields_plainly() {
    cat >yields.py <<'END'
import asyncio, sys, time, types
from cpu import spin

async def computes():
    for _ in range(50):
        spin(0.01)
        await asyncio.sleep(0)

async def never_awaited():
    pass

@types.coroutine
def yields(future, other):  # in an expression, within a loop: a coroutine and a number are on its stack
    for index in numbers:
        if index == 29000:
            future._asyncio_future_blocking = True
            (other, (yield future))

@types.coroutine
def yields_only():  # without variables; its stack is empty
    yield shared[0]
shared, numbers = [], list(range(30000))

async def nested(level):
    if level:
        return await nested(level - 1)
    await yields_only()

async def main():
    spin(0.1)
    time.sleep(1.2)  # what was imported is found within a second
    other = never_awaited()
    await yields(asyncio.ensure_future(computes()), other)
    other.close()
    shared.append(asyncio.ensure_future(computes()))
    shared[0]._asyncio_future_blocking = True
    await nested(30)
asyncio.run(main())
END
    profiled PYTHONPATH="$WORKLOADS" "$PYTHON" yields.py
    collapsed --native=none >stacks.txt
    awk '/;computes \(/ {
        all += $NF
        nested = gsub(/;nested \(/, ";nested (")
        if (/never_awaited/) wrong += $NF
        else if (/;yields \(/ || (/;yields_only \(/ && nested == 31)) right += $NF
        if (nested) deep += $NF
    } END { print right, all, wrong, deep; exit !(all > 20 && deep > 10 && deep < all - 10 && !wrong && right >= 0.9 * all) }' stacks.txt || fail "$(cut -c1-1000 stacks.txt | tail -n 5)"
}

# What a generator that yields has on its stack may be no object at all: it ended the program.
@test "tasks that wait by a plain yield: where, and in nothing else, however deep" {
    with_each_python yields_plainly
}

forgets() {
    cat >forgets.py <<'END'
import asyncio, sys, time

async def job():
    await asyncio.sleep(0.02)
    end = time.thread_time() + 0.3
    while time.thread_time() < end:
        pass

async def ended():
    asyncio.gather(job(), job())

async def waits_otherwise():
    forgotten = asyncio.gather(job(), job()), asyncio.shield(job()), asyncio.as_completed([job()])
    await asyncio.sleep(2)

async def main():
    time.sleep(1.3)
    if "otherwise" in sys.argv:
        return await asyncio.ensure_future(waits_otherwise())
    if "eager" in sys.argv:
        asyncio.get_running_loop().set_task_factory(asyncio.eager_task_factory)
    await asyncio.ensure_future(ended())
    await asyncio.sleep(0.5)
asyncio.run(main())
END
    profiled "$PYTHON" forgets.py "$@"
    collapsed >stacks.txt
    grep -q '\[task job\];job (' stacks.txt || fail "$(cat stacks.txt)"
    ! grep -E '([; ](ended|waits_otherwise) [(]|\[task [^j]).*;job [(]' stacks.txt || fail "what does not await it"
}

# 3.14 keeps what has called gather() as what awaits the tasks. The frame of one that had ended was read, whose variables
# are gone; one that awaits something else was shown.
forgets_otherwise() {
    forgets
    rm -r pyprof.out
    forgets otherwise
    case $VERSION in 3.[89]* | 3.1[01]*) return ;; esac
    rm -r pyprof.out
    forgets eager
}

@test "a task that has ended, or awaits something else, awaits nothing that it has created" {
    with_each_python forgets_otherwise
}

odd_wrappers() {
    local kind
    for kind in named plain small; do
        PYPROF_HZ=250 PYPROF_MAX_OVERHEAD=100 PYPROF_OUT=$kind profiled "$PYTHON" -W ignore "$WORKLOADS/odd_wrappers.py" $kind
    done
}

@test "an awaitable that is called as CPython's wrappers, or has no field, is not read as one" {
    with_each_python odd_wrappers
}

odd_names() {
    local kind
    for kind in names class; do
        PYPROF_HZ=500 PYPROF_MAX_OVERHEAD=100 PYPROF_OUT=$kind profiled "$PYTHON" "$WORKLOADS/odd_names.py" $kind >out.txt ||
            fail "the last that began: $(tail -n 1 out.txt)"
    done
}

@test "what is only called as something that is known is not read as that" {
    with_each_python odd_names
}
