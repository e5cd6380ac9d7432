"""asyncio tasks that run code in greenlets and wait meanwhile, as SQLAlchemy's do: greenlets_in_tasks.py SECONDS"""

import asyncio
import sys
import time

import greenlet

from cpu import spin


def in_greenlet():
    while time.thread_time() < end:
        spin(0.01)
        greenlet.getcurrent().parent.switch()


async def in_task():
    inner = greenlet.greenlet(in_greenlet)
    inner.switch()
    while not inner.dead:
        spin(0.01)
        await asyncio.sleep(0)
        inner.switch()


async def main():
    await asyncio.gather(in_task(), in_task())


end = time.thread_time() + float(sys.argv[1])
asyncio.run(main())
