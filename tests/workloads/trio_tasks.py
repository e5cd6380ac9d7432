"""trio_tasks.py SECONDS: tasks of trio, each of which computes in a function that has its task's name.

Prints, as JSON, the CPU time that each of these functions used, by the thread's own clock."""
import asyncio
import json
import sys
import threading
import time

import trio

from cpu import computes, hash_without_gil, spin, used

SECONDS = float(sys.argv[1])
SLICE = 0.004


async def rounds(function, seconds):
    for _ in range(max(1, int(seconds / SLICE))):
        function(SLICE)
        await trio.sleep(0)


async def opens_nursery(seconds):
    async with trio.open_nursery() as nursery:
        nursery.start_soon(rounds, computes("in_nursery"), seconds, name="in_nursery")


async def own_name(seconds):
    await rounds(computes("own_name"), seconds)


async def without_gil(seconds):
    await rounds(computes("without_gil", hash_without_gil), seconds)


async def times_out(seconds):
    with trio.move_on_after(60):
        await rounds(computes("times_out"), seconds)


async def asyncio_task(function):
    asyncio.current_task().set_name("of_asyncio")
    for _ in range(5):
        function(SLICE)
        await asyncio.sleep(0)


async def runs_asyncio(seconds):
    """A loop within a task: the innermost task is what runs."""
    mine, inner = computes("runs_asyncio"), computes("of_asyncio")
    for _ in range(int(seconds / SLICE / 10)):
        mine(SLICE * 5)
        asyncio.run(asyncio_task(inner))
        await trio.sleep(0)


async def executes(seconds):
    """What a thread does for the task."""
    function = computes("in_executor", lambda seconds: (spin(seconds / 2), hash_without_gil(seconds / 2)))
    for _ in range(4):
        await trio.to_thread.run_sync(function, seconds / 4)


async def abandons(seconds):
    """Ends before what a thread does for it, which is no task's from then on."""
    def goes_on():
        while not ended.is_set():
            time.sleep(0.001)
        computes("abandoned")(seconds)

    with trio.move_on_after(0.1):
        await trio.to_thread.run_sync(goes_on, abandon_on_cancel=True)
    ended.set()
    while "abandoned" not in used:
        await trio.sleep(0.01)


ended = threading.Event()


def no_loop():
    """Beside the loops: a thread without one has no task."""
    computes("no_loop")(SECONDS)


async def second_loop():
    async with trio.open_nursery() as nursery:
        nursery.start_soon(rounds, computes("second_loop"), SECONDS, name="second_loop")


async def guest():
    await rounds(computes("guest"), SECONDS)


async def host():
    """trio runs as a guest of asyncio's loop, beside a task of that."""
    done = asyncio.get_running_loop().create_future()
    trio.lowlevel.start_guest_run(
        guest,
        run_sync_soon_threadsafe=asyncio.get_running_loop().call_soon_threadsafe,
        done_callback=done.set_result,
    )
    asyncio.current_task().set_name("host")
    function = computes("host")
    while not done.done():
        function(SLICE)
        await asyncio.sleep(0)


async def main():
    async with trio.open_nursery() as nursery:
        for kind in opens_nursery, without_gil, times_out, runs_asyncio, executes, abandons:
            nursery.start_soon(kind, SECONDS, name=kind.__name__)
        nursery.start_soon(own_name, SECONDS)


if SECONDS >= 0.3:  # until the library knows the sources
    trio.run(rounds, spin, 1.3)
threads = [threading.Thread(target=no_loop), threading.Thread(target=trio.run, args=(second_loop,)),
           threading.Thread(target=asyncio.run, args=(host(),))]
for thread in threads:
    thread.start()
trio.run(main)
for thread in threads:
    thread.join()
print(json.dumps(used))
