#!/bin/sh
# gunicorn under the profiler: start.sh is gunicorn's command line. For a Procfile: "web: contrib/gunicorn/start.sh app:app".
# The profile goes to PYPROF_OUT; without it to pyprof.out where this is started.
exec pyprof run -- gunicorn "$@"
