# contrib/python/libpyprof: what a program may tell the profiler that it runs under.
load lib/helper

setup() {
    prepare
    cp -r "$ROOT/contrib/python/libpyprof" "$WORKLOADS/cpu.py" .
    PYTHONPATH=$PWD
    export PYTHONPATH PYTHONDONTWRITEBYTECODE=1
}

inert_without_the_library() {
    "$PYTHON" - <<'END'
import sys

before = set(sys.modules)
import libpyprof

# Nothing else is loaded: that is what an import costs.
new = set(sys.modules) - before - {"libpyprof", "__future__", "contextvars", "_contextvars"}
assert not new, new
assert not libpyprof.is_active()
libpyprof.pause()
libpyprof.resume()
libpyprof.resume()


class Lazy:
    def __str__(self):
        raise AssertionError("the module has called this")


labels = libpyprof.labels(endpoint=Lazy())
with labels, labels:
    assert libpyprof.pyprof_labels.get(None) is None and not libpyprof._scopes.get()
assert libpyprof.wsgi(Lazy) is Lazy and libpyprof.asgi(Lazy) is Lazy
libpyprof.request(Lazy(), Lazy())
libpyprof.task_creators()
new = set(sys.modules) - before
assert not [name for name in new if name.startswith("libpyprof.")], new
sys.modules["ctypes"] = None  # a Python without it
libpyprof._library = None
assert not libpyprof.is_active()
libpyprof.pause()
END
}

@test "without the library the module does nothing, and loads nothing but contextvars" {
    with_each_python inert_without_the_library
}

@test "pause and resume are counted; in all threads and in forked children, [paused] has what is used meanwhile" {
    cat >paused.py <<'END'
import os, sys, threading
from cpu import spin
import libpyprof


def seen():
    spin(0.3)


def hidden(result):
    result.append(spin(0.3))


assert libpyprof.is_active()
libpyprof.resume()  # one too many
seen()
result = []
libpyprof.pause()
libpyprof.pause()
assert not libpyprof.is_active()
hidden(result)
libpyprof.resume()
assert not libpyprof.is_active()
thread = threading.Thread(target=hidden, args=(result,))
thread.start()
thread.join()
child = os.fork()
if not child:
    sys.stdout = None
    hidden(result)
    assert not libpyprof.is_active()
    libpyprof.resume()
    assert libpyprof.is_active()
    os._exit(0)
assert os.waitpid(child, 0)[1] == 0
libpyprof.resume()
assert libpyprof.is_active()
seen()
print(int((sum(result) + 0.3) * 1e9))
END
    paused_ns=$("$PYPROF" run -- "$PYTHON" paused.py 2>run.err) || fail "$(cat run.err)"
    collapsed >stacks.txt
    ! grep 'hidden' stacks.txt || fail "samples while it was paused"
    grep -q ';seen ' stacks.txt || fail "$(cat stacks.txt)"
    cpu_near "$(awk '/^\[paused\] / { sum += $NF } END { printf "%.0f", sum }' stacks.txt)" "$paused_ns" 12 "[paused]"
    "$PYPROF" report --full >report.txt
    grep -qE '\[paused\]$' report.txt || fail "$(cat report.txt)"
    "$PYPROF" info >info.txt
    grep -qE '^ *paused: [0-9]+$' info.txt || fail "$(cat info.txt)"
}

