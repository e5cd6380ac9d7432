"""frameworks_served.py GROUP SECONDS: does what requests_served.py does, with several frameworks in one process.

GROUP is wsgi (Falcon, Pyramid and gRPC, in threads), asgi (Quart, Litestar, Falcon, Sanic, Tornado and grpc.aio, in an
event loop), queues
(Celery, Dramatiq, Huey, APScheduler and RQ: jobs, in threads and in an event loop), prefect (its tasks), prefork and gevent (Celery's tasks in processes
and in greenlets), cells (of IPython, and operations of Strawberry), tests (of pytest)."""
import asyncio
import os
import sys
import threading
import time

if sys.argv[1] == "gevent":
    import gevent.monkey

    gevent.monkey.patch_all()

import requests_served as requests
from requests_served import Requests, after, work


class Several:
    """Frameworks beside each other: each in a thread, but those that need the main thread."""

    in_main = None

    def run(self):
        threads = [threading.Thread(target=part.run) for part in self.parts if part is not self.in_main]
        for thread in threads:
            thread.start()
        if self.in_main:
            self.in_main.run()
        for thread in threads:
            thread.join()


class FalconWSGI(Requests):
    asynchronous = False
    paths = {"/falcon": "/falcon", "/falcon/{item:int}": "/falcon/7"}

    def __init__(self):
        import falcon

        self.app = falcon.App()
        for n, path in enumerate(self.paths):
            self.app.add_route(path, self.resource(path, 3 + n))

    def resource(self, path, ms):
        class Resource:
            def on_get(self, request, response, **arguments):
                work(path, ms)

        return Resource()


class Pyramid(Requests):
    asynchronous = False
    paths = {"/pyramid": "/pyramid", "/pyramid/{item}/carts": "/pyramid/7/carts"}

    def __init__(self):
        from pyramid.config import Configurator

        with Configurator() as config:
            for n, path in enumerate(self.paths):
                config.add_route("route%d" % n, path)
                config.add_view(self.view(path, 2 + n), route_name="route%d" % n)
            self.app = config.make_wsgi_app()

    def view(self, path, ms):
        from pyramid.response import Response

        return lambda request: work(path, ms) or Response("done")


class GRPC:
    """A server on a socket, and its clients in other threads. Its values are the servicer's methods."""

    def __init__(self):
        import concurrent.futures

        import grpc

        class Shop:
            def Cart(self, request, context):
                work("Shop.Cart", 3)
                return b""

            def Pay(self, request, context):
                for _ in range(2):
                    work("Shop.Pay", 2)
                    yield b""

        Shop.Cart.__qualname__, Shop.Pay.__qualname__ = "Shop.Cart", "Shop.Pay"
        shop = Shop()
        methods = {"Cart": grpc.unary_unary_rpc_method_handler(shop.Cart), "Pay": grpc.unary_stream_rpc_method_handler(shop.Pay)}
        self.server = grpc.server(concurrent.futures.ThreadPoolExecutor(2))
        self.server.add_generic_rpc_handlers((grpc.method_handlers_generic_handler("shop.Shop", methods),))
        self.channel = grpc.insecure_channel("127.0.0.1:%d" % self.server.add_insecure_port("127.0.0.1:0"))
        self.server.start()

    def run(self):
        cart, pay = self.channel.unary_unary("/shop.Shop/Cart"), self.channel.unary_stream("/shop.Shop/Pay")
        n = 0
        while requests.goes_on():
            n = after(n)
            if n % 2:
                cart(b"")
            else:
                list(pay(b""))
        self.channel.close()
        self.server.stop(None).wait()


class WSGI(Several):
    def __init__(self):
        self.parts = [FalconWSGI(), Pyramid(), GRPC()]


class ASGIRequests(Requests):
    """Requests of clients that go when they have the answer."""

    async def served(self, first):
        n = first
        while requests.goes_on():
            n = after(n)
            messages, answered = iter([await requests.nothing()]), asyncio.Event()

            async def receive():
                for message in messages:
                    return message
                await answered.wait()
                return {"type": "http.disconnect"}

            async def send(message):
                await requests.ignore(message)
                if message["type"] == "http.response.body" and not message.get("more_body"):
                    answered.set()

            await self.asgi(list(self.paths.values())[n % len(self.paths)], receive, send)
            work(None, 1)
            await asyncio.sleep(0)


