"""WSGI applications, each of which is there twice: bare below /bare/, in libpyprof.wsgi() below /wrapped/. What a server makes of
one must be what it makes of the other. wrapped_wsgi.py PORT [waitress]: serves them with
wsgiref."""
import collections
import functools
import sys
import tempfile
import wsgiref.validate

import libpyprof

TEXT = [("Content-Type", "text/plain")]
events = []  # of the application that was asked last


def answering(body):
    def application(environ, start_response):
        start_response("200 OK", list(TEXT))
        return body()

    return application


class SubList(list):
    pass


class OfLength:
    def __init__(self, *parts):
        self.parts = parts

    def __len__(self):
        return len(self.parts)

    def __iter__(self):
        events.append("iter")
        return iter(self.parts)


class Odd:
    """Is false, can be indexed and closed, has attributes."""

    filelike = "an attribute"

    def __bool__(self):
        events.append("bool")
        return False

    def __getitem__(self, n):
        return [b"x", b"y"][n]

    def close(self):
        events.append("close")


class Iterator:
    def __init__(self):
        self.left = 3

    def __iter__(self):
        return self

    def __next__(self):
        self.left -= 1
        if self.left < 0:
            raise StopIteration
        return b"part"

    def close(self):
        events.append("close")


class File:
    """Says in which way a server has read it."""

    def __init__(self):
        self.file = tempfile.TemporaryFile()
        self.file.write(b"by its descriptor\n" * 1000)
        self.file.seek(0)
        self.parts = [b"by read\n"]

    def fileno(self):
        return self.file.fileno()

    def read(self, *size):
        return self.parts.pop() if self.parts else b""

    def __iter__(self):
        return iter([b"by lines\n"])

    def close(self):
        events.append("close")
        self.file.close()


class Memory(File):
    fileno = None


class Iterated(Memory):
    def __next__(self):
        return self.read() or next(iter(()))


def file(kind):
    def application(environ, start_response):
        start_response("200 OK", list(TEXT))
        return environ["wsgi.file_wrapper"](kind(), 512) if "wsgi.file_wrapper" in environ else kind()

    return application


def generator(environ, start_response):
    start_response("200 OK", list(TEXT))
    try:
        yield b"one, "
        yield b"two"
    finally:
        events.append("close")


def fails_in_the_middle(environ, start_response):
    start_response("200 OK", list(TEXT))
    yield b"one, "
    raise ValueError("on purpose")


def fails_at_close(environ, start_response):
    start_response("200 OK", list(TEXT))
    try:
        yield b"one"
    finally:
        raise ValueError("on purpose")


def fails(environ, start_response):
    raise KeyError("on purpose")


def by_name(environ, start_response):
    start_response(status="200 OK", headers=list(TEXT))
    return [b"x"]


def error_by_name(environ, start_response):
    start_response("200 OK", list(TEXT))
    try:
        raise ValueError("on purpose")
    except ValueError:
        start_response("500 Mine", list(TEXT), exc_info=sys.exc_info())
    return [b"x"]


def error(environ, start_response):
    start_response("200 OK", list(TEXT))
    try:
        raise ValueError("on purpose")
    except ValueError:
        start_response("500 Mine", list(TEXT), sys.exc_info())
    return [b"x"]


def writes(environ, start_response):
    write = start_response("200 OK", list(TEXT))
    write(b"written, ")
    return [b"returned"]


def starts_twice(environ, start_response):
    start_response("200 OK", list(TEXT))
    start_response("200 OK", list(TEXT))
    return [b"x"]


def sees(environ, start_response):
    """What an application sees of its server. Addresses differ."""
    start_response("200 OK", list(TEXT))
    seen = [type(environ).__name__, sorted(environ), str(environ.get("wsgi.file_wrapper")), start_response.__class__.__name__]
    seen += [hasattr(start_response, name) for name in ("__name__", "__self__", "__code__", "__wrapped__")]
    return ["\n".join(map(str, seen)).split(" at 0x")[0].encode()]


