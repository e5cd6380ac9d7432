"""A worker of Celery with two children, by a broker that is a directory: celery_tasks.py SECONDS. It ends with its last task."""

import hashlib
import json
import os
import signal
import sys
import tempfile
import threading
import time

import celery

directory = os.environ.setdefault("TASKS_DIRECTORY", tempfile.mkdtemp())
queue, done = os.path.join(directory, "queue"), os.path.join(directory, "done")
app = celery.Celery("celery_tasks", broker="filesystem://")
app.conf.update(
    broker_transport_options={"data_folder_in": queue, "data_folder_out": queue, "control_folder": directory},
    task_ignore_result=True,
    worker_hijack_root_logger=False,
)


@app.task(name="digest")
def digest(number):
    for _ in range(60):
        hashlib.sha256(bytes(100_000)).hexdigest()
    tell()


@app.task(name="convert")
def convert(number):
    for _ in range(20):
        json.loads(json.dumps([{"n": n, "text": str(n * number)} for n in range(400)]))
    tell()


def tell():
    with open(done, "ab", buffering=0) as file:
        file.write(b".")


def wait_for(tasks):
    while not os.path.exists(done) or os.path.getsize(done) < tasks:
        time.sleep(0.1)
    os.kill(os.getpid(), signal.SIGTERM)


def main(tasks):
    os.makedirs(queue)
    for number in range(tasks):
        (digest, convert)[number % 2].delay(number)
    threading.Thread(target=wait_for, args=(tasks,), daemon=True).start()
    options = ["--concurrency=2", "--loglevel=error", "--without-gossip", "--without-mingle", "--without-heartbeat"]
    app.worker_main(["--quiet", "worker", *options])


if __name__ == "__main__":
    main(int(float(sys.argv[1]) * 100))