class Quart(ASGIRequests):
    paths = {"/quart": "/quart", "/quart/<int:item>": "/quart/7", "/quart/thread/<name>": "/quart/thread/you"}

    def __init__(self):
        import quart

        self.app = quart.Quart("app")
        for n, rule in enumerate(list(self.paths)[:2]):
            self.app.add_url_rule(rule, "view%d" % n, self.view(rule, 2 + n))
        rule = "/quart/thread/<name>"
        self.app.add_url_rule(rule, "thread", lambda **arguments: work(rule, 3) or "done")

    def view(self, path, ms):
        async def view(**arguments):
            work(path, ms)
            await asyncio.sleep(0)
            work(path, 1)
            return "done"

        return view


class Litestar(ASGIRequests):
    paths = {"/litestar": "/litestar", "/litestar/{item}": "/litestar/7", "/litestar/thread/{name}": "/litestar/thread/you"}

    def __init__(self):
        from litestar import Litestar, get

        async def one() -> str:
            return await self.twice("/litestar", 2)

        async def item(item: int) -> str:
            return await self.twice("/litestar/{item}", 3)

        def thread(name: str) -> str:
            return work("/litestar/thread/{name}", 3) or "done"

        routes = [get("/litestar")(one), get("/litestar/{item:int}")(item), get("/litestar/thread/{name:str}", sync_to_thread=True)(thread)]
        self.app = Litestar(routes)

    async def twice(self, path, ms):
        work(path, ms)
        await asyncio.sleep(0)
        work(path, 1)
        return "done"


class FalconASGI(ASGIRequests):
    paths = {"/falcon": "/falcon", "/falcon/{item:int}": "/falcon/7"}

    def __init__(self):
        import falcon.asgi

        self.app = falcon.asgi.App()
        for n, path in enumerate(self.paths):
            self.app.add_route(path, self.resource(path, 3 + n))

    def resource(self, path, ms):
        class Resource:
            async def on_get(self, request, response, **arguments):
                work(path, ms)
                await asyncio.sleep(0)
                work(path, 1)

        return Resource()


class Served:
    """Requests to a server on a socket, from the same loop."""

    async def served(self, first):
        port, stop = await self.start()
        paths, n = list(self.paths.values()), first
        while requests.goes_on():
            n = after(n)
            reader, writer = await asyncio.open_connection("127.0.0.1", port)
            writer.write(b"GET %s HTTP/1.1\r\nHost: s\r\nConnection: close\r\n\r\n" % paths[n % len(paths)].encode())
            answer = await reader.read()
            assert answer.startswith(b"HTTP/1.1 200") and answer.endswith(b"done"), answer
            writer.close()
            work(None, 1)
        stop()


class Sanic(Served):
    paths = {"/": "/", "/sanic/<item:int>": "/sanic/7"}

    def __init__(self):
        import sanic

        self.app = sanic.Sanic("app", configure_logging=False)
        for n, path in enumerate(self.paths):
            self.app.add_route(self.view(path, 3 + n), path, name="view%d" % n)

    def view(self, path, ms):
        import sanic.response

        async def view(request, **arguments):
            work(path, ms)
            await asyncio.sleep(0)
            work(path, 1)
            return sanic.response.text("done")

        return view

    async def start(self):
        server = await self.app.create_server(host="127.0.0.1", port=0, return_asyncio_server=True)
        await server.startup()
        await server.start_serving()
        return server.server.sockets[0].getsockname()[1], server.close


