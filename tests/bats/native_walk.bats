# Our walk of the native stack against libunwind's, in real interpreters and packages, sampled and at every instruction.
load lib/helper

# packages: prints a PYTHONPATH with those packages of native code that have wheels for $PYTHON; says which have none.
packages() {
    local package venv path=
    for package in numpy lxml orjson; do
        # where there is no wheel, compiling it would take longer than all the rest
        if venv=$(PIP_ONLY_BINARY=:all: venv_with "$package"); then
            path=$path:$(compgen -G "$venv/lib/python3*/site-packages")
        fi
    done
    echo "${path#:}"
}

# under_the_oracle SCRIPT ARGUMENTS...: leaves its log in oracle.tsv; see tests/unit/unwind_oracle_preload.c.
under_the_oracle() {
    local status=0
    g++ -O2 -shared -fPIC -o throwing.so "$WORKLOADS/lib/throwing.cc"
    # One thread: it is the one that is compared.
    # shellcheck disable=SC2153 # with_each_python sets PYTHON
    ORACLE_LOG=$PWD/oracle.tsv OPENBLAS_NUM_THREADS=1 timeout -k 5 "$TIMEOUT" env \
        LD_PRELOAD="$BUILD/unit/unwind_oracle_preload.so" "$PYTHON" "$WORKLOADS/$1" "${@:2}" 2>examples.txt || status=$?
    [ "$status" -eq 0 ] || fail "ended with $status: $(tail -n 20 examples.txt)"
}

# sums FILE...: prints what agrees by kind of code, and what does not by function. What libunwind finds by CFI after a stop of
# ours that has a name counts as if it were right. Fails too if a sample that is finished on a copy of its stack, without any
# unwind rows at first, has other frames than ours.
sums() {
    awk -F '\t' '
        function place(file, symbol) {
            if (symbol ~ /^\?/) return file ~ /^\?/ ? "no module" : file
            sub(/\+0x[0-9a-f]+$/, "", file)
            sub(/\+0x[0-9a-f]+$/, "", symbol)
            return symbol " of " file
        }
        function add(what) {
            count[what] += $4; complete[what] += $5; frames[what] += $6 + $9; agree[what] += $7; differ[what] += $8
            missing[what] += $9; unnamed[what] += $10; stopped[what] += $11; crashed[what] += $12; places[what] += $13
            finished[what] += $14; cut[what] += $15; wrong[what] += $16
        }
        function line(what) {
            return sprintf("%-20s %9d, %9d complete; %9d frames, %9d agree (%.5f %%), %d differ, %d behind our named stops; %d unnamed " \
                "stops, libunwind stopped first %d times, crashed %d times; %d instructions; %d finished on a copy, " \
                "%d cut, %d wrong", what, count[what], complete[what], frames[what], agree[what],
                100 * agree[what] / (frames[what] + !frames[what]), differ[what], missing[what], unnamed[what], stopped[what], crashed[what], places[what], finished[what], cut[what], wrong[what])
        }
        $1 == "phase" { add($2 " " $3); add("all " $3); add("all") }
        $1 == "dropped" { dropped += $4 }
        # What has no CFI is often without symbols too.
        $1 == "kind" && $5 ~ /^both/ {
            at = place($7, $8)
            sub(/\+0x[0-9a-f]+$/, "", at)
            kind[$5 ", " $6 ", at " at " (" $2 " " $3 ")"] += $4
        }
        $1 == "kind" && $5 !~ /^both/ {
            kind[$5 ", " $6 ", at " place($7, $8) ", innermost " place($9, $10) " (" $2 " " $3 ")"] += $4
        }
        END {
            for (what in count) if (what != "all") print line(what) | "sort"
            close("sort")
            print line("all")
            if (dropped) print dropped " not in this list:"
            for (k in kind) printf "%8d  %s\n", kind[k], k | "sort -rn"
            close("sort -rn")
            if (unnamed["all"] || agree["all"] < 0.999 * frames["all"] || wrong["all"]) exit 1
            if (finished["all"] < 0.99 * (count["all"] - count["all byte"])) exit 1
        }' "$@"
}

# Those that are always there; the other tests take their time.
@test "our native stacks are libunwind's: Python, libc, compression, sqlite, C++ exceptions" {
    under_the_oracle native_kinds.py 1000 3000 "$PWD/throwing.so" python libc compress sqlite exceptions
    sums oracle.tsv || fail "disagreement: $(head -n 60 examples.txt)"
}

