# What is on disk when a process is killed, still runs, or lost the end of its file.
load lib/helper

has_spin() {
    collapsed >"$1" 2>"$1.err" && [ "$(reader inclusive "$1" spin)" -gt "$2" ]
}

@test "a running process is readable, and all but the last second after kill -9" {
    profiled "$PYTHON" "$WORKLOADS/spin.py" 60 >ready.txt 3>&- &
    wait_until 120 has_spin live.txt 2500000000
    pid=$(pgrep -f "spin.py 60" | while read -r p; do
        if [ "$(readlink "/proc/$p/cwd")" = "$PWD" ] && grep -qaF libpyprof "/proc/$p/maps"; then
            echo "$p"
        fi
    done | tail -n 1)
    kill -STOP "$pid"
    used=$(awk '{ print ($14 + $15) }' "/proc/$pid/stat")
    kill -KILL "$pid"
    wait $! || true
    collapsed >stacks.txt
    # Ticks of 10 ms. All but the last flush interval; a busy machine may delay a flush by as much again.
    total=$(awk '{ n += $NF } END { print int(n / 1e7) }' stacks.txt)
    between $((used - 200)) "$total" $((used + 20)) "hundredths of a second in the profile of a killed process that had used $used"
    adds_up
    "$PYPROF" report pyprof.out >report.txt
    grep -q spin report.txt || fail "report has no spin: $(cat report.txt)"
}

@test "a truncated file: what is left is readable, what is missing is said" {
    profiled "$PYTHON" "$WORKLOADS/spin.py" 2.6 3>&- &
    wait_until 120 has_spin live.txt 1000000000
    file=$(log_files)
    half=$(stat -c %s "$file")
    wait
    size=$(stat -c %s "$file")
    collapsed >whole.txt
    # All cuts are inside a block: one between two blocks makes a file as one that is still being written is. "half": what was
    # there in mid-run, and a part of the next flush. The definitions all come early, in blocks of a few KiB.
    for part in end half early; do
        rm -rf cut && mkdir cut
        case $part in
        end) bytes=$((size - 5)) ;;
        half) bytes=$((half + 20)) ;;
        early) bytes=100 ;;
        esac
        head -c "$bytes" "$file" >"cut/$(basename "$file")"
        OUT="cut" collapsed >cut.txt 2>cut.err || [ "$part" = early ] || fail "$part: $(cat cut.err)"
        lines_of cut.err 1 '[0-9]+ (bytes|B)\b.*|[Tt]runcated|cut' || fail "at $part"
        if [ "$part" = half ]; then
            between 500000000 "$(reader inclusive cut.txt spin)" 2500000000 "ns of spin in the first half"
        fi
    done
}
