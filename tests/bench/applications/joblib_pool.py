"""Work in two processes of loky."""

import sys

import joblib


def primes(first, last):
    return sum(all(n % k for k in range(2, int(n**0.5) + 1)) for n in range(first, last))


def words(number):
    counted = {}
    for n in range(30_000):
        word = str(n * number % 997)
        counted[word] = counted.get(word, 0) + 1
    return sorted(counted.items(), key=lambda item: -item[1])[:10]


rounds = int(float(sys.argv[1]) * 5)
with joblib.Parallel(n_jobs=2, backend="loky") as pool:
    for number in range(rounds):
        pool(joblib.delayed(primes)(n * 2000 + 2, n * 2000 + 2002) for n in range(20))
        pool(joblib.delayed(words)(n) for n in range(1, 12))