class Tornado(Served):
    """Its values are the classes of its handlers."""

    paths = {"CartHandler": "/cart", "PayHandler": "/pay"}

    def get(self, name, ms):
        async def get(handler):
            work(name, ms)
            await asyncio.sleep(0)
            await asyncio.get_running_loop().run_in_executor(None, work, name, 2)
            handler.write("done")

        return get

    async def start(self):
        import tornado.httpserver
        import tornado.testing
        import tornado.web

        handlers = []
        for n, (name, path) in enumerate(self.paths.items()):
            members = {"get": self.get(name, 3 + n), "__qualname__": name}
            handlers.append((path, type(name, (tornado.web.RequestHandler,), members)))
        server, (socket, port) = tornado.httpserver.HTTPServer(tornado.web.Application(handlers)), tornado.testing.bind_unused_port()
        server.add_socket(socket)
        return port, server.stop


class AsyncGRPC:
    """Its values are the paths of its methods."""

    def __init__(self):
        async def cart(request, context):
            work("/shop.Shop/Cart", 2)
            await asyncio.gather(*(child() for _ in range(2)))
            work("/shop.Shop/Cart", 1)
            return b""

        async def child():
            await asyncio.sleep(0)
            work("/shop.Shop/Cart", 1, holds_gil=True)

        async def pay(request, context):
            for _ in range(2):
                work("/shop.Shop/Pay", 2)
                yield b""

        def ship(request, context):
            return work("/shop.Shop/Ship", 3) or b""

        import grpc

        of_kind = {"Cart": (grpc.unary_unary_rpc_method_handler, cart), "Pay": (grpc.unary_stream_rpc_method_handler, pay)}
        of_kind["Ship"] = (grpc.unary_unary_rpc_method_handler, ship)
        self.methods = grpc.method_handlers_generic_handler("shop.Shop", {name: of(function) for name, (of, function) in of_kind.items()})

    async def served(self, first):
        import grpc.aio

        server, n = grpc.aio.server(), first
        server.add_generic_rpc_handlers((self.methods,))
        port = server.add_insecure_port("127.0.0.1:0")
        await server.start()
        async with grpc.aio.insecure_channel("127.0.0.1:%d" % port) as channel:
            while requests.goes_on():
                n = after(n)
                if n % 3 == 0:
                    async for _ in channel.unary_stream("/shop.Shop/Pay")(b""):
                        pass
                else:
                    await channel.unary_unary("/shop.Shop/Cart" if n % 3 == 1 else "/shop.Shop/Ship")(b"")
                work(None, 1)
        await server.stop(None)


class ASGI:
    asynchronous = True

    def __init__(self):
        self.parts = [Quart(), Litestar(), FalconASGI(), Sanic(), Tornado(), AsyncGRPC()]

    async def several(self):
        await asyncio.gather(*(part.served(n) for n, part in enumerate(self.parts)))

    def run(self):
        asyncio.run(self.several())


NAMES = "cart", "pay", "ship"


class Queue:
    """Gives jobs to a queue whose workers run in this process."""

    def job(self, name, ms):
        def job():
            work(name, ms)

        job.__name__ = job.__qualname__ = name.replace(".", "_")
        return job

    def goes_on(self):
        return requests.goes_on()

    def run(self):
        n = 0
        while self.goes_on():
            n = after(n)
            self.give(n % len(NAMES))
            work(None, 1)
            time.sleep(0.02)
        time.sleep(0.2)
        self.end()


class Celery(Queue):
    pool = "threads"

    def __init__(self):
        import celery

        self.app = celery.Celery("app", broker="memory://", backend="cache+memory://")
        self.app.conf.update(worker_hijack_root_logger=False)
        self.tasks = [self.app.task(self.job("celery.%s" % name, 3 + n), name="celery.%s" % name) for n, name in enumerate(NAMES)]

    def give(self, n):
        self.tasks[n].delay()

    def run(self):
        from celery.contrib.testing.worker import start_worker

        with start_worker(self.app, perform_ping_check=False, pool=self.pool, concurrency=2):
            super().run()

    def end(self):
        pass