all_kinds() {
    # Code that no CFI describes is generated.bats's.
    case $PYTHON in *-jit) return ;; esac
    PYTHONPATH=$(packages)
    export PYTHONPATH
    under_the_oracle native_kinds.py 3000 10000 "$PWD/throwing.so"
    cp oracle.tsv "$ALL/$(cksum <<<"$PYTHON" | cut -d' ' -f1).tsv"
    sums oracle.tsv || fail "disagreement: $(head -n 60 examples.txt)"
}

# bats test_tags=long
@test "our native stacks are libunwind's in 200,000 samples: numpy, OpenSSL, sqlite, lxml, Rust, C++ exceptions, the loader" {
    local kind samples
    ALL=$BATS_TEST_TMPDIR/all
    mkdir "$ALL"
    with_each_python all_kinds
    sums "$ALL"/*.tsv
    samples=$(awk -F '\t' '$1 == "phase" && $3 == "sample" { n += $4 } END { print n }' "$ALL"/*.tsv)
    [ "$samples" -ge 200000 ] || [ -n "${PYTHONS:-}" ] || fail "only $samples samples"
    for kind in python thread libc compress openssl tls sqlite loader numpy lxml rust exceptions; do
        grep -q "^phase	$kind	" "$ALL"/*.tsv || fail "nothing of $kind"
    done
}

all_bytes() {
    local all=()
    case $PYTHON in *-jit) return ;; esac
    # The libraries are nearly the same for each of them, and take minutes: with the oldest and the newest.
    if [[ $(list_pythons | sed -n '1p;$p') == *"$PYTHON "* ]]; then
        PYTHONPATH=$(packages)
        export PYTHONPATH
        all=("$PWD/throwing.so")
    fi
    under_the_oracle native_bytes.py "${all[@]}"
    sums oracle.tsv || fail "disagreement: $(head -n 60 examples.txt)"
}

# bats test_tags=long
@test "from each address in Python, libc, OpenSSL and other libraries our caller and its stack pointer are libunwind's" {
    with_each_python all_bytes
}

# library_shares FILE: "LIBRARY TENTHS-OF-A-PERCENT" from lines of "LIBRARY WEIGHT".
library_shares() {
    awk '{ sum += $2; of[$1] += $2 } END { for (l in of) printf "%s %d\n", l, 1000 * of[l] / sum }' "$1" | sort
}

as_perf_sees_it() {
    # Both sample the same run: another one's page faults cost something else.
    PYPROF_HZ=1000 profiled perf record -q -g -e cpu-clock -F 1000 -o perf.data "$PYTHON" "$WORKLOADS/library_mix.py" 10 >perf.err 2>&1
    # What the kernel does is its caller's, as with us: page faults of memmove, brk.
    perf script -i perf.data -F ip,dso 2>>perf.err | awk 'BEGIN { RS = "" } {
        frames = split($0, frame, "\n")
        for (i = 1; i < frames && frame[i] ~ /\[kernel|\[guest/; i++);
        sub(/^[^(]*\((.*\/)?/, "", frame[i])
        sub(/\)[^)]*$/, "", frame[i])
        if (frame[i] !~ /^libpyprof/) print (frame[i] ~ /^(libpython|python3)/ ? "python" : frame[i]), 1
    }' >perf.txt
    # A leaf that is a Python line is the eval function.
    collapsed | awk '{
        of = $(NF - 1)
        if (of !~ /\)$/ || of ~ /\((libpython|python3)[^)]*\)$/ || of ~ /:[0-9]+\)$/) of = "python"
        sub(/^.*\(/, "", of)
        sub(/\)$/, "", of)
        print of, $NF
    }' >ours.txt
    library_shares perf.txt >perf_shares.txt
    library_shares ours.txt >our_shares.txt
    grep -q '^libc' perf_shares.txt || fail "perf: $(cat perf_shares.txt perf.err)"
    join -a 1 -a 2 -e 0 -o 0,1.2,2.2 perf_shares.txt our_shares.txt >both.txt
    echo "$VERSION, perf and ours in 0.1 %: $(paste -sd, both.txt)" >>"$BATS_TEST_TMPDIR/shares"
    # Of 2,500 samples, by chance, 0.9 % of all.
    awk '{ d = $2 - $3; if (d < -40 || d > 40) bad = 1 } END { exit bad }' both.txt || fail "$(cat both.txt)"
}

# bats test_tags=long
@test "the shares of libc, the loader and extensions are those that perf finds" {
    perf record -q -e cpu-clock -o perf.data true >perf.err 2>&1 || skip "no perf events here: $(head -c 200 perf.err)"
    with_each_python as_perf_sees_it
    sed "s/^/# /" "$BATS_TEST_TMPDIR/shares" >&3
}
