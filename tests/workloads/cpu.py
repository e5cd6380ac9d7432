"""The CPU time that workloads use."""

import time


def spin(seconds):
    """Uses so much CPU time of its thread, and returns how much it was."""
    since = time.thread_time()
    while (spent := time.thread_time() - since) < seconds:
        for _ in range(1000):
            pass
    return spent
