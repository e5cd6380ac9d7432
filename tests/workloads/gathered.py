"""gathered.py asyncio|trio: endpoints of Starlette, one of which has its work done by tasks that it gathers, another by a thread, a
third by a thread that has the event loop do it.
Prints, as JSON, the CPU time of each by the threads' clocks."""
import time, sys, json
from anyio import from_thread
from starlette.applications import Starlette
from starlette.responses import PlainTextResponse
from starlette.routing import Route
used = {}
def spin(name, ms):
    start = time.thread_time()
    while time.thread_time() - start < ms / 1000:
        pass
    used[name] = used.get(name, 0) + time.thread_time() - start
if sys.argv[1] == "asyncio":
    import asyncio
    sleep, run = asyncio.sleep, asyncio.run
    async def together(count, function, *arguments):
        await asyncio.gather(*(function(*arguments) for _ in range(count)))
else:
    import trio
    sleep, run = trio.sleep, lambda coroutine: trio.run(lambda: coroutine)
    async def together(count, function, *arguments):
        async with trio.open_nursery() as nursery:
            for _ in range(count):
                nursery.start_soon(function, *arguments)
async def part(name, ms):
    await sleep(0)
    spin(name, ms)
    await sleep(0)
    spin(name, ms)
async def cart(request):
    await together(3, part, "/cart", 4)
    return PlainTextResponse("x")
def export(request):
    spin("/export", 20)
    return PlainTextResponse("x")
async def login(request):
    spin("/login", 6)
    return PlainTextResponse("x")
async def in_loop():
    spin("/back", 5)
    await together(1, part, "/back", 2)
def back(request):
    """A thread that waits for the event loop."""
    from_thread.run(in_loop)
    return PlainTextResponse("x")
app = Starlette(routes=[Route("/cart", cart), Route("/export", export), Route("/login", login), Route("/back", back)])
async def call(path):
    async def receive():
        return {"type": "http.request", "body": b""}
    async def send(message):
        pass
    await app({"type": "http", "method": "GET", "path": path, "root_path": "", "query_string": b"", "headers": []}, receive, send)
async def round_of_calls(paths=["/cart", "/login", "/export", "/cart", "/back"]):
    paths.append(paths.pop(0))
    await call(paths[0])
async def main():
    for _ in range(25):
        await together(4, round_of_calls)
run(main())
print(json.dumps(used))
