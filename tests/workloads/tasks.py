"""tasks.py SECONDS [HOW] [KIND...]: asyncio tasks of all kinds, each of which computes in a function that has its task's name.

HOW is python: tasks made of Python; nested: nest_asyncio's, which are, and may run loops within one another; eager: all begin
where they are created; uvloop: its loops.

Prints, as JSON, the CPU time that each of these functions used, by the thread's own clock."""
import asyncio
import json
import sys
import threading

from cpu import computes, hash_without_gil, spin, used

VERSION = sys.version_info[:2]
SECONDS = float(sys.argv[1])
HOW = sys.argv.pop(2) if sys.argv[2:] and sys.argv[2] in ("python", "nested", "eager", "uvloop") else ""
SLICE = 0.004


def use_tasks_of_python():
    tasks, futures = asyncio.tasks, asyncio.futures
    asyncio.Task = tasks.Task = tasks._PyTask
    asyncio.Future = futures.Future = futures._PyFuture
    if VERSION >= (3, 14):
        for name in "current_task", "_enter_task", "_leave_task", "_swap_current_task":
            setattr(tasks, name, getattr(tasks, "_py_" + name.lstrip("_")))
        asyncio.current_task = tasks.current_task


async def rounds(function, seconds):
    for _ in range(max(1, int(seconds / SLICE))):
        function(SLICE)
        await asyncio.sleep(0)


def named(coroutine, name):
    if HOW == "eager":
        return asyncio.Task(coroutine, loop=asyncio.get_running_loop(), name=name, eager_start=True)
    task = asyncio.ensure_future(coroutine)
    task.set_name(name)
    return task


async def default_name(seconds):
    await rounds(computes("default_name"), seconds)


async def without_gil(seconds):
    await rounds(computes("without_gil", hash_without_gil), seconds)


async def gathers(seconds):
    await asyncio.gather(named(rounds(computes("gathered"), seconds), "gathered"), asyncio.sleep(0))


async def waits(seconds):
    await asyncio.wait({named(rounds(computes("waited"), seconds), "waited")})


async def waits_for(seconds):
    await asyncio.wait_for(named(rounds(computes("waited_for"), seconds), "waited_for"), 600)


async def shields(seconds):
    await asyncio.shield(named(rounds(computes("shielded"), seconds), "shielded"))


async def completes(seconds):
    for first in asyncio.as_completed([named(rounds(computes("completed"), seconds), "completed"), asyncio.sleep(0)]):
        await first


async def groups(seconds):
    async with asyncio.TaskGroup() as group:
        group.create_task(rounds(computes("grouped"), seconds), name="grouped")


async def eager_child(function, seconds):
    function(seconds)


async def eager(seconds):
    mine = computes("eager")
    for _ in range(int(seconds / 2 / SLICE)):
        child = asyncio.Task(eager_child(computes("eager_child"), SLICE), loop=asyncio.get_running_loop(),
                             name="eager_child", eager_start=True)
        mine(SLICE)
        await child


async def async_generator(function, seconds):
    for _ in range(int(seconds / SLICE)):
        function(SLICE)
        yield
        await asyncio.sleep(0)


async def iterates(seconds):
    async for _ in async_generator(computes("iterates"), seconds):
        pass


async def nests(seconds):
    """A loop within a task: the innermost task is what runs."""
    mine, inner = computes("nests"), computes("nested")
    for _ in range(int(seconds / SLICE / 10)):
        mine(SLICE * 5)
        asyncio.get_running_loop().run_until_complete(named(rounds(inner, SLICE * 5), "nested"))
        await asyncio.sleep(0)


async def executes(seconds):
    function = computes("in_executor", lambda seconds: (spin(seconds / 2), hash_without_gil(seconds / 2)))
    for _ in range(4):
        await asyncio.get_running_loop().run_in_executor(None, function, seconds / 4)


KINDS = [default_name, without_gil, gathers, waits, waits_for, shields, completes, iterates, executes]
KINDS += [groups] if VERSION >= (3, 11) and HOW != "eager" else []  # which are named when they have begun
KINDS += [eager] if VERSION >= (3, 12) else []
KINDS += [nests] if HOW == "nested" else []


def no_loop():
    """Beside the loops: a thread without one has no task."""
    computes("no_loop")(SECONDS)


async def main():
    if HOW == "eager":
        asyncio.get_running_loop().set_task_factory(asyncio.eager_task_factory)
    kinds = [kind for kind in KINDS if kind.__name__ in sys.argv[2:] or not sys.argv[2:]]
    await asyncio.gather(*(named(kind(SECONDS), kind.__name__) for kind in kinds if kind is not default_name),
                         *(kind(SECONDS) for kind in kinds if kind is default_name))


async def second_loop():
    await named(rounds(computes("second_loop"), SECONDS), "second_loop")


if HOW == "python":
    use_tasks_of_python()
elif HOW == "nested":
    import nest_asyncio

    nest_asyncio.apply()
elif HOW == "uvloop":
    import uvloop

    asyncio.set_event_loop_policy(uvloop.EventLoopPolicy())
if SECONDS >= 0.3:  # until the library knows the sources
    asyncio.run(rounds(spin, 1.3))
    used.clear()
threads = [threading.Thread(target=no_loop), threading.Thread(target=asyncio.run, args=(second_loop(),))]
for thread in threads:
    thread.start()
asyncio.run(main())
for thread in threads:
    thread.join()
print(json.dumps(used))
