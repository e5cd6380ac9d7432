"""A multiprocessing pool: pool.py fork|spawn|forkserver. Prints the CPU that pool_job measured, in ns."""

import multiprocessing
import sys
import time


def pool_job(_):
    since = time.process_time()
    total = 0
    while time.process_time() - since < 0.05:
        for i in range(5000):
            total += i * i % 7
    return int((time.process_time() - since) * 1e9)


if __name__ == "__main__":
    context = multiprocessing.get_context(sys.argv[1])
    with context.Pool(3) as pool:
        spent = sum(pool.map(pool_job, range(24), chunksize=1))
        # Lets the workers leave by themselves; the context manager would kill them.
        pool.close()
        pool.join()
    print(spent)
