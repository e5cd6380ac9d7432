"""Short-lived processes of a pool: measured_pools.py TRUTH_DIRECTORY pool|futures|executor TASKS

The children of `pool` and `executor` serve one task and end by os._exit; those of `futures` serve until they are sent home.
Each task tells what it used in pool_task, and its process's clock."""

import concurrent.futures
import multiprocessing
import os
import sys

import truth

TASK_NS = 250_000_000


def pool_task(_):
    truth.spin("pool_task", TASK_NS)


def task(number):
    pool_task(number)
    truth.write()
    return os.getpid()


def forget():
    truth.functions.clear()


if __name__ == "__main__":
    kind, tasks = sys.argv[2], range(int(sys.argv[3]))
    context = multiprocessing.get_context("fork")
    if kind == "pool":
        with context.Pool(2, forget, maxtasksperchild=1) as pool:
            pids = pool.map(task, tasks, chunksize=1)
            pool.close()
            pool.join()
    else:
        more = {"max_tasks_per_child": 1, "mp_context": multiprocessing.get_context("spawn")} if kind == "executor" else {"mp_context": context}
        with concurrent.futures.ProcessPoolExecutor(2, initializer=forget, **more) as pool:
            pids = list(pool.map(task, tasks))
    print(len(set(pids)))