labels_are_bytes() {
    cat >labels.py <<'END'
import asyncio
import contextlib
import contextvars
import copy
import pickle
import threading
import libpyprof
from libpyprof import labels, pyprof_labels


def now():
    return pyprof_labels.get(b"") or b"none"


with labels(endpoint="/cart", tenant=7):
    assert now() == b"endpoint=/cart;tenant=7", now()
    with labels(tenant=8, a="1;2=3\n4%", b="\u00e9"):
        assert now() == b"endpoint=/cart;tenant=8;a=1%3B2%3D3%0A4%25;b=\xc3\xa9", now()
        with labels(long="x" * 300):
            assert now() == b"endpoint=/cart;tenant=8;a=1%3B2%3D3%0A4%25;b=\xc3\xa9", now()
    with labels():
        assert now() == b"endpoint=/cart;tenant=7", now()
    assert now() == b"endpoint=/cart;tenant=7", now()
assert now() == b"none", now()
with labels(key="x" * 252):
    assert len(now()) == 256, now()
    with labels(more=1):
        assert len(now()) == 256, now()
with labels(key="x" * 253):
    assert now() == b"none", now()
try:
    with labels(endpoint="/"):
        raise KeyError
except KeyError:
    assert now() == b"none", now()


async def task(name):
    with labels(name=name):
        await asyncio.sleep(0.01)
        assert now() == b"name=" + name.encode(), now()


async def tasks():
    await asyncio.gather(task("a"), task("b"))


asyncio.run(tasks())


def application(environ, start_response):
    assert now() == b"endpoint=/users/*/orders;method=GET", now()
    start_response("200 OK", [])
    return [b"whole"]


def streaming(environ, start_response):
    start_response("200 OK", [])
    yield now()
    yield b"end"


environ = {"PATH_INFO": "/users/4711/orders", "REQUEST_METHOD": "GET"}
body = libpyprof.wsgi(application)(environ, lambda *_: None)
assert body == [b"whole"] and now() == b"none"
body = libpyprof.wsgi(streaming)({"SCRIPT_NAME": "/v2", "PATH_INFO": "/4f1c0a9e-7d61-4be4", "REQUEST_METHOD": "PUT"}, lambda *_: None)
assert list(body) == [b"endpoint=/v2/*;method=PUT", b"end"] and now() == b"none"


# An object in scopes that are within each other, in several tasks and threads, and that end in another order.
again = labels(tenant="again")


def within(depth):
    with again:
        if depth:
            within(depth - 1)
        assert now() == b"tenant=again"


async def at_once(n):
    with again:
        await asyncio.sleep(0.001 * n)
    return now()


async def several():
    return await asyncio.gather(at_once(1), at_once(3), at_once(2))


def in_thread(found):
    for _ in range(2000):
        with again:
            pass
    found.append(now())


def part(name):
    with labels(part=name):
        yield


def deep(depth):
    with labels(depth=depth, tenant="deep"):
        assert now() == b"depth=%d;tenant=deep" % depth
        if depth:
            deep(depth - 1)


async def chain(left):
    with labels(left=left):
        assert now() == b"left=%d" % left
        if left:
            await asyncio.ensure_future(chain(left - 1))


def stays(times):
    for n in range(times):
        with labels(n=n):
            pass
        again.__exit__(None, None, None)  # of a scope that is not there
        assert now() == b"tenant=outer", now()


def left_inside(n):
    with labels(tenant="inner"), labels(n=n):
        if n:
            left_inside(n - 1)


class Text(str):
    def fails(self, *arguments):
        raise RuntimeError

    encode = replace = split = isdigit = fails

    def __str__(self):
        return self


async def goes_on(n, done):
    labels(never="left").__enter__()
    with labels(n=n):
        assert now() == b"never=left;n=%d" % n and libpyprof._scopes.get().depth < 100, (n, now())
        asyncio.ensure_future(goes_on(n - 1, done)) if n else done.set_result(None)


async def go_on():
    done = asyncio.get_running_loop().create_future()
    asyncio.ensure_future(goes_on(1000, done))
    await asyncio.wait_for(done, 20)


within(3)
deep(100)
assert now() == b"none"
asyncio.run(chain(100))
with labels(tenant="outer"):
    stays(3)
    left_inside(200)
    stays(100)
    with contextlib.ExitStack() as stack:
        for n in range(500):
            stack.enter_context(labels(n=n, tenant=n % 2))
            again.__exit__(None, None, None)
        assert now() == b"tenant=1;n=499", now()
    stays(3)
assert now() == b"none"
asyncio.run(go_on())
with labels(**{Text("endpoint"): Text("/text")}):
    assert now() == b"endpoint=/text", now()
    libpyprof.request(Text("/text"), 1)
copied = copy.copy(pickle.loads(pickle.dumps(again)))
with again:
    with copied:
        assert now() == b"tenant=again"
    with copied:
        pass
    assert now() == b"tenant=again"
assert now() == b"none"
assert asyncio.run(several()) == [b"none"] * 3 and now() == b"none"
found = []
threads = [threading.Thread(target=in_thread, args=(found,)) for _ in range(4)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
assert found == [b"none"] * 4, found


def other_order():
    parts = [part("a"), part("b")]
    for one in parts:
        next(one)
    parts[0].close()
    assert now() == b"part=b", now()
    contextvars.copy_context().run(parts[1].close)


contextvars.copy_context().run(other_order)
assert now() == b"none"


async def served(scope, receive, send):
    await send({"type": "http.response.start", "labels": now()})


async def requests():
    sent = []

    async def send(message):
        sent.append(message["labels"])

    for scope in {"type": "http", "path": "/a", "method": "POST"}, {"type": "websocket", "path": "/b"}, {"type": "lifespan"}:
        await libpyprof.asgi(served)(scope, None, send)
    assert sent == [b"endpoint=/a;method=POST", b"endpoint=/b;method=websocket", b"none"], sent


asyncio.run(requests())
END
    timeout 60 "$PYPROF" run -- "$PYTHON" labels.py 2>run.err || fail "$(cat run.err)"
}

@test "labels: nested, of each task, encoded, 256 bytes at most; WSGI and ASGI applications have endpoint and method" {
    with_each_python labels_are_bytes
}

# label_near KEY VALUE NS: what report --by says of this value of a label.
label_near() {
    "$PYPROF" report --json --by "label:$1" >by.json
    cpu_near "$(judge 'print(sum(row["cpu_ns"] for row in json.load(open("by.json"))["by"] if row["value"] == sys.argv[1]))' "$2")" "$3" 30 "$1 $2"
}

@test "report --by label: has what ran with labels, of nested scopes and of tasks" {
    cat >labelled.py <<'END'
import asyncio
from cpu import spin
from libpyprof import labels


async def part(name):
    with labels(part=name):
        for i in range(200):
            spin(0.001 + i * 37 % 101 * 6e-5)  # in step with nothing
            await asyncio.sleep(0)


async def parts():
    await asyncio.gather(part("a"), part("b"))


with labels(tenant=7):
    spin(0.8)
    with labels(tenant="8=\u00e9;%", part="c"):
        spin(0.8)
asyncio.run(parts())
END
    "$PYPROF" run -- "$PYTHON" labelled.py 2>run.err || fail "$(cat run.err)"
    label_near tenant 7 800000000
    label_near tenant '8=é;%' 800000000
    label_near part a 800000000
    label_near part b 800000000
    label_near part c 800000000
}

# The module has another variable then, in the same dict: an import that is complete is found like one that begins.
@test "labels of a module that is loaded again while imports go on" {
    cat >reloads.py <<'END'
import importlib, sys, threading, time, types
from cpu import spin
import libpyprof


def import_more():
    for i in range(1000000):
        sys.modules[f"more{i}"] = types.ModuleType(f"more{i}")
        time.sleep(0.02)


threading.Thread(target=import_more, daemon=True).start()
with libpyprof.labels(tenant="before"):
    spin(1)
importlib.reload(libpyprof)
with libpyprof.labels(tenant="after"):
    spin(1.5)
END
    profiled "$PYTHON" reloads.py
    label_near tenant before 1000000000
    label_near tenant after 1500000000
}

# Where root has no directory yet nothing is saved in the first second, and modules are searched all the same.
@test "labels of a program of half a second are known once they are set, those of its own module soon" {
    cat >imported.py <<'END'
from cpu import spin

spin(0.15)
from libpyprof import labels

with labels(tenant=7):
    spin(0.3)
END
    cat >found.py <<'END'
import sys
import types
from contextvars import ContextVar
from cpu import spin

spin(0.15)
sys.modules["libpyprof"] = module = types.ModuleType("libpyprof")
module.pyprof_labels = ContextVar("pyprof_labels")
module.pyprof_labels.set(b"tenant=7")
spin(0.5)
END
    profiled "$PYTHON" imported.py
    label_near tenant 7 300000000
    rm -rf pyprof.out
    profiled "$PYTHON" found.py
    label_near tenant 7 500000000
}

# bats test_tags=long
@test "the module's types are right for mypy" {
    # shellcheck disable=SC2034 # venv_with's
    PYTHON=$(matching_pythons 3.12) VERSION=3.12
    with_packages mypy pytest
    "$VENV/bin/mypy" --strict --cache-dir=none libpyprof >mypy.txt || fail "$(cat mypy.txt)"
}

creators_are_labels() {
    cat >creators.py <<'END'
import asyncio
import contextvars
import sys
import libpyprof
from libpyprof import labels, pyprof_labels

VERSION = sys.version_info[:2]
mine = contextvars.ContextVar("mine")


def now():
    return pyprof_labels.get(b"") or b"none"


async def child():
    first = now()
    await asyncio.sleep(0)
    assert now() == first, (first, now())
    return first


async def grandchild():
    asyncio.current_task().set_name("x")
    return await asyncio.ensure_future(child())


async def checks(eager=False):
    create = asyncio.get_running_loop().create_task
    assert await create(child()) == b"creator=main", await create(child())
    assert await asyncio.gather(child(), child()) == [b"creator=main"] * 2
    assert await create(grandchild()) == b"creator=x"
    with labels(tenant=7):
        assert await create(child()) == b"tenant=7;creator=main"
        assert now() == b"tenant=7"
    assert now() == b"none"
    asyncio.current_task().set_name("Task-17")
    assert await create(child()) == b"creator=main"
    task = create(child())
    task.set_name("a name")
    await task
    assert task.get_name() == "a name"
    if VERSION >= (3, 11):
        context = contextvars.copy_context()
        context.run(mine.set, "of the context")
        assert await create(child(), name="b", context=context) == b"creator=main"
        assert context[pyprof_labels] == b"creator=main" and now() == b"none"

        async def same():
            assert mine.get() == "of the context"
            return await create(child(), context=context)

        if not eager:  # which cannot be started in the context that the creator runs in
            assert await create(same(), context=context) == b"creator=main"
        async with asyncio.TaskGroup() as group:
            task = group.create_task(child())
        assert task.result() == b"creator=main"


class Foreign(asyncio.Future):
    """As little of a task as asyncio asks for."""

    def __init__(self, coroutine, loop):
        super().__init__(loop=loop)
        self.coroutine = coroutine
        loop.call_soon(self.step)

    def step(self, future=None):
        loop = self.get_loop()
        asyncio.tasks._enter_task(loop, self)
        try:
            result = self.coroutine.send(None)
        except StopIteration as stop:
            self.set_result(stop.value)
        except BaseException as error:
            self.set_exception(error)
        else:
            if result is None:
                loop.call_soon(self.step)
            else:
                result._asyncio_future_blocking = False
                result.add_done_callback(self.step)
        finally:
            asyncio.tasks._leave_task(loop, self)

    def set_name(self, name):
        pass


def foreign(loop, coroutine, **options):
    return Foreign(coroutine, loop)


async def by_foreign(loop):
    return await loop.create_task(child())


async def main(factory):
    loop = asyncio.get_running_loop()
    made = []

    def counted(loop, coroutine, **options):
        made.append(coroutine)
        return (factory or asyncio.Task)(*((loop, coroutine) if factory else (coroutine,)),
                                         **(options if factory else dict(options, loop=loop)))

    asyncio.current_task().set_name("main")
    before = loop.get_task_factory()
    libpyprof.task_creators()
    if not libpyprof.is_active():
        assert loop.get_task_factory() is before
        return "not loaded"
    if "set_name" in asyncio.BaseEventLoop.create_task.__code__.co_names:  # 3.13.0
        assert loop.get_task_factory() is before
        assert (loop.create_task(child())).get_name().startswith("Task-")
    else:
        await checks()
    loop.set_task_factory(foreign)
    libpyprof.task_creators(loop)
    assert await loop.create_task(by_foreign(loop)) == b"creator=main"  # inherited: the creator has no name
    loop.set_task_factory(counted)
    libpyprof.task_creators(loop)
    await checks(factory is not None)
    assert len(made) > 5
    return "loaded"


print(asyncio.run(main(None)))
if VERSION >= (3, 12):
    print(asyncio.run(main(asyncio.eager_task_factory)))
END
    "$PYTHON" creators.py >out.txt
    ! grep -qx 'loaded' out.txt || fail "loaded without the library"
    timeout 60 "$PYPROF" run -- "$PYTHON" creators.py >out.txt 2>run.err || fail "$(cat run.err)"
    ! grep -qx 'not loaded' out.txt
}

@test "task_creators: tasks have their creator as a label, whatever makes them; not without the library" {
    with_each_python creators_are_labels
}

@test "report --by label:creator has what tasks used that a task has left in the background" {
    cat >background.py <<'END'
import asyncio
from cpu import spin
import libpyprof


async def background():
    for _ in range(40):
        spin(0.01)
        await asyncio.sleep(0)


async def orders():
    asyncio.ensure_future(background())


async def main():
    asyncio.get_running_loop().set_task_factory(lambda loop, coroutine, **options: asyncio.Task(coroutine, loop=loop, **options))
    libpyprof.task_creators()
    await asyncio.gather(orders(), background())
    await asyncio.gather(*asyncio.all_tasks() - {asyncio.current_task()})


spin(1.1)  # until the library has found the module
asyncio.run(main())
END
    "$PYPROF" run -- "$PYTHON" background.py 2>run.err || fail "$(cat run.err)"
    label_near creator orders 400000000
    label_near creator main 400000000
}

names_that_fail() {
    cat >names.py <<'END'
import asyncio, sys, types
import libpyprof


class Route:
    """A route of the program's own, as Starlette takes it: without a pattern."""

    endpoint = None


class Router:
    routes = [Route()]


async def application(scope, receive, send):
    scope.update(router=Router(), endpoint=None)
    await send({"type": "http.response.start", "status": 200})
    if scope["path"] == "/raises":
        raise ValueError("the program's own")


async def ask(path):
    sent = []

    async def send(message):
        sent.append(message["type"])

    await libpyprof.asgi(application)({"type": "http", "path": path, "method": "GET"}, None, send)
    return sent


assert asyncio.run(ask("/")) == ["http.response.start"]
try:
    asyncio.run(ask("/raises"))
    sys.exit("not raised")
except ValueError as error:
    assert str(error) == "the program's own"

for name in "greenlet", "flask", "django":  # as while another thread imports it
    sys.modules[name] = types.ModuleType(name)
    assert libpyprof.wsgi(lambda environ, start: start("200 OK", []) or [b"x"])({}, lambda *_: None) == [b"x"]
END
    "$PYTHON" names.py
    timeout 60 "$PYPROF" run -- "$PYTHON" names.py 2>run.err || fail "$(cat run.err)"
}

@test "wsgi() and asgi(): an application whose names cannot be found answers as without them" {
    with_each_python names_that_fail
}

operators() {
    cat >operators.py <<'END'
import copy, gc, inspect, pickle, sys, weakref
import libpyprof


class Operators:
    def __call__(self, environ, start_response=None):
        return [b"x"]

    def __or__(self, other):
        return "or"

    __ror__ = __lt__ = __matmul__ = __or__
    __format__ = lambda self, how: "formatted " + how
    __ne__ = lambda self, other: "ne"
    __instancecheck__ = __subclasscheck__ = lambda self, other: True
    __sizeof__ = lambda self: 4711
    __len__ = staticmethod(lambda: 3)


class Meta(type):
    __getitem__ = lambda cls, key: (cls.__name__, key)


class Class(metaclass=Meta):
    def __init__(self, environ, start_response):
        pass

    def __iter__(self):
        yield b"x"

    def __or__(self, other):  # of its objects, not its own
        return "or"


def function(environ, start_response):
    yield b"x"


def described(call, *arguments):
    try:
        return str(call(*arguments))
    except BaseException as error:
        return type(error).__name__


def subclass(base):
    class Sub(base):
        def __init__(self):
            super().__init__({}, None)

    return [kind.__name__ for kind in Sub.__mro__], isinstance(Sub(), base), issubclass(Sub, base), list(Sub())


ASKED = {
    "operators": ("a | 1", "1 | a", "a < 1", "a @ 1", "a != a", "format(a, '>')", "isinstance(1, a)", "issubclass(int, a)", "len(a)", "-a",
                  "a[1]", "sys.getsizeof(a) > 4700", "inspect.signature(a)", "bool(a)", "a > 1"),
    "kind": ("isinstance(a({}, None), a)", "isinstance(1, a)", "issubclass(real, a)", "subclass(a)", "a['k']", "a | None", "None | a",
             "inspect.signature(a)", "pickle.loads(pickle.dumps(a)) is a", "copy.copy(a) is a", "copy.deepcopy([a])[0] is a"),
    "function": ("inspect.signature(a)", "copy.copy(a) is a", "copy.deepcopy([a])[0] is a", "isinstance(1, a)", "a | 1",
                 "all(pickle.loads(pickle.dumps(a, n)) is a for n in range(5))", "pickle.loads(pickle._dumps(a)) is a"),
    "nothing": ("a is None",),
}
reals = {"operators": Operators(), "kind": Class, "function": function, "nothing": None}
for wrap in libpyprof.wsgi, libpyprof.asgi:
    for name, asked in ASKED.items():
        real = reals[name]
        for expression in asked:
            a = real
            plain = described(eval, expression, globals())
            a = wrap(real)
            Class, function = (a if name == "kind" else Class), (a if name == "function" else function)
            wrapped = described(eval, expression, globals())
            assert plain == wrapped, (wrap, name, expression, plain, wrapped)
            Class, function = reals["kind"], reals["function"]


class Held:
    pass


def ends(how):
    """A generator that is closed, or that an error is thrown into."""
    held = Held()
    seen.append(weakref.ref(held))
    try:
        yield 1
    except GeneratorExit:
        if how == "value":
            return "closed"
        if how == "again":
            yield 2
        raise
    except KeyError:
        if how == "raises":
            raise
        yield "thrown"
    yield "next"


def thrown(body, error):
    return next(body), body.throw(error), next(body)


def closed(body):
    return next(body), body.close()


gc.disable()
for how in "value", "again", "raises", "goes on":
    for call in closed, lambda body: thrown(body, KeyError(1)), lambda body: thrown(body, GeneratorExit()):
        seen = []
        plain = described(call, ends(how))
        assert plain == described(call, libpyprof.wsgi(lambda environ, start: ends(how))({}, None)), (how, plain)
        assert (seen[0]() is None) == (seen[1]() is None), how  # without the cycle collector
END
    "$PYTHON" operators.py
    timeout 60 "$PYPROF" run -- "$PYTHON" operators.py 2>run.err || fail "$(cat run.err)"
}

@test "what wsgi() and asgi() return has the application's operators, classes, copies and signature; bodies end as without" {
    with_each_python operators
}

asgi_is_transparent() {
    cat >ends.py <<'END'
import asyncio, contextvars, gc, traceback
import libpyprof

var = contextvars.ContextVar("var", default="outside")
seen = []


async def application(scope, receive, send):
    var.set("inside")
    how = scope["how"]
    try:
        await asyncio.sleep(0)
        if how == "raises":
            raise ValueError("the program's own")
        if how == "exits":
            raise SystemExit(3)
        if how == "times out":
            try:
                await asyncio.wait_for(asyncio.sleep(10), 0.01)
            except asyncio.TimeoutError:
                seen.append("timeout")
        if how == "goes on":
            try:
                await asyncio.sleep(10)
            except asyncio.CancelledError:
                seen.append("went on")
        if how == "waits":
            await asyncio.sleep(10)
        if how == "driven":
            await Awaitable()
        return {"tuple": (1, 2), "error": KeyError("returned")}.get(how)
    except BaseException as error:
        seen.append(type(error).__name__)
        raise
    finally:
        seen.append(how)


class Awaitable:
    def __await__(self):
        yield "first"
        return "awaitable"


def described(call):
    try:
        return repr(call())
    except BaseException as error:
        names = [frame.name for frame in traceback.extract_tb(error.__traceback__)]
        return repr(error), repr(error.__context__), [name for name in names if name not in ("counted", "send", "throw")]


def asked(served, how):
    return served({"type": "http", "path": "/", "method": "GET", "how": how}, None, None)


async def request(served, how):
    task = asyncio.ensure_future(asked(served, how))
    await asyncio.sleep(0.02)
    if how in ("waits", "goes on"):
        task.cancel()
    try:
        return await task
    finally:
        seen.append(var.get())


def driven(served, end):
    coroutine = asked(served, "driven")
    coroutine.send(None)
    assert coroutine.send(None) == "first"
    return end(coroutine)


async def counted(scope, receive, send):
    return await application(scope, receive, send)


def ends(served):
    del seen[:]
    var.set("outside")
    ways = "raises", "times out", "goes on", "waits", "tuple", "error", "returns"
    results = [described(lambda: asyncio.run(request(served, how), debug=True)) for how in ways]
    calls = [lambda c: c.close(), lambda c: c.throw(KeyError("thrown")), lambda c: c.throw(GeneratorExit()), lambda c: c.send(None)]
    results += [described(lambda: driven(served, call)) for call in calls]
    driven(served, lambda c: None)
    gc.collect()
    exits = asked(served, "exits")
    exits.send(None)
    return results, described(lambda: exits.send(None)), seen[:]


plain, measured = ends(counted), ends(libpyprof.asgi(application))
assert plain == measured, f"{plain}\n{measured}"
called = []


def at_call(scope, receive, send):
    called.append(scope)
    return {"fails": called}[scope["how"]] if scope["how"] != "waits" else application(scope, receive, send)


async def of_one(scope):
    pass


try:
    libpyprof.asgi(of_one)({"type": "http"}, None, None)
    raise SystemExit("not raised by the call")
except TypeError:
    pass
for served in at_call, libpyprof.asgi(at_call):
    try:
        asked(served, "raises")
        raise SystemExit("not raised by the call")
    except KeyError:
        asked(served, "waits").close()
assert len(called) == 4
other = asked(libpyprof.asgi(lambda *arguments: Awaitable()), "")
other.send(None)
assert described(lambda: other.send(None))[0] == repr(StopIteration("awaitable"))
END
    timeout 60 "$PYPROF" run -- "$PYTHON" -W error ends.py 2>run.err || fail "$(cat run.err)"
    ! grep 'never awaited' run.err || fail "$(cat run.err)"
    "$PYPROF" report --json --by endpoint | judge '
rows = [row for row in json.load(sys.stdin)["by"] if row["value"] == "/"]
assert rows[0]["requests"] == 15 and rows[0]["measured_requests"] == 13, rows'
}

@test "asgi(): cancellation, errors, what is thrown, closed, dropped and returned are as without it" {
    with_each_python asgi_is_transparent
}

mounted_once() {
    cat >mounted.py <<'END'
import asyncio
import libpyprof


async def plain(scope, receive, send):
    await send({"type": "http.response.start"})


class Text(str):
    def fails(self, *arguments):
        raise RuntimeError

    encode = replace = split = isdigit = fails


inner = libpyprof.asgi(plain)


async def new_headers(scope, receive, send):
    await inner(dict(scope, headers=[*scope["headers"], (b"x-request-id", b"1")]), receive, send)


async def new_send(scope, receive, send):
    async def sends(message):
        await send(message)

    await inner(dict(scope, headers=[*scope["headers"]]), receive, sends)


async def in_a_task(scope, receive, send):
    await asyncio.ensure_future(new_headers(scope, receive, send))


async def pipelined(scope, receive, send):
    """As a server that starts the next request in the context of the one before."""
    await asyncio.ensure_future(ask(inner, "/next"))


async def ask(application, path):
    async def receive():
        pass

    async def send(message):
        pass

    await application({"type": "http", "path": path, "method": "GET", "headers": []}, receive, send)


for application in new_headers, new_send, in_a_task, pipelined:
    asyncio.run(ask(libpyprof.asgi(application), "/" + application.__name__))
asyncio.run(ask(inner, Text("/text/7")))


def labelled(scope, receive, send):
    with libpyprof.labels(endpoint="own"):
        return plain(scope, receive, send)


def parts(environ, start_response):
    with libpyprof.labels(endpoint="own part"):
        yield b"one"
    yield b"two"


asyncio.run(ask(libpyprof.asgi(labelled), "/labelled"))
assert list(libpyprof.wsgi(parts)({"PATH_INFO": "/parts"}, None)) == [b"one", b"two"]


class Scope(dict):
    def get(self, key, default=None):
        if key == "root_path":
            raise RuntimeError
        return super().get(key, default)


asyncio.run(inner(Scope(type="http", path="/scope"), None, lambda message: asyncio.sleep(0)))
END
    timeout 60 "$PYPROF" run -- "$PYTHON" mounted.py 2>run.err || fail "$(cat run.err)"
    "$PYPROF" report --json --by endpoint | judge '
counted = {row["value"]: row["requests"] for row in json.load(sys.stdin)["by"] if "requests" in row}
expected = ["/new_headers", "/new_send", "/in_a_task", "/pipelined", "/next", "/text/*", "/scope", "own", "own part"]
assert counted == dict.fromkeys(expected, 1), counted'
}

@test "asgi(): what is mounted behind middleware that makes new headers counts nothing; the next of a connection counts; own labels stay" {
    with_each_python mounted_once
}

@test "wsgi() is called while another wsgi() looks for gevent's classes" {
    cat >twice.py <<'END'
import sys
import types

import libpyprof


class Meanwhile(types.ModuleType):
    """Has its class after another thread, in whose place it is here, has followed gevent."""

    calls = 0

    def __getattr__(self, name):
        self.calls += 1
        if self.calls == 1:
            libpyprof.wsgi(lambda environ, start_response: [])
        return type(name, (), {"add_spawn_callback": staticmethod(print), "spawn": print})


for name in "gevent.greenlet", "gevent.threadpool":
    sys.modules[name] = Meanwhile(name)
libpyprof.wsgi(lambda environ, start_response: [])
assert sys.modules["gevent.greenlet"].calls == 2
END
    timeout 60 "$PYPROF" run -- "$PYTHON" twice.py 2>run.err || fail "$(cat run.err)"
}

@test "wsgi() under gevent: greenlets inherit no variable of the program, errors and contexts stay; what a request has left belongs to no other" {
    with_packages gevent
    cat >kept.py <<'END'
import gevent.monkey

gevent.monkey.patch_all()
import concurrent.futures
import contextvars
import sys
import traceback

import gevent
import gevent.threadpool

import libpyprof

mine = contextvars.ContextVar("mine", default=None)
executor = concurrent.futures.ThreadPoolExecutor(1)


def fails():
    raise ValueError("mine")


def names():
    return sorted(variable.name for variable in contextvars.copy_context())


def names_itself():
    with libpyprof.labels(endpoint="own name"):
        pass


left = []


def application(environ, start_response):
    mine.set("the request's")
    pool = gevent.get_hub().threadpool
    if environ["PATH_INFO"] == "/spawns":
        assert gevent.spawn(mine.get).get() is None and pool.apply(mine.get) is None
        given = gevent.Greenlet(mine.get)
        given.gr_context = contextvars.copy_context()
        given.start()
        assert given.get() == "the request's"
        assert gevent.spawn(names).get() == pool.apply(names) == (["pyprof_served"] if libpyprof.is_active() else [])
        assert executor.submit(names).result() == []
        for call in pool.apply, lambda function: gevent.spawn(function).get():
            try:
                call(fails)
            except ValueError as error:
                assert str(error) == "mine"
            else:
                assert False
        assert pool.spawn(int, "7", base=8).get() == pool.spawn(func=lambda: 7).get() == 7
        left.append(gevent.spawn(lambda: (gevent.sleep(0.05), gevent.spawn(names).get())[1]))
    else:
        gevent.spawn(names_itself).join()
    start_response("200 OK", [])
    return [b"done"]


assert gevent.threadpool.ThreadPool.spawn.__doc__
served = libpyprof.wsgi(application)
for path in "/spawns", "/named":
    assert served({"PATH_INFO": path, "REQUEST_METHOD": "GET"}, lambda status, headers: None) == [b"done"]
assert left[0].get() == []  # what is left by a request has greenlets that are no request's
assert gevent.threadpool.ThreadPool.spawn.__name__ == "spawn" and gevent.threadpool.ThreadPool.spawn.__doc__
import inspect
assert str(inspect.signature(gevent.threadpool.ThreadPool.spawn)) == "(self, func, *args, **kwargs)"
assert gevent.spawn(names).get() == []
END
    timeout 60 "$VENV/bin/python" kept.py 2>run.err || fail "$(cat run.err)"
    timeout 60 "$PYPROF" run -- "$VENV/bin/python" kept.py 2>run.err || fail "$(cat run.err)"
    "$PYPROF" report --json --by endpoint | judge '
counted = {row["value"]: row["requests"] for row in json.load(sys.stdin)["by"] if "requests" in row}
assert counted == {"/spawns": 1, "own name": 1}, counted'
}
