"""Celery's prefork children: celery_tasks.py TRUTH_DIRECTORY TASKS [WORKER OPTIONS...]

Runs a worker with a broker of files in ./broker, has it do TASKS tasks, tells it to end as an init system does, and leaves
with its status. Each task tells as those of measured_pools.py do. The module is the worker's application, too."""

import os
import subprocess
import sys
import time

import celery

broker = os.path.abspath("broker")
app = celery.Celery("celery_tasks", broker="filesystem://", set_as_current=True)
app.conf.broker_transport_options = {"data_folder_in": broker, "data_folder_out": broker, "control_folder": broker + "-control"}
app.conf.worker_prefetch_multiplier = 1
app.conf.broker_connection_retry_on_startup = True


def celery_burn():
    import truth

    truth.spin("celery_burn", 250_000_000)


@app.task
def job():
    import truth

    if not os.path.exists(f"{os.environ['CELERY_TRUTH']}/{os.getpid()}.json"):
        truth.functions.clear()
    celery_burn()
    sys.argv[1:] = [os.environ["CELERY_TRUTH"]]
    truth.write()
    with open("done", "a") as done:
        done.write(f"{os.getpid()}\n")


def count():
    try:
        with open("done") as done:
            return len(done.readlines())
    except FileNotFoundError:
        return 0


if __name__ == "__main__":
    truth_directory, tasks = sys.argv[1], int(sys.argv[2])
    for directory in (broker, broker + "-control"):
        os.makedirs(directory)
    environment = dict(os.environ, CELERY_TRUTH=os.path.abspath(truth_directory), PYTHONPATH=os.path.dirname(os.path.abspath(__file__)))
    # Here without the library; the worker has it from $PRELOAD.
    if os.environ.get("PRELOAD"):
        environment["LD_PRELOAD"] = os.environ["PRELOAD"]
    command = [sys.executable, "-m", "celery", "-A", "celery_tasks", "worker", "--loglevel=WARNING", "--concurrency=2", "--without-gossip", "--without-mingle"]
    worker = subprocess.Popen(command + sys.argv[3:], env=environment)
    import celery_tasks

    for _ in range(tasks):
        celery_tasks.job.delay()
    deadline = time.monotonic() + 240
    while count() < tasks and worker.poll() is None and time.monotonic() < deadline:
        time.sleep(0.1)
    worker.terminate()
    status = worker.wait(timeout=120)
    if count() != tasks:
        sys.exit(f"{count()} of {tasks} tasks are done, status {status}")
    sys.exit(status)
