# What a program does that has taken profilers by surprise.
load helper

each_function_under_its_own_name() {
    PYPROF_HZ=250 profiled "$PYTHON" "$WORKLOADS/many_functions.py" 600 1
    collapsed >stacks.txt
    # In every stack the functions are f0000, f0001, f0002 … as they call each other.
    grep -oE '(f[0-9]{4} \(many\.py:[0-9]+\);?)+' stacks.txt >chains.txt
    [ "$(wc -l <chains.txt)" -gt 3 ] || fail "no stacks of them: $(head -n 3 stacks.txt)"
    awk -F';' '{
        for (i = 1; i <= NF && $i != ""; i++)
            if (substr($i, 2, 4) + 0 != substr($1, 2, 4) + i - 1) { print "wrong at " i ": " $i; exit 1 }
    }' chains.txt
}

@test "600 functions on one stack keep their names" {
    with_some_pythons each_function_under_its_own_name
}

main_exits() {
    profiled "$PYTHON" "$WORKLOADS/main_exits.py"
    info >info.json
    reader accounting info.json
    [ "$(reader field info.json exited_threads)" -eq 2 ] || fail "not two ended threads: $(cat info.json)"
    reader near "$(reader field info.json cpu_ns)" 1320000000 5 "the process clock"
}

@test "the main thread leaves by pthread_exit: the process ends with its last thread, nothing counts twice" {
    with_some_pythons main_exits
}

@test "a file that has taken the place of stderr gets not a byte from us" {
    interpreter=$(list_pythons | awk 'NR == 1 { print $1 }')
    # The directory vanishes under the program, so that there is something to say.
    PYPROF_OUT=$PWD/out profiled "$interpreter" "$WORKLOADS/other_stderr.py" data 2.5 3>&- &
    wait_until 120 test -d out
    mv out gone
    touch out
    wait
    [ -e data ] && [ ! -s data ] || fail "it reads: $(cat data)"
}

@test "where nothing can be written whole, no files are left behind" {
    interpreter=$(list_pythons | awk 'NR == 1 { print $1 }')
    (
        ulimit -f 1
        profiled "$interpreter" "$WORKLOADS/spin.py" 3 >/dev/null 2>&1
    )
    [ -z "$(log_files)" ] || fail "left: $(ls -l pyprof.out)"
}

closes() {
    profiled "$PYTHON" "$WORKLOADS/churn.py" 2000
    info >info.json
    reader accounting info.json
    # A thread that has been joined may not have left the process when it ends: it is alive then.
    exited=$(reader field info.json exited_threads)
    alive=$(reader field info.json threads)
    [ $((exited + alive)) -eq 2001 ] || fail "not 2,000 threads and the main one: $exited ended, $alive alive"
    between 1900 "$exited" 2000 "ended threads"
    reader estimate info.json
}

@test "2,000 threads of 1 ms: each counted once, their CPU is in the functions, the sum closes" {
    with_some_pythons closes
}

plug_in() {
    library=$("$PYTHON" -c 'import sysconfig
print(sysconfig.get_config_var("LIBDIR"), sysconfig.get_config_var("INSTSONAME"), sep="/")')
    # Debian's interpreters are static, and where their libpython would be is another matter.
    if [[ $library != *.so* ]] || [ ! -e "$library" ]; then
        echo "linked into the program: nothing to unload"
        return 0
    fi
    [ -x "$BUILD/workloads/embeds" ] || make -C "$ROOT" -s BUILD="$BUILD" helpers
    home=$("$PYTHON" -c 'import sys; print(sys.base_prefix)')
    [ "$(PYTHONHOME=$home "$BUILD/workloads/embeds" "$library")" = gone ] || fail "it stays mapped without us"
    # The handler calls into the interpreter: it must not go away under it.
    profiled PYTHONHOME="$home" "$BUILD/workloads/embeds" "$library" >out.txt
    [ "$(cat out.txt)" = mapped ] || fail "it says: $(cat out.txt)"
    collapsed >stacks.txt
    cpu_near "$(reader inclusive stacks.txt burn_in_plugin)" 500000000 10 "in the interpreter"
    seen=$(grep -F 'burn_after_python (embeds)' stacks.txt | awk '{ n += $NF } END { print n + 0 }')
    cpu_near "$seen" 500000000 10 "after dlclose of the interpreter"
}

@test "a program that unloads its Python lives on, and is profiled" {
    with_each_python plug_in
}

takes_a_namespace() {
    plain=$("$PYTHON" "$WORKLOADS/unshare.py" | sort | uniq -c)
    # Where a process may not have one at all, nothing is to be seen.
    seen=$(profiled "$PYTHON" "$WORKLOADS/unshare.py" | sort | uniq -c)
    [ "$seen" = "$plain" ] || fail "without us: $plain; with us: $seen"
    info >info.json
    reader accounting info.json
}

@test "a program of one thread may unshare a user namespace" {
    with_some_pythons takes_a_namespace
}
