"""Compiled functions (lib/compiled_frames.c) between interpreted ones, and alone in a thread."""
import time

import compiled_frames


def code(name):
    return (lambda: None).__code__.replace(co_name=name, co_qualname=name)


def burn():
    end = time.thread_time() + 0.3
    while time.thread_time() < end:
        sum(range(200))


def interpreted():
    compiled_frames.call(code("compiled_inner"), burn, 0.3)


compiled_frames.call(code("compiled_outer"), interpreted, 0)
compiled_frames.call_in_thread(code("compiled_root"), interpreted, 0.3)
