# The first samples of a process, and of a library, meet code whose unwind rows are not there yet: the flush thread finishes
# their stacks.
load lib/helper

# Sums the samples of all processes, and those that were cut for want of rows.
count_cut() {
    info --all >info.json
    samples=$(reader field info.json samples)
    collapsed --all --unit samples >all.txt
    cut=$(awk '/\[native stack truncated: no unwind rows yet\]/ { n += $NF } END { print n + 0 }' all.txt)
    echo "$samples samples, cut: $cut"
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
    [ "$samples" -ge 10 ]
    between 0 "$cut" $((samples / 100 + 1)) "samples cut of $samples: $(grep "no unwind rows" all.txt)"
    # each of them from _start on
    collapsed --unit samples >stacks.txt
    awk '{ all += $NF } /^_start / { whole += $NF } END { print whole + 0 " of " all; exit whole < 0.98 * all - 1 }' stacks.txt
}

@test "hardly a sample of a program of 0.3 s is cut for want of unwind rows" {
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
    between 0 "$cut" $((samples / 100)) "samples cut of $samples: $(grep "no unwind rows" all.txt)"
}

# A file is opened once for all functions that a flush names, not for each: a flush happens eight times a second at most.
names_of_a_file() {
    rm -rf "$PYPROF_OUT"
    PYPROF_HZ=250 profiled strace -f -qq -e trace=openat -o trace.txt "$PYTHON" -c '
import hashlib, json, re, time
while time.process_time() < 0.3:
    text = json.dumps(list(range(300)))
    json.loads(text), re.findall("[0-9]+", text), hashlib.sha256(text.encode()).hexdigest()
    sorted(str(i) for i in range(300))'
    collapsed --native all >stacks.txt
    tr ';' '\n' <stacks.txt | sed 's/ [0-9]*$//' | grep -E '\((libpython|python)' | sort -u >names.txt
    [ "$(wc -l <names.txt)" -ge 25 ] || fail "$(wc -l <names.txt) functions of the interpreter"
    awk 'NR == 1 { main = $1 } $1 != main' trace.txt | grep -oE '"[^"]*(libpython[^"]*|/proc/self/exe|bin/python[^"]*)"' |
        sort | uniq -c | sort -rn >opened.txt
    between 1 "$(awk '{ print $1; exit }' opened.txt)" 20 "times that a file was opened: $(cat opened.txt)"
}

@test "the flush thread opens a file once for many names" {
    with_each_python names_of_a_file
}

# A sample of the end is taken up when the interpreter has no sys.modules any more.
copies_at_the_end() {
    for ((n = 0; n < 6; n++)); do
        profiled strace -f -qq -e trace=process_vm_readv -o trace.txt "$PYTHON" -c '
import atexit, time
def work():
    end = time.process_time() + 0.002
    while time.process_time() < end: pass
atexit.register(work)'
        copies=$(awk 'NR == 1 { main = $1 } $1 != main && /process_vm_readv\(/' trace.txt | wc -l)
        [ "$copies" -le 1500 ] || fail "the flush thread has copied the program's memory $copies times"
    done
}

@test "the flush thread copies little of a program that ends at once" {
    with_each_python copies_at_the_end
}

@test "a stack with a hole in it, where process_vm_readv is refused: what lies above is left alone" {
    cat >hole.c <<'END'
#include <pthread.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
static double cpu(void)
{
    struct timespec now;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
    return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}
static void *spin(void *unused)
{
    char large[40960];
    memset(large, 1, sizeof large);
    char *page = (char *)(((uintptr_t)large + 8192) & ~(uintptr_t)4095);
    mprotect(page, 4096, PROT_NONE);
    for (double end = cpu() + 0.4; cpu() < end;)
        for (volatile int i = 0; i < 5000; i++) ;
    mprotect(page, 4096, PROT_READ | PROT_WRITE);
    return unused;
}
void hole(void)
{
    pthread_t thread;
    pthread_create(&thread, NULL, spin, NULL);
    pthread_join(thread, NULL);
}
END
    gcc -shared -fPIC -o hole.so hole.c
    for ((n = 0; n < 3; n++)); do
        profiled "$BUILD/workloads/filtered" old "$PYTHON" -c 'import ctypes; ctypes.CDLL("./hole.so").hole()' 2>err.txt
    done
    "$PYPROF" export --all --format collapsed | grep -q 'spin' || fail "no sample beside the hole"
}

@test "static TLS that takes nearly all of a stack of 256 KiB, or all of it" {
    for size in 200 239 244 249 252 400; do
        echo "__thread char big[$size * 1024] __attribute__((tls_model(\"initial-exec\"))); char *touch(void) { return big; }" >tls.c
        gcc -shared -fPIC -o tls.so tls.c
        rm -rf pyprof.out
        LIBPYPROF="$PWD/tls.so:$LIBPYPROF" profiled "$PYTHON" -c 'import json, time
while time.process_time() < 0.25: json.dumps(list(range(300)))'
        [ "$(reader field <(info) samples)" -ge 1 ]
    done
}

