# The first samples of a process, and of a library, meet code whose unwind rows are not there yet: the flush thread finishes
# their stacks.
load lib/helper

# Sums the samples of all processes, and those that were cut for want of rows.
count_cut() {
    info --all >info.json
    samples=$(reader field info.json samples)
    reader truncated info.json >truncated.txt
    cut=$(sed -n 's/^native stack truncated: no unwind rows yet: //p' truncated.txt)
    echo "$samples samples, cut: ${cut:-0}"
}

short_programs() {
    local work='
import hashlib, json, re, time
def work():
    text = json.dumps(list(range(300)))
    json.loads(text), re.findall("[0-9]+", text), hashlib.sha256(text.encode()).hexdigest()
    sorted(str(i) for i in range(300))
while time.process_time() < 0.3: work()'
    for ((n = 0; n < 5; n++)); do
        PYPROF_HZ=250 profiled "$PYTHON" -c "$work"
    done
    count_cut
    [ "$samples" -ge 25 ]
    [ -z "$cut" ] || fail "$(cat truncated.txt)"
    # each of them from _start on
    collapsed --unit samples >stacks.txt
    awk '{ all += $NF } /^_start / { whole += $NF } END { print whole + 0 " of " all; exit whole < 0.98 * all - 1 }' stacks.txt
}

@test "no sample of a program of 0.3 s is cut for want of unwind rows" {
    with_each_python short_programs
}

@test "nor are those of 64 threads that start at once" {
    PYPROF_HZ=250 profiled "$PYTHON" -c '
import hashlib, threading
def work():
    for _ in range(30): hashlib.sha256(bytes(1 << 20)).hexdigest()
threads = [threading.Thread(target=work) for _ in range(64)]
for thread in threads: thread.start()
for thread in threads: thread.join()'
    count_cut
    [ "$samples" -ge 64 ]
    between 0 "${cut:-0}" $((samples / 100)) "samples cut of $samples: $(cat truncated.txt)"
}
