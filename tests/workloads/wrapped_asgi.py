"""ASGI applications, each of which is there twice: bare below /bare/, in libpyprof.asgi() below /wrapped/. What a server makes of
one must be what it makes of the other. Started as a program, it compares what uvicorn takes them for."""
import asyncio
import contextlib
import functools
import sys

import libpyprof

START = {"type": "http.response.start", "status": 200, "headers": [(b"content-type", b"text/plain")]}
events = []  # of the application that was asked last


async def answer(send, body=b"answer", **more):
    await send({"type": "http.response.body", "body": body, **more})


async def plain(scope, receive, send):
    await send(START)
    await answer(send)
    return "a value"


async def streams(scope, receive, send):
    await send(START)
    for part in b"one", b"two":
        await asyncio.sleep(0)
        await answer(send, part, more_body=True)
    await answer(send)


async def echoes(scope, receive, send):
    message = await receive()
    await send(START)
    await answer(send, message["body"])


async def fails(scope, receive, send):
    raise KeyError("on purpose")


async def fails_in_the_middle(scope, receive, send):
    await send(START)
    await answer(send, b"one", more_body=True)
    raise KeyError("on purpose")


async def by_name(scope, receive, send):
    await send(message=START)
    await answer(send)


async def odd_messages(scope, receive, send):
    for message in {}, {"type": None}, None, [], {"status": 200}, "http.response.start":
        try:
            await send(message)
        except Exception as error:
            events.append(f"{type(error).__name__} {error}")
    with contextlib.suppress(Exception):
        await send(START)
    await answer(send)


async def in_tasks(scope, receive, send):
    async def part(message):
        await send(message)

    await asyncio.create_task(part(START))
    await asyncio.gather(asyncio.sleep(0), asyncio.wait_for(asyncio.sleep(0), 1))
    await asyncio.get_running_loop().run_in_executor(None, sum, [1])
    await asyncio.create_task(answer(send))


async def cancels(scope, receive, send):
    task = asyncio.current_task()
    asyncio.get_running_loop().call_soon(task.cancel)
    try:
        await asyncio.sleep(10)
    except asyncio.CancelledError:
        events.append("cancelled")
    await send(START)
    await answer(send)


async def sees(scope, receive, send):
    seen = [sorted(scope), type(scope).__name__, send.__class__.__name__, send.__name__, send.__self__.__class__.__name__]
    seen += [asyncio.iscoroutinefunction(send), asyncio.iscoroutinefunction(receive), hasattr(send, "__wrapped__")]
    await send(START)
    await answer(send, str(seen).encode())


class Framework:
    """What a program may do with its application after it was wrapped."""

    def __init__(self):
        self.routes = []
        self.state = {}

    def route(self, function):
        self.routes.append(function)
        return function

    async def __call__(self, scope, receive, send):
        await send(START)
        for route in self.routes:
            await answer(send, await route())


def callable_of(scope, receive, send):
    return plain(scope, receive, send)


class Two:
    """An application of ASGI 2."""

    def __init__(self, scope):
        self.scope = scope

    async def __call__(self, receive, send):
        await plain(self.scope, receive, send)


def two(scope):
    return Two(scope)


def make(wrap):
    framework = wrap(Framework())
    framework.state["set"] = True

    @framework.route
    async def route():
        return b"of a framework"

    assert isinstance(framework, Framework) and framework.state and framework == framework
    applications = {"plain": plain, "streams": streams, "echoes": echoes, "fails": fails, "fails-in-the-middle": fails_in_the_middle}
    applications.update({"by-name": by_name, "odd-messages": odd_messages, "in-tasks": in_tasks, "cancels": cancels, "sees": sees})
    applications.update({"callable": callable_of, "partial": functools.partial(plain), "method": Framework().__call__})
    wrapped = {name: wrap(application) for name, application in applications.items()}
    wrapped["twice"] = wrap(wrap(plain))

    async def mounts(scope, receive, send):
        await wrapped["echoes"](dict(scope, path="/mounted"), receive=receive, send=send)

    wrapped["mounted"] = wrap(mounts)
    wrapped["framework"] = framework
    return wrapped


made = {"bare": make(lambda application: application), "wrapped": make(libpyprof.asgi)}


async def app(scope, receive, send):
    if scope["type"] != "http":
        return await made["wrapped"]["plain"](scope, receive, send) if scope["type"] != "lifespan" else None
    _, how, name = scope["path"].split("/")
    if how not in ("names", "events"):
        del events[:]
        return await made[how][name](scope, receive, send)
    body = " ".join(made["bare"] if how == "names" else events).encode()
    await send(dict(START, headers=[(b"content-length", str(len(body)).encode())]))
    await answer(send, body)


def interface(application):
    import uvicorn

    config = uvicorn.Config(application)
    config.load()
    return config.interface, config.loaded_app.__class__


async def asked(application):
    """What an application answers without a server, and is not asked for by HTTP."""
    answers = []

    async def send(message):
        answers.append(message)

    for scope in {"type": "lifespan"}, {"path": "/"}, {}, {"type": "http"}, {"type": "http", "path": None, "headers": None}:
        try:
            answers.append(await application(scope, None, send))
        except Exception as error:
            answers.append(repr(error))
    return answers


if __name__ == "__main__":
    for application in plain, Framework(), Framework().__call__, functools.partial(plain), Two, two:
        bare, wrapped = interface(application), interface(libpyprof.asgi(application))
        assert bare == wrapped, (application, bare, wrapped)
    for application in plain, callable_of:
        bare, wrapped = asyncio.run(asked(application)), asyncio.run(asked(libpyprof.asgi(application)))
        assert bare == wrapped, (bare, wrapped)
    sent = []

    async def take(message):
        sent.append(message)

    asyncio.run(libpyprof.asgi(Two)({"type": "http"})(None, take))
    assert sent[0] is START, sent
    assert "pyprof" not in " ".join(dir(libpyprof.asgi(plain))), dir(libpyprof.asgi(plain))
    sys.exit(0)
