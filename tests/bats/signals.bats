# Programs that use our signal themselves, or block it.
load helper

blocked_signals() {
    profiled "$PYTHON" "$WORKLOADS/signals.py" masks
    collapsed >stacks.txt
    cpu_near "$(reader inclusive stacks.txt blocks_everything)" 600000000 8 "a thread that blocks every signal"
}

@test "a thread that blocks every signal is sampled, and sees the mask that it set" {
    with_some_pythons blocked_signals
}

ignored_signal() {
    profiled "$PYTHON" "$WORKLOADS/signals.py" dispositions
    collapsed >stacks.txt
    cpu_near "$(reader inclusive stacks.txt burn)" 600000000 8 "a program that ignores SIGPROF and takes that back"
}

@test "a program that sets SIGPROF to SIG_IGN and SIG_DFL lives on, is sampled, and sees what it set" {
    with_some_pythons ignored_signal
}

# 1.0 s at one signal each 50 ms. The kernel counts ticks here, not CPU time: beside other programs 26 came, or fewer. With
# ours among them there would be one more for each sample.
only_own_signals() {
    samples=$(info | reader field /dev/stdin samples)
    between 3 "$(cat own.txt)" $((28 + samples / 2)) "the program's own signals, beside $samples samples"
}

own_timer() {
    profiled "$PYTHON" "$WORKLOADS/own_itimer.py" >own.txt
    only_own_signals
    collapsed >stacks.txt
    cpu_near "$(reader inclusive stacks.txt spin)" 1000000000 10 "spin beside the program's own ITIMER_PROF"
}

@test "a program that uses ITIMER_PROF itself gets its signals, and is sampled" {
    with_some_pythons own_timer
}

another_signal() {
    PYPROF_SIGNAL=34 profiled "$PYTHON" "$WORKLOADS/own_itimer.py" >own.txt
    only_own_signals
    collapsed >stacks.txt
    cpu_near "$(reader inclusive stacks.txt spin)" 1000000000 10 "spin beside the program's own ITIMER_PROF"
}

@test "PYPROF_SIGNAL=34 leaves SIGPROF to a program that uses it" {
    with_some_pythons another_signal
}

inherited() {
    profiled "$PYTHON" "$WORKLOADS/signals.py" inherited
}

@test "a child inherits that SIGPROF is ignored or blocked as the program believes, however it is started" {
    with_some_pythons inherited
}