class CeleryPrefork(Celery):
    """The children write down what they use."""

    pool, given = "prefork", 0

    def goes_on(self):  # this process's clock has little of it
        return self.given < 40

    def job(self, name, ms):
        def job():
            before = requests.used.get(name, 0)
            work(name, 5 * ms)
            with open("used.txt", "a") as file:
                file.write("%s %d\n" % (name, requests.used[name] - before))

        return job

    def give(self, n):
        super().give(n)
        self.given += 1

    def end(self):
        lines, until = [], time.monotonic() + 20
        while len(lines) < self.given and time.monotonic() < until:
            time.sleep(0.1)
            lines = open("used.txt").readlines() if os.path.exists("used.txt") else []
        for line in lines:
            name, ns = line.split()
            requests.used[name] = requests.used.get(name, 0) + int(ns)


class CeleryGevent(Celery):
    pool = "gevent"

    def job(self, name, ms):
        def job():
            work(name, ms)
            time.sleep(0)  # lets other greenlets run
            work(name, 1)

        return job


class Dramatiq(Queue):
    def __init__(self):
        import dramatiq
        import dramatiq.brokers.stub

        broker = dramatiq.brokers.stub.StubBroker()
        dramatiq.set_broker(broker)
        self.actors = [dramatiq.actor(self.job("dramatiq_%s" % name, 3 + n)) for n, name in enumerate(NAMES)]
        self.worker = dramatiq.Worker(broker, worker_threads=2)
        self.worker.start()

    def give(self, n):
        self.actors[n].send()

    def end(self):
        self.worker.stop()


class Huey(Queue):
    def __init__(self):
        import huey

        app = huey.MemoryHuey()
        self.tasks = [app.task()(self.job("huey_%s" % name, 3 + n)) for n, name in enumerate(NAMES)]
        self.consumer = app.create_consumer(workers=2, periodic=False, initial_delay=0.01, max_delay=0.02)
        self.consumer.start()

    def give(self, n):
        self.tasks[n]()

    def end(self):
        self.consumer.stop()


class APScheduler(Queue):
    def __init__(self):
        from apscheduler.schedulers.background import BackgroundScheduler

        self.scheduler = BackgroundScheduler()
        self.scheduler.start()

    def give(self, n):
        name = "apscheduler %s" % NAMES[n]
        self.scheduler.add_job(self.job(name, 3 + n), name=name)

    def end(self):
        self.scheduler.shutdown()


class APSchedulerAsync:
    async def job(self, name, ms):
        work(name, ms)
        await asyncio.gather(self.child(name), self.child(name))

    async def child(self, name):
        await asyncio.sleep(0)
        work(name, 1, holds_gil=True)  # only then what awaits the task is known

    async def served(self):
        from apscheduler.schedulers.asyncio import AsyncIOScheduler

        scheduler, n = AsyncIOScheduler(), 0
        scheduler.start()
        while requests.goes_on():
            n = after(n)
            name = "coroutine %s" % NAMES[n % 3]
            scheduler.add_job(self.job, name=name, args=(name, 3 + n % 3))
            await asyncio.sleep(0.02)
        await asyncio.sleep(0.3)
        scheduler.shutdown()

    def run(self):
        asyncio.run(self.served())


def rq_cart():
    work("frameworks_served.rq_cart", 4)


async def rq_pay():
    work("frameworks_served.rq_pay", 3)
    await asyncio.sleep(0)
    work("frameworks_served.rq_pay", 3)


class RQ:
    def __init__(self):
        import fakeredis
        import rq

        redis = fakeredis.FakeStrictRedis()
        self.queue = rq.Queue(connection=redis)
        self.worker = rq.SimpleWorker([self.queue], connection=redis)
        self.worker.log.disabled = True

    def run(self):
        while requests.goes_on():
            for name in "rq_cart", "rq_pay", "rq_cart":
                self.queue.enqueue("frameworks_served.%s" % name)
            self.worker.work(burst=True)


class Queues(Several):
    def __init__(self):
        self.parts = [Celery(), Dramatiq(), Huey(), APScheduler(), APSchedulerAsync(), RQ()]
        self.in_main = self.parts[-1]


