"""Daemon threads that work while the interpreter ends."""

import threading
import time


def daemon_work():
    while True:
        sum([i * i for i in range(1000)])


def main_work():
    end = time.thread_time() + 0.15
    while time.thread_time() < end:
        sum([i * i for i in range(1000)])


for _ in range(3):
    threading.Thread(target=daemon_work, daemon=True).start()
main_work()
