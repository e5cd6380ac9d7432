"""What a program does with a descriptor of /proc/self/mem that it does not know of: passes it on, closes it, uses its number."""
import os
import subprocess
import tempfile
import time


def use_cpu():
    end = time.thread_time() + 0.5
    while time.thread_time() < end:
        sum(range(1000))


def before_close():
    use_cpu()


def after_close():
    use_cpu()


def in_child():
    use_cpu()


def after_reuse():
    use_cpu()


def path_of(fd):
    try:
        return os.readlink(f"/proc/self/fd/{fd}")
    except FileNotFoundError:  # the directory's own
        return ""


def memories():
    """Descriptors of any process's memory by their numbers."""
    return {int(fd): path_of(fd) for fd in os.listdir("/proc/self/fd") if path_of(fd).endswith("/mem")}


def only_own():
    found = memories()
    assert list(found.values()) == [f"/proc/{os.getpid()}/mem"], found
    (number,) = found
    assert number >= 64, number
    return number


def child():
    number = only_own()
    in_child()
    with tempfile.TemporaryFile() as other:
        other.write(b"x" * 4096)
        other.seek(7)
        os.dup2(other.fileno(), number)
        after_reuse()
        assert os.lseek(number, 0, os.SEEK_CUR) == 7 and os.fstat(number).st_size == 4096
    os.close(number)


before_close()
only_own()
listed = subprocess.run(["ls", "-l", "/proc/self/fd"], close_fds=False, stdout=subprocess.PIPE, check=True).stdout
assert b"/mem" not in listed, listed
os.closerange(3, 4096)
after_close()
assert not memories(), memories()
pid = os.fork()
if pid == 0:
    child()
    print("end", flush=True)
    os._exit(0)
assert os.waitpid(pid, 0)[1] == 0
