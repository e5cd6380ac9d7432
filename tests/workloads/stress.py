"""stress.py SECONDS LIBRARY PLUGS: everything that ends badly under a careless profiler, at once: forks (from threads, of
forks, children that import, burn and exec), programs started by every way, threads that live for a moment, modules that
come and go, C++ and Python exceptions, garbage collection, generators, new code, signals with Python handlers, masks.

Each kind of work counts its rounds. A kind that makes none for PATIENCE seconds, or a child that takes as long, is a
deadlock: the stacks of all threads go to stderr and the status is 3. A child that ends otherwise than it should is
status 1. Prints the rounds of each kind.
"""

import asyncio
import ctypes
import faulthandler
import gc
import os
import random
import signal
import subprocess
import sys
import threading
import time
import warnings

PATIENCE = 60.0
MODULES = ["_decimal", "_ctypes", "_ssl", "_lzma", "_bz2", "_elementtree", "_hashlib", "_json", "_sqlite3", "array"]
SMALL = "import json, threading; threading.Thread(target=sum, args=(range(30000),)).start(); json.dumps(list(range(500)))"

seconds = float(sys.argv[1])
native = ctypes.CDLL(sys.argv[2])
native.churn.argtypes = ctypes.c_char_p, ctypes.c_double
native.churn.restype = ctypes.c_uint64
plugs = sys.argv[3]

stop = False
rounds = {}
catching = False
bad = []
# A fork while another thread is in the loader leaves its lock taken in the child, with or without a profiler.
loader = threading.Lock()


def burn(ms):
    until = time.thread_time() + ms / 1000
    while time.thread_time() < until:
        sum(range(200))


def ended(pid, what, expected=0):
    """Waits for a child; not by a blocking waitpid, which would hang with it."""
    deadline = time.monotonic() + PATIENCE
    while True:
        done, status = os.waitpid(pid, os.WNOHANG)
        if done:
            if status != expected:
                bad.append(f"{what}: wait status {status}, not {expected}")
            return
        if time.monotonic() > deadline:
            os.kill(pid, signal.SIGABRT)
            bad.append(f"{what}: child {pid} hangs")
            os.waitpid(pid, 0)
            return
        time.sleep(0.0005)


def in_child(seed):
    """The life of a forked child; it must not go back to its parent's threads."""
    chance = random.Random(seed)
    try:
        for module in chance.sample(MODULES, 3):
            try:
                __import__(module)
            except ImportError:
                pass
        what = seed % 6
        if what == 0:
            burn(3)
        elif what == 1:
            # not joined: AddressSanitizer's own end of a thread may wait for ever in the child of a fork
            done = threading.Event()
            threading.Thread(target=lambda: (burn(3), done.set())).start()
            done.wait()
        elif what == 2:
            grandchild = os.fork()
            if grandchild == 0:
                burn(1)
                os._exit(7)
            status = os.waitpid(grandchild, 0)[1]
            if status != 7 << 8:
                raise ValueError(f"grandchild's wait status {status}")
        elif what == 3:
            os.execv("/bin/true", ["true"])
        elif what == 4:
            gc.collect()
            burn(2)
        else:
            os.kill(os.getpid(), signal.SIGKILL)
        os._exit(0)
    except BaseException as error:
        os.write(2, f"in a child: {error!r}\n".encode())
        os._exit(1)


def forks():
    seed = random.randrange(1 << 30)
    with loader:
        pid = os.fork()
        if pid == 0:
            in_child(seed)
    ended(pid, f"fork, kind {seed % 6}", signal.SIGKILL if seed % 6 == 5 else 0)


def programs():
    way = random.randrange(4)
    if way == 0:
        ended(os.posix_spawn("/bin/true", ["true"], os.environ), "posix_spawn")
    elif way == 1:
        python = subprocess.Popen([sys.executable, "-S", "-E", "-c", SMALL])
        if python.wait(PATIENCE) != 0:
            bad.append(f"python: {python.returncode}")
    elif way == 2:
        if subprocess.call("true | true; exit 5", shell=True, timeout=PATIENCE) != 5:
            bad.append("shell")
    elif os.system("exit 3") != 3 << 8:
        bad.append("system")