class Application:
    """A class whose instances are the bodies."""

    def __init__(self, environ, start_response):
        self.start_response = start_response

    def __iter__(self):
        self.start_response("200 OK", list(TEXT))
        yield b"of a class"


class Framework:
    """What a program may do with its application after it was wrapped."""

    def __init__(self):
        self.hooks = []

    def route(self, hook):
        self.hooks.append(hook)
        return hook

    def __len__(self):
        return len(self.hooks)

    def __call__(self, environ, start_response):
        start_response("200 OK", list(TEXT))
        return [hook() for hook in self.hooks]


def labelled(environ, start_response):
    def within(depth):
        with scope:
            return depth and within(depth - 1)

    scope = libpyprof.labels(tenant="a")
    within(3)
    start_response("200 OK", list(TEXT))
    return [b"labelled"]


def make(wrap):
    """The applications by their names."""
    framework = wrap(Framework())
    framework.route(lambda: b"of a framework")
    assert isinstance(framework, Framework) and len(framework) == 1 and framework == framework and framework.hooks
    applications = {
        "empty": answering(list),
        "list": answering(lambda: [b"one"]),
        "list2": answering(lambda: [b"one", b"two"]),
        "tuple": answering(lambda: (b"one",)),
        "sublist": answering(lambda: SubList([b"one"])),
        "deque": answering(lambda: collections.deque([b"one"])),
        "set": answering(lambda: {b"one"}),
        "dict": answering(lambda: {b"one": 1}),
        "length1": answering(lambda: OfLength(b"one")),
        "length2": answering(lambda: OfLength(b"one", b"two")),
        "odd": answering(Odd),
        "iterator": answering(Iterator),
        "map": answering(lambda: map(bytes.upper, [b"one", b"two"])),
        "generator": generator,
        "fails": fails,
        "fails-in-the-middle": fails_in_the_middle,
        "fails-at-close": fails_at_close,
        "none": answering(lambda: None),
        "str": answering(lambda: ["no bytes"]),
        "file": file(File),
        "memory": file(Memory),
        "iterated": file(Iterated),
        "by-name": by_name,
        "error-by-name": error_by_name,
        "error": error,
        "writes": writes,
        "starts-twice": starts_twice,
        "sees": sees,
        "class": Application,
        "partial": functools.partial(lambda body, *rest: answering(body)(*rest), lambda: [b"partial"]),
        "labelled": labelled,
    }
    wrapped = {name: wrap(application) for name, application in applications.items()}
    for name in "list", "generator", "class", "sees", "writes":
        wrapped["validated-" + name] = wsgiref.validate.validator(wrapped[name])
        wrapped["validator-" + name] = wrap(wsgiref.validate.validator(applications[name]))
    wrapped["twice"] = wrap(wrap(applications["list"]))
    wrapped["mounted"] = wrap(lambda environ, start_response: wrapped["generator"](environ, start_response))
    wrapped["framework"] = framework
    return wrapped


made = {"bare": make(lambda application: application), "wrapped": make(libpyprof.wsgi)}


def application(environ, start_response):
    _, how, name = environ["PATH_INFO"].split("/")
    if how in ("names", "events"):
        body = " ".join(made["bare"] if how == "names" else events).encode()
        start_response("200 OK", TEXT + [("Content-Length", str(len(body)))])
        return [body]
    del events[:]
    return made[how][name](environ, start_response)


if __name__ == "__main__":
    import signal
    import wsgiref.simple_server

    signal.signal(signal.SIGTERM, lambda *_: sys.exit())
    if "waitress" in sys.argv:
        import waitress

        waitress.serve(application, listen="127.0.0.1:" + sys.argv[1])
    else:
        wsgiref.simple_server.make_server("127.0.0.1", int(sys.argv[1]), application).serve_forever()
