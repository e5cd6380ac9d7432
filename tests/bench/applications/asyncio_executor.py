"""Tasks that wait for each other and for threads that compress and hash without the GIL."""

import asyncio
import concurrent.futures
import hashlib
import sys
import time
import zlib

seconds = float(sys.argv[1])
text = b"".join(b"%d lines of a log, none of them long; " % n for n in range(4000))


def pack(number):
    return len(zlib.compress(text[number:], 5)) + len(hashlib.sha256(text).digest())


async def leaf(loop, pool, number):
    await asyncio.sleep(0.001 * (number % 3))
    return await loop.run_in_executor(pool, pack, number)


async def branch(loop, pool, depth, number):
    if depth == 0:
        return await leaf(loop, pool, number)
    return sum(await asyncio.gather(*(branch(loop, pool, depth - 1, number * 3 + n) for n in range(3))))


async def ticker():
    """What else a loop has to do."""
    while True:
        sorted(range(2000), key=lambda n: -n)
        await asyncio.sleep(0.002)


async def main():
    loop, beside = asyncio.get_running_loop(), asyncio.create_task(ticker())
    with concurrent.futures.ThreadPoolExecutor(4) as pool:
        while time.process_time() < seconds:
            await asyncio.gather(*(branch(loop, pool, 3, n) for n in range(3)))
    beside.cancel()


asyncio.run(main())
