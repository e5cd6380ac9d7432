"""The rows of servers.py: how a server is started, and what happens to it."""

import os


class Row:
    def __init__(self, kind, options, steps, *, files=None, environment=None, paths=("/page/{ms}",), may_fail=0, killed=0,
                 functions=("burn_page",), loose_lines="(?!)"):
        self.kind, self.options, self.steps, self.paths = kind, options.split(), steps, paths
        self.files, self.environment = files or {}, environment or {}
        # How many requests may be lost, files have no end (a number, or from and to) besides the steps' own.
        self.may_fail, self.killed = may_fail, killed if isinstance(killed, tuple) else (killed, killed)
        self.functions = functions
        # A pattern of log lines that come or not from one life to the next, without the library too.
        self.loose_lines = loose_lines


def plain(signal, workers=2):
    def steps(server):
        server.serve(workers)
        server.stop(signal)

    return steps


def without_master(server):
    """Each process ends by itself."""
    server.serve(2)
    others = [pid for pid in server.workers() if pid != server.pid]
    server.stop("INT")
    for pid in others:
        server.stop("INT", pid)


def reload(signal, end, workers=2):
    def steps(server):
        server.serve(workers)
        server.signal(signal)
        server.serve(workers, fresh=True)
        server.signal(signal)
        server.serve(workers, fresh=True)
        server.stop(end)

    return steps


def touch(name, end, workers=2):
    def steps(server):
        server.serve(workers)
        os.utime(server.path(name))
        server.serve(workers, fresh=True)
        server.stop(end)

    return steps


def stuck(path, end, workers=1):
    """A worker that computes and never answers is killed; others come in its place. uWSGI has one deadline for each worker, and
    what its other threads answer moves it: there the one that is stuck has to hold the GIL."""

    def steps(server):
        server.serve(workers)
        server.lost(path)
        server.serve(1, fresh=True)
        server.stop(end)

    return steps


def worst(server):
    """What `make check` does: a stuck worker is killed, the rest reloads, and leaves."""
    server.serve(2)
    server.lost("/held")
    server.serve(1, fresh=True)
    server.signal("HUP")
    server.serve(2, fresh=True)
    server.stop("INT")


def killed(end):
    def steps(server):
        server.serve(2)
        victim = server.workers()[0]
        server.signal("KILL", victim)
        server.serve(1, fresh=True)
        server.stop(end)

    return steps


def generations(end, count):
    """A worker leaves after 40 to 50 pages."""

    def steps(server):
        for _ in range(count):
            server.serve(1, fresh=True, pages=min(server.pages, 20))
        server.stop(end)

    return steps


def upgrade(server):
    """gunicorn's change of the running program: a second master, then the first one leaves."""
    server.serve(2)
    server.signal("USR2")
    pid_file = server.path("gunicorn.pid.2")
    server.wait_until(lambda: os.path.exists(pid_file) and open(pid_file).read().strip(), "the second master")
    new = int(open(pid_file).read())
    server.serve(3, fresh=False)
    server.signal("TERM")
    server.reap(server.pid)
    server.pid = new
    server.serve(2)
    server.stop("TERM")


def more_and_fewer(server):
    server.serve(1)
    server.signal("TTIN")
    server.serve(2)
    server.signal("TTIN")
    server.serve(3)
    server.signal("TTOU")
    server.wait_until(lambda: len(server.workers()) == 2, "two workers")
    server.serve(2)
    server.stop("TERM")


def cheaper(server):
    server.serve(3)
    server.stop("INT")


def asked(path, times, function):
    def steps(server):
        server.serve(2)
        for _ in range(times):
            server.ask(path)
        truth = server.path("truth")
        # 100 batches of 2 ms each time
        server.wait_until(lambda: used(truth, function) >= times * 200_000_000, function)
        server.serve(2)
        server.stop("INT")

    return steps


def used(truth, function):
    total = 0
    for name in os.listdir(truth):
        if name.split(".")[1] == function:
            with open(os.path.join(truth, name)) as file:
                total += int(file.read() or 0)
    return total


def emperor(server):
    server.serve(2)
    os.utime(server.path("vassals/app.ini"))
    server.serve(2, fresh=True)
    server.stop("INT")


GUNICORN = "-b 127.0.0.1:{port} --graceful-timeout 60 --timeout 60 -w 2 "
UWSGI = "--http-socket 127.0.0.1:{port} --wsgi-file {app} --callable app --need-app --disable-logging "
MASTER = UWSGI + "--master --processes 2 "
SLOW = GUNICORN.replace("--timeout 60", "--timeout 6")
APP = " servers_app:app"
BACKGROUND = {"SERVERS_BACKGROUND": "1"}
# A worker that is killed instead of leaving, or besides the one that is stuck, because the machine is slow.
LATE = "SIGKILL|TIMEOUT|Error handling|Worker exiting|Traceback|SystemExit|HARAKIRI|killed|Respawned|DAMN"
# Older uWSGIs wait for their threads in a signal handler, which may have come while the main thread had the GIL: then the
# reload waits until its mercy ends, and kills. With the library and without.
RELOAD_OF_THREADS = {"loose_lines": "NO MERCY", "killed": (0, 4), "may_fail": 16}
# A worker that gets another SIGTERM when Python has put its handler away dies of it.
LEAVES_LATE = {"loose_lines": "was sent SIGTERM", "killed": (0, 4)}
VASSAL = "[uwsgi]\nhttp-socket = 127.0.0.1:{port}\nwsgi-file = {app}\ncallable = app\nmaster = true\nprocesses = 2\ndisable-logging = true\n{vassal}"

