"""The CPU time that workloads use."""

import time

used = {}  # seconds, by the names of computes()


def spin(seconds):
    """Uses so much CPU time of its thread, and returns how much it was."""
    since = time.thread_time()
    while (spent := time.thread_time() - since) < seconds:
        for _ in range(1000):
            pass
    return spent


def hash_without_gil(seconds):
    import hashlib  # which loads OpenSSL

    end = time.thread_time() + seconds
    while time.thread_time() < end:
        hashlib.sha256(b"x" * 300000).digest()


def computes(name, work=spin):
    """A function in_NAME whose time is measured."""
    space = {"work": work, "used": used, "time": time}
    exec(f"""def in_{name}(seconds):
    start = time.thread_time()
    work(seconds)
    used["{name}"] = used.get("{name}", 0) + time.thread_time() - start
""", space)
    return space["in_" + name]