@test "what a program has wiped from its stack is not left in our copies of it" {
    cat >secret.c <<'CODE'
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
static volatile uint64_t half = 0x1234567890abcdef; /* the secret itself is in no file */
static uint64_t secret(void) { return half * 0x9E3779B97F4A7C15; }
#define F(n) __attribute__((noinline)) void f##n(void) { for (clock_t end = clock() + CLOCKS_PER_SEC / 50; clock() < end;) ; }
F(0) F(1) F(2) F(3) F(4) F(5) F(6) F(7) F(8) F(9)
void keep(void)
{
    volatile uint64_t words[64];
    for (int i = 0; i < 64; i++) words[i] = secret();
    f0(); f1(); f2(); f3(); f4(); f5(); f6(); f7(); f8(); f9();
    for (int i = 0; i < 64; i++) words[i] = 0;
}
/* Counts the secret's words in all private memory but the stacks. No register has the secret here: a sample in this
 * function would have it. */
int count(void)
{
    char line[256], kind[8];
    int found = 0;
    static uint64_t page[512];
    int memory = open("/proc/self/mem", O_RDONLY);
    FILE *maps = fopen("/proc/self/maps", "r");
    while (fgets(line, sizeof line, maps)) {
        unsigned long start, end;
        if (sscanf(line, "%lx-%lx %4s", &start, &end, kind) != 3 || strcmp(kind, "rw-p") || strstr(line, "[stack"))
            continue;
        for (; start < end; start += sizeof page) { /* our memory may be unmapped meanwhile */
            int words = (int)pread(memory, page, sizeof page, (off_t)start) / 8;
            for (int i = 0; i < words; i++) found += page[i] * 0xf1de83e19937733d == half; /* the factor's inverse */
        }
    }
    fclose(maps);
    memset(page, 0, sizeof page);
    return found;
}
CODE
    gcc -O0 -shared -fPIC -o secret.so secret.c
    profiled "$PYTHON" -c '
import ctypes, time
library = ctypes.CDLL("./secret.so")
library.keep()
time.sleep(1.5)
print(library.count())' >found.txt
    [ "$(cat found.txt)" = 0 ] || fail "$(cat found.txt) words are left"
    collapsed | grep -q 'keep' || fail "no sample beside the secret"
}

@test "a library in which no sample fell is not read" {
    PYPROF_HZ=50 profiled strace -f -qq -e trace=openat -o trace.txt "$PYTHON" -c 'import time, zlib, ssl
while time.process_time() < 0.5: zlib.crc32(bytes(1 << 20))'
    opened() { grep "$1" trace.txt | grep -vc ENOENT; }
    # the interpreter itself has opened each of them once
    [ "$(opened 'libz.so')" -ge 2 ] || fail "libz, which was met, was not read: $(grep libz trace.txt)"
    [ "$(opened 'libssl.so')" -le 1 ] || fail "$(grep libssl trace.txt)"
}

# many.so has 4000 functions, of which eight call each other: f0, f500, ... f3500. $1: what the frames have more, in words.
make_many() {
    {
        for ((n = 3999; n >= 0; n--)); do
            echo "int f$n(void) { volatile long a[$((2 + n % 5 + $1))]; a[0] = 1;"
            ((n % 500)) && echo "return (int)a[0]; }" && continue
            ((n == 3500)) && echo "for (volatile int i = 0; i < 100000000; i++) ; return (int)a[0]; }" && continue
            echo "return f$((n + 500))() + (int)a[0]; }"
        done
    } >many.c
    gcc -O0 -fomit-frame-pointer -shared -fPIC -Wl,--build-id=0x0123456789abcdef0123456789abcdef01234567 -o many.new many.c
    mv many.new many.so
}

# The Rss in kB of the mapping that holds the library's .eh_frame is printed at the end.
call_many() {
    local preload=$LIBPYPROF
    rm -rf pyprof.out
    [ "${1:-}" != without ] || preload=
    LIBPYPROF=$preload profiled "$PYTHON" -c '
import ctypes, os, re, subprocess, sys, time
library = ctypes.CDLL(os.path.abspath("many.so"))
header = subprocess.run(["readelf", "-SW", "many.so"], capture_output=True, text=True).stdout
offset = int(re.search(r"\.eh_frame +PROGBITS +\w+ (\w+)", header)[1], 16)
if sys.argv[1:2] == ["delete"]: os.unlink("many.so")
if sys.argv[1:2] == ["replace"]: os.rename("other.so", "many.so")
library.f0()
time.sleep(1.2)
maps = re.split(r"^(?=[0-9a-f]+-)", open("/proc/self/smaps").read(), flags=re.M)[1:]
for entry in maps:
    fields = entry.split("\n")[0].split()
    start, end = (int(word, 16) for word in fields[0].split("-"))
    if "many.so" in entry and int(fields[2], 16) <= offset < int(fields[2], 16) + end - start:
        print(re.search(r"Rss: +(\d+)", entry)[1])' "${1:-}"
}

# Without their file the functions have no names.
whole_of_many() {
    collapsed --unit samples >many.txt
    grep -Eq '^_start .*;([^;]*many.so[^;]*;){7}[^;]*many.so' many.txt || fail "no whole stack: $(grep many.so many.txt | head -n 3)"
    ! grep many.so many.txt | grep -v '^_start ' || fail "not all stacks are whole"
}

@test "unwind information is read from the file: no page of it becomes part of the process" {
    make_many 0
    call_many without >without.txt
    call_many >with.txt
    whole_of_many
    between 0 "$(cat with.txt)" "$(cat without.txt)" "kB of the library's .eh_frame"
}

@test "the unwind information of a file that was deleted, or replaced by another build with its build-id, is read from memory" {
    make_many 0
    cp many.so kept.so
    call_many delete >rss.txt
    whole_of_many
    make_many 20
    mv many.so other.so
    mv kept.so many.so
    call_many replace >rss.txt
    whole_of_many
}