ROWS = {
    # Those of `make check`.
    "gunicorn-short": Row(
        "gunicorn",
        "-b 127.0.0.1:{port} -k gthread --threads 2 --timeout 6 -w 2" + APP,
        stuck("/held", "TERM"),
        killed=1,
        may_fail=4,
        loose_lines=LATE,
        functions=("burn_page", "burn_held"),
    ),
    "uwsgi-short": Row(
        "uwsgi",
        MASTER + "--threads 2 --harakiri 2 --skip-atexit --reload-mercy 5 --worker-reload-mercy 5",
        worst,
        killed=(1, 3),
        may_fail=8,
        loose_lines=LATE,
        functions=("burn_page", "burn_held"),
    ),
    "gunicorn-sync": Row("gunicorn", GUNICORN + "-k sync" + APP, plain("TERM")),
    "gunicorn-sync-preload": Row("gunicorn", GUNICORN + "--preload" + APP, plain("QUIT")),
    "gunicorn-gthread": Row("gunicorn", GUNICORN + "-k gthread --threads 3" + APP, plain("TERM")),
    "gunicorn-gthread-preload": Row("gunicorn", GUNICORN + "-k gthread --threads 3 --preload" + APP, plain("INT")),
    "gunicorn-gevent": Row("gunicorn", GUNICORN + "-k gevent" + APP, plain("TERM")),
    "gunicorn-gevent-preload": Row("gunicorn", GUNICORN + "-k gevent --preload" + APP, plain("TERM")),
    "gunicorn-eventlet": Row("gunicorn", GUNICORN + "-k eventlet" + APP, plain("TERM")),
    "gunicorn-uvicorn": Row("gunicorn", GUNICORN + "-k uvicorn.workers.UvicornWorker servers_app:asgi_app", plain("TERM")),
    "gunicorn-asgi": Row("gunicorn", GUNICORN + "-k asgi servers_app:asgi_app", plain("TERM")),
    "gunicorn-max-requests": Row("gunicorn", GUNICORN + "--max-requests 40 --max-requests-jitter 10" + APP, generations("TERM", 4)),
    "gunicorn-timeout": Row("gunicorn", SLOW + APP, stuck("/stuck", "TERM"), loose_lines=LATE, functions=("burn_page", "burn_stuck")),
    "gunicorn-timeout-held": Row("gunicorn", SLOW + APP, stuck("/held", "TERM"), killed=1, loose_lines=LATE, functions=("burn_page", "burn_held")),
    "gunicorn-gthread-timeout": Row(
        "gunicorn", SLOW + "-k gthread --threads 2" + APP, stuck("/held", "TERM"), killed=1, may_fail=4, loose_lines=LATE, functions=("burn_page", "burn_held")
    ),
    "gunicorn-killed": Row("gunicorn", GUNICORN + APP, killed("TERM"), killed=1, may_fail=1),
    "gunicorn-hup": Row("gunicorn", GUNICORN + APP, reload("HUP", "TERM"), **LEAVES_LATE),
    "gunicorn-hup-preload": Row("gunicorn", GUNICORN + "--preload" + APP, reload("HUP", "QUIT"), **LEAVES_LATE),
    "gunicorn-hup-gthread": Row("gunicorn", GUNICORN + "-k gthread --threads 3" + APP, reload("HUP", "TERM"), **LEAVES_LATE),
    "gunicorn-usr2": Row("gunicorn", GUNICORN + "--pid {dir}/gunicorn.pid" + APP, upgrade),
    "gunicorn-ttin-ttou": Row("gunicorn", GUNICORN.replace("-w 2", "-w 1") + APP, more_and_fewer, **LEAVES_LATE),
    "uwsgi-no-master": Row("uwsgi", UWSGI, plain("INT", 1)),
    "uwsgi-no-master-2": Row("uwsgi", UWSGI + "--processes 2", without_master),
    "uwsgi-master": Row("uwsgi", MASTER, plain("INT")),
    "uwsgi-quit": Row("uwsgi", MASTER, plain("QUIT")),
    "uwsgi-lazy-apps": Row("uwsgi", MASTER + "--lazy-apps", plain("INT")),
    "uwsgi-threads": Row("uwsgi", MASTER + "--threads 3", plain("INT")),
    "uwsgi-threads-lazy": Row("uwsgi", MASTER + "--threads 3 --lazy-apps", plain("INT")),
    "uwsgi-enable-threads": Row(
        "uwsgi", MASTER + "--lazy-apps --enable-threads", plain("INT"), environment=BACKGROUND, functions=("burn_page", "burn_background")
    ),
    "uwsgi-disabled-threads": Row("uwsgi", MASTER + "--lazy-apps", plain("INT"), environment=BACKGROUND),
    "uwsgi-harakiri": Row("uwsgi", MASTER + "--harakiri 5", stuck("/stuck", "INT"), killed=1, loose_lines=LATE, functions=("burn_page", "burn_stuck")),
    "uwsgi-harakiri-threads": Row(
        "uwsgi", MASTER + "--threads 2 --harakiri 5", stuck("/held", "INT"), killed=1, may_fail=4, loose_lines=LATE, functions=("burn_page", "burn_held")
    ),
    "uwsgi-killed": Row("uwsgi", MASTER + "--threads 2", killed("INT"), killed=1, may_fail=2),
    "uwsgi-max-requests": Row("uwsgi", MASTER + "--max-requests 40", generations("INT", 4)),
    "uwsgi-skip-atexit": Row("uwsgi", MASTER + "--skip-atexit --threads 2", reload("HUP", "INT"), **RELOAD_OF_THREADS),
    "uwsgi-skip-atexit-teardown": Row("uwsgi", MASTER + "--skip-atexit-teardown --threads 2", reload("HUP", "INT"), **RELOAD_OF_THREADS),
    "uwsgi-cheaper": Row("uwsgi", UWSGI + "--master --processes 3 --cheaper 1 --cheaper-initial 1", cheaper, killed=(0, 3), loose_lines="cheap|worker|Worker"),
    "uwsgi-mules": Row("uwsgi", MASTER + "--mule={app}", asked("/mule", 3, "burn_mule"), functions=("burn_page", "burn_mule")),
    "uwsgi-spooler": Row(
        "uwsgi", MASTER + "--spooler {dir}/spool --spooler-frequency 1", asked("/spool", 3, "burn_spool"), functions=("burn_page", "burn_spool"),
        files={"spool/.keep": ""}, killed=(0, 1)  # the spooler, at the end
    ),
    "uwsgi-emperor": Row("uwsgi-emperor", "--emperor {dir}/vassals", emperor, files={"vassals/app.ini": VASSAL}),
    "uwsgi-hup": Row("uwsgi", MASTER, reload("HUP", "INT")),
    "uwsgi-hup-threads": Row("uwsgi", MASTER + "--threads 3", reload("HUP", "INT"), **RELOAD_OF_THREADS),
    "uwsgi-hup-no-master": Row("uwsgi", UWSGI, plain("INT", 1)),
    "uwsgi-brutal-reload": Row("uwsgi", MASTER + "--threads 2", reload("TERM", "INT"), may_fail=16, loose_lines="."),
    "uwsgi-touch-reload": Row("uwsgi", MASTER + "--touch-reload {dir}/touched", touch("touched", "INT"), files={"touched": ""}),
    "uwsgi-chain-reload": Row(
        "uwsgi", MASTER + "--lazy-apps --touch-chain-reload {dir}/touched", touch("touched", "INT"), files={"touched": ""}
    ),
    "uwsgi-worker-exec": Row(
        "uwsgi-bare",
        "--socket 127.0.0.1:{port} --master --processes 2 --worker-exec {dir}/worker",
        plain("INT"),
        files={"worker": "#!/bin/sh\nexec {python} {app} worker-exec\n"},
        loose_lines="^(KeyboardInterrupt)*$",  # two that end at once
    ),
    "uwsgi-osafterfork": Row("uwsgi", MASTER + "--py-call-osafterfork --threads 2 --enable-threads", reload("HUP", "INT"), **RELOAD_OF_THREADS),
    "uwsgi-two-apps": Row(
        "uwsgi",
        "--http-socket 127.0.0.1:{port} --master --processes 2 --manage-script-name --mount /one={app} --mount /two={app} --callable app --disable-logging",
        plain("INT"),
        paths=("/one/page/{ms}", "/two/page/{ms}"),
    ),
    "uwsgi-two-apps-threads": Row(
        "uwsgi",
        "--http-socket 127.0.0.1:{port} --master --processes 2 --threads 3 --manage-script-name --mount /one={app} --mount /two={app} --callable app --disable-logging",
        plain("INT"),
        paths=("/one/page/{ms}", "/two/page/{ms}"),
    ),
    "uwsgi-single-interpreter": Row(
        "uwsgi",
        "--http-socket 127.0.0.1:{port} --master --processes 2 --threads 2 --single-interpreter --manage-script-name --mount /one={app} --mount /two={app} "
        "--callable app --disable-logging",
        plain("INT"),
        paths=("/one/page/{ms}", "/two/page/{ms}"),
    ),
    "uwsgi-die-on-term": Row("uwsgi", MASTER + "--die-on-term", plain("TERM")),
}
