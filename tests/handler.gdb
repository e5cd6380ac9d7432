# For gdb -x: profiles the program that gdb runs, and leaves our signal alone (DEBUGGING.md).
handle SIGURG nostop noprint pass
set breakpoint pending on
set environment LD_PRELOAD build/libpyprof.so
set environment PYPROF_OUT build/debug.out
