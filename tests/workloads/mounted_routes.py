"""Routes in applications that are mounted, each in the task of its middleware: some have the mount's own path, or its beginning.
The classes have the names, files and locals of Starlette's."""
import asyncio
import time
import types

starlette = types.SimpleNamespace()
for file, source in {
    "applications.py": """
class Starlette:
    async def __call__(self, scope, receive, send):
        await self.app(scope)
""",
    "routing.py": """
class Route:
    def __init__(self, path, app):
        self.path, self.app = path, app
    async def handle(self, scope, receive, send):
        await self.app(scope)
class Mount(Route):
    async def handle(self, scope, receive, send):
        await self.app(scope)
class WebSocketRoute(Route):
    async def handle(self, scope, receive, send):
        await self.app(scope)
""",
}.items():
    exec(compile(source, f"/packages/starlette/{file}", "exec"), vars(starlette))


async def endpoint(scope):
    end = time.thread_time() + 0.3
    while time.thread_time() < end:
        sum(range(200))


async def serve(mounted_at, root, kind, path):
    route = getattr(starlette, kind)(path, endpoint)
    mount = starlette.Mount(mounted_at, lambda scope: asyncio.ensure_future(route.handle(scope, None, None)))

    def router(scope):
        scope.update(app_root_path="", root_path=root)
        return mount.handle(scope, None, None)

    app = starlette.Starlette()
    app.app = router
    await app({"type": "http", "root_path": ""}, None, None)


for request in (
    ("/api", "/api", "Route", "/api"),
    ("/api/v1", "/api/v1", "Route", "/api"),
    ("/{tenant}", "/api", "WebSocketRoute", "/api"),
    ("/shop", "/shop", "Route", "/items"),
):
    asyncio.run(serve(*request))
