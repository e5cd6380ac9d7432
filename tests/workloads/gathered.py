"""Endpoints of Starlette, one of which has its work done by tasks that it gathers. Prints, as JSON, the CPU time of each by the
thread's clock."""
import asyncio, time, sys, json
from starlette.applications import Starlette
from starlette.responses import PlainTextResponse
from starlette.routing import Route
used = {}
def spin(name, ms):
    start = time.thread_time()
    while time.thread_time() - start < ms / 1000:
        pass
    used[name] = used.get(name, 0) + time.thread_time() - start
async def part(name, ms):
    await asyncio.sleep(0)
    spin(name, ms)
    await asyncio.sleep(0)
    spin(name, ms)
async def cart(request):
    await asyncio.gather(part("/cart", 4), part("/cart", 4), part("/cart", 4))
    return PlainTextResponse("x")
async def login(request):
    spin("/login", 6)
    return PlainTextResponse("x")
app = Starlette(routes=[Route("/cart", cart), Route("/login", login)])
async def call(path):
    async def receive():
        return {"type": "http.request", "body": b""}
    async def send(message):
        pass
    await app({"type": "http", "method": "GET", "path": path, "root_path": "", "query_string": b"", "headers": []}, receive, send)
async def main():
    for _ in range(25):
        await asyncio.gather(*(asyncio.ensure_future(call(path)) for path in ("/cart", "/login", "/cart")))
asyncio.run(main())
print(json.dumps(used))