def short_threads():
    threads = [threading.Thread(target=burn, args=(random.random(),)) for _ in range(10)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


def loads():
    with loader:
        if not native.churn(f"unload:{plugs}".encode(), 0.02):
            bad.append("dlopen")


def throws():
    if not native.churn(b"throw", 0.05):
        bad.append("throw")


def allocates():
    native.churn(b"allocate", 0.05)


def exceptions():
    def below(depth):
        if depth:
            try:
                return below(depth - 1)
            finally:
                [depth] * depth
        raise KeyError(depth)

    for _ in range(20):
        try:
            below(50)
        except KeyError:
            pass


class Cycle:
    def __init__(self):
        self.me = self
        self.more = [Cycle.__name__] * 50

    def __del__(self):
        burn(0.01)


def garbage():
    for _ in range(100):
        Cycle()
    gc.collect()


def new_code():
    names = {}
    number = random.randrange(1 << 40)
    exec(f"def made_{number}():\n    return (lambda n: sum(i * i for i in range(n)))(2000)\n", names)
    names[f"made_{number}"]()


def coroutines():
    async def worker(n):
        for _ in range(n):
            await asyncio.sleep(0)
        return [i async for i in counted(n)]

    async def counted(n):
        for i in range(n):
            yield i

    async def all_of_them():
        await asyncio.gather(*(worker(20) for _ in range(5)))

    loop = asyncio.new_event_loop()
    loop.run_until_complete(all_of_them())
    loop.close()


def signals():
    """To the process, to its own thread, and masks that come and go."""
    os.kill(os.getpid(), signal.SIGUSR1)
    before = signal.pthread_sigmask(signal.SIG_BLOCK, range(1, 65))
    signal.pthread_kill(threading.get_ident(), signal.SIGUSR2)
    burn(0.5)
    signal.pthread_sigmask(signal.SIG_SETMASK, before)
    time.sleep(0.001)


KINDS = [forks, forks, programs, short_threads, loads, throws, allocates, exceptions, garbage, new_code, coroutines, signals]


def repeat(kind):
    while not stop:
        kind()
        rounds[kind.__name__] = rounds.get(kind.__name__, 0) + 1


def caught(number, frame):
    """On a full machine the next signal is there before this one is dealt with: not ever deeper."""
    global catching
    rounds["handlers"] = rounds.get("handlers", 0) + 1
    if not catching:
        catching = True
        exceptions()
        catching = False


def watch():
    """The main thread: gets the signals, and sees to it that everything goes on."""
    global stop
    begun = time.monotonic()
    seen = {kind.__name__: (0, begun) for kind in KINDS}
    while time.monotonic() < begun + seconds and not bad:
        time.sleep(0.05)
        now = time.monotonic()
        for kind, (count, since) in seen.items():
            if rounds.get(kind, 0) != count:
                seen[kind] = rounds[kind], now
            elif now > since + 2 * PATIENCE:
                stuck(kind)
    stop = True
    deadline = time.monotonic() + 2 * PATIENCE
    for thread in threads:
        thread.join(max(0, deadline - time.monotonic()))
        if thread.is_alive():
            stuck(thread.name)


def stuck(what):
    print(f"{what} does not go on", file=sys.stderr, flush=True)
    faulthandler.dump_traceback(all_threads=True)
    os._exit(3)


warnings.simplefilter("ignore")
if hasattr(sys, "setswitchinterval"):
    sys.setswitchinterval(0.001)
for number in signal.SIGUSR1, signal.SIGUSR2, signal.SIGALRM:
    signal.signal(number, caught)
signal.setitimer(signal.ITIMER_REAL, 0.01, 0.007)
threads = [threading.Thread(target=repeat, args=(kind,), name=kind.__name__) for kind in KINDS]
for thread in threads:
    thread.start()
watch()
signal.setitimer(signal.ITIMER_REAL, 0)
for kind, count in sorted(rounds.items()):
    print(kind, count)
for what in bad:
    print(what, file=sys.stderr)
sys.exit(1 if bad else 0)
