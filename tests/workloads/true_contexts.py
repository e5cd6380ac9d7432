"""true_contexts.py KIND SECONDS: code of greenlets, with labels or in spans, each in a function in_NAME for what it belongs to.

KIND is gevent, labels or spans. At first, for longer than a second, it only computes: until the library knows the sources."""
import asyncio
import sys
import threading

from cpu import computes, spin

KIND, SECONDS = sys.argv[1], float(sys.argv[2])
NAMES = ["one", "two", "three", "four", "five"]


def run_gevent(seconds, names):
    import gevent

    def turns(function):
        for _ in range(int(seconds / 0.004)):
            function(0.004)
            gevent.sleep(0)

    greenlets = []
    for name in names:
        greenlets.append(gevent.spawn(turns, computes(name) if name else spin))
        greenlets[-1].name = name
    gevent.joinall(greenlets)


def run_scopes(scope, seconds, names):
    """Scopes in tasks, within one another, in threads with copied contexts, in callbacks."""

    async def turns(name, inner):
        with scope(name):
            for _ in range(int(seconds / 0.008)):
                computes(name)(0.004)
                await asyncio.sleep(0)
                with scope(inner):
                    computes(inner)(0.004)
                    await asyncio.sleep(0)
        computes("none")(seconds / 10)

    async def all_of_them():
        await asyncio.gather(*(turns(name, names[(i + 1) % len(names)]) for i, name in enumerate(names)))

    asyncio.run(all_of_them())


def beside_threads(scope):
    def work(name):
        for _ in range(int(SECONDS / 0.01)):
            with scope(name):
                computes(name)(0.01)

    threads = [threading.Thread(target=work, args=(name,)) for name in ("thread_1", "thread_2")]
    threads.append(threading.Thread(target=computes("none"), args=(SECONDS / 2,)))
    for thread in threads:
        thread.start()
    run_scopes(scope, SECONDS, NAMES)
    for thread in threads:
        thread.join()


if KIND == "gevent":
    run_gevent(1.3, [""])
    run_gevent(SECONDS, NAMES)
else:
    if KIND == "labels":
        from libpyprof import labels

        def scope(name):
            return labels(truth=name)
    else:
        from opentelemetry import trace
        from opentelemetry.sdk.trace import TracerProvider

        tracer = TracerProvider().get_tracer("truth")

        def scope(name):
            return tracer.start_as_current_span(name)

    with scope("warm"):
        spin(1.3)
    beside_threads(scope)