class Prefect:
    """Tasks of a flow, in its thread, in threads and in an event loop."""

    def __init__(self):
        import prefect

        self.names = ["prefect %s" % name for name in NAMES]
        self.tasks = [prefect.task(self.job(name, 20), name=name) for name in self.names[:2]]
        self.later = prefect.task(self.coroutine, name=self.names[2])
        self.flow = prefect.flow(self.etl, name="prefect flow")
        self.all_flow = prefect.flow(self.etl_later, name="prefect flow later")

    def job(self, name, ms):
        return lambda: work(name, ms)

    async def coroutine(self):
        work(self.names[2], 20)
        await asyncio.sleep(0)
        work(self.names[2], 20)

    def etl(self):
        while requests.goes_on():
            work("prefect flow", 10)
            self.tasks[0]()
            for future in [task.submit() for task in self.tasks]:
                future.result()

    async def etl_later(self):
        for _ in range(20):
            await self.later()

    def run(self):
        self.flow()
        asyncio.run(self.all_flow())


class Strawberry:
    def __init__(self):
        import strawberry

        def resolve(name: str) -> str:
            return work(name, 4) or "done"

        async def later(name: str) -> str:
            work(name, 2, holds_gil=True)
            await asyncio.sleep(0)
            return work(name, 2, holds_gil=True) or "done"

        fields = {"now": strawberry.field(resolver=resolve), "later": strawberry.field(resolver=later)}
        query = type("Query", (), {**fields, "__annotations__": {"now": str, "later": str}})
        self.schema = strawberry.Schema(strawberry.type(query))

    def run(self):
        n = 0
        while requests.goes_on():
            n = after(n)
            name = "GetCart" if n % 2 else "GetPay"
            result = self.schema.execute_sync('query %s { now(name: "%s") }' % (name, name), operation_name=name)
            assert not result.errors, result.errors
            query = 'query %s { one: later(name: "%s"), two: later(name: "%s") }' % (name, name, name)
            result = asyncio.run(self.schema.execute(query, operation_name=name))
            assert not result.errors, result.errors


class IPython:
    def __init__(self):
        from IPython.core.interactiveshell import InteractiveShell

        self.cells = ["first_cell()", "second_cell()  # with a comment"]
        names = {"first_cell": lambda: work(self.cells[0], 5), "second_cell": lambda: work(self.cells[1], 8)}
        self.shell = InteractiveShell(user_ns=names)

    def run(self):
        n = 0
        while requests.goes_on():
            n = after(n)
            assert self.shell.run_cell(self.cells[n % 2] + "\nx = 1").success


class Cells(Several):
    def __init__(self):
        self.parts = [Strawberry(), IPython()]
        self.in_main = self.parts[-1]


class Pytest:
    """Runs tests, with a fixture that uses CPU too."""

    def __init__(self):
        os.makedirs("tests_run/sub", exist_ok=True)
        text = """
import time, pytest, requests_served, os
def use(ms):
    requests_served.work(os.environ["PYTEST_CURRENT_TEST"].rsplit(" (", 1)[0], ms)
@pytest.fixture
def made():
    use(15)
    yield
    use(8)
@pytest.mark.parametrize("n", range(6))
def test_cart(made, n):
    use(10 + 8 * n)
class TestPay:
    def test_pay(self):
        use(40)
"""
        for name in "test_one.py", "sub/test_two.py":
            with open("tests_run/" + name, "w") as file:
                file.write(text)

    def run(self):
        import pytest

        os.chdir("tests_run")
        stdout, sys.stdout = sys.stdout, sys.stderr
        assert pytest.main(["-q", "-p", "no:cacheprovider", "."]) == 0
        sys.stdout = stdout


groups = {"wsgi": WSGI, "asgi": ASGI, "queues": Queues, "prefect": Prefect, "cells": Cells, "prefork": CeleryPrefork, "gevent": CeleryGevent, "tests": Pytest}
if __name__ == "__main__":
    sys.modules["frameworks_served"] = sys.modules["__main__"]  # RQ imports its jobs
    requests.serve(groups[sys.argv[1]](), float(sys.argv[2]), does_more=True)
