"""Sources of contexts.py that run tasks otherwise than asyncio does: uvloop; and where only the stack tells which task runs,
trio and asyncio's tasks that are made of Python."""
import asyncio
import sys

stepped = sys.modules["__main__"]
TASK, AWAITER, ENDPOINT = stepped.TASK, stepped.AWAITER, stepped.ENDPOINT


def by_frames():
    for kind in range(AWAITER, AWAITER + 16):
        stepped.library.contexts_by_frames(kind)
    stepped.library.contexts_by_frames(TASK)


def prepare_python():
    by_frames()
    tasks, futures = asyncio.tasks, asyncio.futures
    asyncio.Task = tasks.Task = tasks._PyTask
    asyncio.Future = futures.Future = futures._PyFuture
    if stepped.VERSION >= (3, 14):
        for name in "current_task", "_enter_task", "_leave_task", "_swap_current_task":
            setattr(tasks, name, getattr(tasks, "_py_" + name.lstrip("_")))
        asyncio.current_task = tasks.current_task
    stepped.prepare_asyncio()


def prepare_uvloop():
    import uvloop

    asyncio.new_event_loop = uvloop.new_event_loop
    stepped.prepare_asyncio()


def prepare_trio():
    import trio._threads
    from contexts_endpoints import MODELS

    by_frames()
    stepped.library.contexts_by_frames(ENDPOINT)
    stepped.number(ENDPOINT, "/items/{n}")
    exec(compile(MODELS["starlette/routing.py"], "/packages/starlette/routing.py", "exec"), routing)
    trio._threads.start_thread_soon = lambda function, deliver, name: handed.append((function, deliver))
    stepped.number(AWAITER, "contexts_tasks.main > main > in_thread")
    for kind in TASK, AWAITER, AWAITER + 1:
        for name in ("child", "parent", "of asyncio", "of_asyncio", "contexts_tasks.main", "contexts_tasks.default_name",
                     "<init>", "<TrioToken.run_sync_soon task>"):
            stepped.number(kind, name if kind == TASK else name + " > " + name.replace("contexts_tasks.", ""))


async def child(task, awaiters):
    import trio

    stepped.begin()
    await stepped.step(task, awaiters)
    await trio.lowlevel.checkpoint()
    await stepped.step(task, awaiters)


async def default_name(awaiters):
    await child(stepped.number(TASK, "contexts_tasks.default_name"), awaiters)


async def parent(mine, awaiters):
    import trio

    await stepped.step(stepped.number(TASK, "parent"), awaiters)
    async with trio.open_nursery() as nursery:
        nursery.start_soon(child, mine, (stepped.number(AWAITER, "parent > parent"),
                                         stepped.number(AWAITER + 1, "contexts_tasks.main > main")), name="child")


async def of_asyncio():
    asyncio.current_task().set_name("of asyncio")
    await stepped.step(stepped.number(TASK, "of asyncio"), ())
    await asyncio.sleep(0)


async def in_thread(endpoint):
    """What a thread does for a task, done by this one while the task waits for it."""
    import trio

    def work():
        computes_for(marks.pop())

    async def serve(scope):
        stepped.begin()
        computes_for(endpoint)
        stepped.end()
        await trio.to_thread.run_sync(work, abandon_on_cancel=True)

    for marks in [endpoint], [stepped.NONE]:
        async with trio.open_nursery() as nursery:
            nursery.start_soon(routing["Route"]("/items/{n}", serve).handle, {}, None, None, name="child")
            while not handed:
                await trio.lowlevel.checkpoint()
            function, deliver = handed.pop()
            if marks == [stepped.NONE]:
                nursery.cancel_scope.cancel()
                with trio.CancelScope(shield=True):
                    await trio.lowlevel.checkpoint()
            stepped.begin()
            result = outcome_of(function)
            stepped.end()
            deliver(result)


def computes_for(endpoint):
    stepped.MARKS[ENDPOINT] = endpoint
    stepped.compute(3)
    stepped.MARKS[ENDPOINT] = 0


def outcome_of(function):
    import outcome

    return outcome.capture(function)


async def main(count):
    import trio

    me = (stepped.number(AWAITER, "contexts_tasks.main > main"),)
    mine = stepped.number(TASK, "child")
    if count % 2:
        stepped.begin()  # what trio does to start a task takes 100,000 instructions
    await stepped.step(stepped.number(TASK, "contexts_tasks.main"), ())
    if count % 4 == 1 and hasattr(trio._threads, "PARENT_TASK_DATA"):  # not before 0.23
        stepped.end()
        await in_thread(stepped.number(ENDPOINT, "/items/{n}"))
    elif count % 3 == 0:
        async with trio.open_nursery() as nursery:
            nursery.start_soon(parent, mine, me, name="parent")
            nursery.start_soon(default_name, me)
    elif count % 3 == 1:
        with trio.move_on_after(60):
            await child(stepped.number(TASK, "contexts_tasks.main"), ())
    else:
        # a loop within the task: what it runs is innermost
        stepped.begin()
        loops[0].run_until_complete(of_asyncio())
    await stepped.step(stepped.number(TASK, "contexts_tasks.main"), ())
    stepped.end()


loops, handed, routing = [], [], {}


def run_trio(count):
    import trio

    if not loops:
        loops.append(asyncio.new_event_loop())
    trio.run(main, count)


SOURCES = {
    "python-tasks": (prepare_python, stepped.run_asyncio),
    "uvloop": (prepare_uvloop, stepped.run_asyncio),
    "trio": (prepare_trio, run_trio),
}
