"""What a program believes about SIGURG must be what it set: signals.py masks|dispositions|inherited. One line per surprise."""

import os
import signal
import subprocess
import sys
import tempfile
import threading
import time

surprises = []


def expect(what, value, wanted):
    if value != wanted:
        surprises.append(f"{what}: {value!r}, expected {wanted!r}")


def burn(seconds):
    until = time.thread_time() + seconds
    total = 0
    while time.thread_time() < until:
        for i in range(5000):
            total += i * i % 7


def blocks_everything():
    everything = signal.valid_signals() - {signal.SIGKILL, signal.SIGSTOP}
    signal.pthread_sigmask(signal.SIG_BLOCK, everything)
    mask = signal.pthread_sigmask(signal.SIG_BLOCK, [])
    expect("SIGURG in the mask of a thread that blocked it", signal.SIGURG in mask, True)
    burn(0.6)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, [signal.SIGURG])
    mask = signal.pthread_sigmask(signal.SIG_BLOCK, [])
    expect("SIGURG in the mask after unblocking", signal.SIGURG in mask, False)


PROGRAM = ["/bin/cat", "/proc/self/status"]


def through_subprocess(output):
    subprocess.run(PROGRAM, stdout=output, check=True)


def through_fork(output):
    pid = os.fork()
    if pid == 0:
        os.dup2(output, 1)
        os.execv(PROGRAM[0], PROGRAM)
    os.waitpid(pid, 0)


def through_spawn(output):
    os.waitpid(os.posix_spawn(PROGRAM[0], PROGRAM, os.environ, file_actions=[(os.POSIX_SPAWN_DUP2, output, 1)]), 0)


def child_state(field, start=through_subprocess):
    with tempfile.TemporaryFile() as output:
        start(output.fileno())
        output.seek(0)
        line = next(line for line in output.read().decode().splitlines() if line.startswith(field + ":"))
    return bool(int(line.split()[1], 16) & (1 << (signal.SIGURG - 1)))


def masks():
    expect("SIGURG blocked at start", signal.SIGURG in signal.pthread_sigmask(signal.SIG_BLOCK, []), False)
    expect("SIGURG blocked in a child", child_state("SigBlk"), False)
    thread = threading.Thread(target=blocks_everything)
    thread.start()
    thread.join()


def dispositions():
    expect("disposition of SIGURG at start", signal.getsignal(signal.SIGURG), signal.SIG_DFL)
    expect("SIGURG ignored in a child", child_state("SigIgn"), False)
    expect("SIGURG caught in a child", child_state("SigCgt"), False)
    signal.signal(signal.SIGURG, signal.SIG_IGN)
    expect("disposition after SIG_IGN", signal.getsignal(signal.SIGURG), signal.SIG_IGN)
    burn(0.3)
    os.kill(os.getpid(), signal.SIGURG)
    signal.signal(signal.SIGURG, signal.SIG_DFL)
    burn(0.3)


def inherited():
    for start in through_subprocess, through_fork, through_spawn:
        how = start.__name__.replace("_", " ")
        signal.signal(signal.SIGURG, signal.SIG_IGN)
        expect(f"SIGURG ignored in a child after SIG_IGN, {how}", child_state("SigIgn", start), True)
        signal.signal(signal.SIGURG, signal.SIG_DFL)
        expect(f"SIGURG ignored in a child after SIG_DFL, {how}", child_state("SigIgn", start), False)
        signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGURG])
        expect(f"SIGURG blocked in a child, {how}", child_state("SigBlk", start), True)
        signal.pthread_sigmask(signal.SIG_UNBLOCK, [signal.SIGURG])
        expect(f"SIGURG blocked in a child when it is no more, {how}", child_state("SigBlk", start), False)


{"masks": masks, "dispositions": dispositions, "inherited": inherited}[sys.argv[1]]()
for line in surprises:
    print(line)
sys.exit(1 if surprises else 0)
