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
