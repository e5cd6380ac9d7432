/* SPDX-License-Identifier: Apache-2.0 */
/* A process without Python gets nothing from us: no constructor runs, and no system call is made but the loader's.
 * When Python appears (pp_start), the handler is installed, the calling thread registered and armed, and the flush
 * thread made; a fork child does the same again. */
#include "start.h"
#include "base/config.h"
#include "base/filter_trial.h"
#include "base/libc.h"
#include "base/libc_kind.h"
#include "base/loader_copy.h"
#include "base/loader_lock.h"
#include "base/mappings.h"
#include "base/memory_file.h"
#include "base/message.h"
#include "base/process.h"
#include "base/syscalls.h"
#include "capture/capture.h"
#include "capture/safe_read.h"
#include "flush/control.h"
#include "flush/lifecycle.h"
#include "flush/state.h"
#include "libunwind/libunwind.h"
#include "log/directory.h"
#include "modules/jit_code.h"
#include "python/find.h"
#include "threads/registry.h"
#include "threads/scan.h"
#include "threads/signal.h"
#include "threads/thread_slot.h"
#include <dlfcn.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/resource.h>

#define MAX_MAIN_STACK ((uintptr_t)1 << 30) /* without a limit */

static struct pp_python pythons[PP_MAX_PYTHONS];
static unsigned python_count;
static bool copies_work; /* memory that may be unmapped can be read */

/* In a page that the loader has written to anyway: what has nothing to do takes no fault for it. */
static bool dormant = true;

__attribute__((destructor)) static void unloaded(void)
{
    if (!dormant)
        pp_flush_at_exit();
}

static bool safe_copy_works(void)
{
    static const uint64_t from = 0x7079707972;
    uint64_t to = 0;
    return pp_safe_read(pp_sys_getpid(), &to, (uintptr_t)&from, sizeof to) && to == from;
}

static uintptr_t main_stack_size(void)
{
    struct rlimit limit = {MAX_MAIN_STACK, MAX_MAIN_STACK};
    pp_syscall4(SYS_prlimit64, 0, RLIMIT_STACK, 0, (long)&limit);
    return limit.rlim_cur < MAX_MAIN_STACK ? (uintptr_t)limit.rlim_cur : MAX_MAIN_STACK;
}

/* The sums begin when Python appears: a python executable has used 50 to 90 us since its libraries were loaded. */
static void note_birth(void)
{
    struct rusage usage;
    pp_process.start.unix_ns = pp_sys_clock_ns(CLOCK_REALTIME);
    pp_process.start.monotonic_ns = pp_sys_clock_ns(CLOCK_MONOTONIC);
    pp_process.start.process_cpu_ns = pp_sys_clock_ns(CLOCK_PROCESS_CPUTIME_ID);
    pp_process.start.thread_cpu_ns = pp_sys_clock_ns(CLOCK_THREAD_CPUTIME_ID);
    pp_process.start.children_cpu_ns = pp_children_cpu_ns();
    pp_process.main_stack_top = pp_libc_main_stack_top();
    pp_process.main_stack_low = pp_process.main_stack_top ? pp_process.main_stack_top - main_stack_size() : 0;
    if (pp_syscall4(SYS_getrusage, RUSAGE_SELF, (long)&usage, 0, 0) != 0)
        return;
    pp_process.start.voluntary_switches = (uint64_t)usage.ru_nvcsw;
    pp_process.start.involuntary_switches = (uint64_t)usage.ru_nivcsw;
    pp_process.start.minor_faults = (uint64_t)usage.ru_minflt;
    pp_process.start.major_faults = (uint64_t)usage.ru_majflt;
}

static void on_thread_end(struct pp_slot *slot)
{
    if (slot->thread.is_main)
        pp_flush_thread_outlives_main();
    pp_thread_end(slot);
}

/* The first Python, readable or not, is the reason to profile this process. */
static bool start_profiling(void)
{
    if (getauxval(AT_SECURE))
        return false; /* more privileged than the user that chose its environment and directory */
    if (!pp_is_first_copy())
        return false;
    pp_warn_remember_stderr();
    if (!pp_libc_find()) {
        pp_warn_once(PP_CAUSE_START,
                     "the C library is neither glibc nor musl as this pyprof knows it: process %u is "
                     "not profiled",
                     (unsigned)pp_sys_getpid());
        return false;
    }
    pp_directory_remember_root();
    pp_config_read();
    pp_capture.traces_kept = pp_config.traces != 0;
    pp_capture.traces_only = pp_config.traces_only;
    pp_capture.traces_highest = pp_config.traces ? pp_traces_highest(pp_config.traces) : 0;
    pp_control_begin();
    pp_capture.tick_ns = pp_sys_tick_ns();
    pp_capture.overhead_ppm = pp_config.max_overhead_ppm;
    if (pp_filter_forbids())
        return false;
    pp_jit_code_skip_older();
    pp_threads_learn_descriptor();
    pp_process_begins();
    pp_loader_lock_find(pp_real_symbol(RTLD_DEFAULT, "_rtld_global"));
    copies_work = safe_copy_works();
    if (!copies_work && !pp_memory_file.used) {
        pp_memory_file_begin();
        copies_work = safe_copy_works();
    }
    if (!copies_work)
        pp_memory_file_end();
    if (copies_work)
        pp_loader_visit_by_copies();
    else
        pp_warn_once(PP_CAUSE_SAFE_COPY, "neither process_vm_readv nor /proc/self/mem can be used here (a sandbox?): "
                                         "native frames only");
    if (pp_config.libunwind)
        pp_libunwind_load();
    if (!pp_signal_install())
        return false;
    note_birth();
    pp_threads_adopt_older();
    pp_flush_find_pythons = pp_start_if_initialized;
    return pp_threads_watch_ends(on_thread_end) && pp_fork_watch();
}

static void begin_here(void)
{
    atomic_store(&pp_capture.enabled, 1);
    if (pp_config.verbose)
        pp_warn_once(PP_CAUSE_START, "profiling process %u, Python %s, %lu samples per CPU second, into %s",
                     (unsigned)pp_sys_getpid(), pp_process.python_version, 1000000000u / pp_config.period_ns,
                     pp_config.out);
    struct pp_slot *slot = pp_slot_claim();
    if (slot) {
        uintptr_t self = (uintptr_t)pthread_self(), here = (uintptr_t)__builtin_frame_address(0);
        bool is_main = pp_sys_gettid() == pp_sys_getpid();
        pp_slot_begin_at(slot, pp_process.start.thread_cpu_ns);
        atomic_store(&pp_process.main_watched, is_main);
        uintptr_t low = pp_process.main_stack_low, top = pp_process.main_stack_top, end;
        if (!is_main) {
            if (!pp_mapping_around(here, &low, &end))
                low = 0;
            top = pp_libc_stack_top(self, here, &low);
        }
        pp_thread_begin(slot, low, top);
    }
    pp_flush_thread_start();
}

/* Takes up the interpreters that have appeared; true if profiling is now to begin. */
static bool add_pythons(void)
{
    struct pp_python candidate;
    const char *why;
    bool first = false;
    while (pp_python_find(&candidate, &why)) {
        if (dormant) {
            dormant = false;
            first = start_profiling();
        }
        if (!pp_libc_find())
            continue;
        if (first && (!pp_process.python_version[0] || (!why && !python_count)))
            memcpy(pp_process.python_version, candidate.version, sizeof candidate.version);
        if (!why && python_count == PP_MAX_PYTHONS)
            why = "there are too many interpreters";
        if (why) {
            pp_warn_once(pp_warned(PP_CAUSE_PYTHON_LAYOUT) ? PP_CAUSE_FURTHER_PYTHON : PP_CAUSE_PYTHON_LAYOUT,
                         "Python %s: native frames only, %s", candidate.version, why);
        } else if (copies_work) {
            struct pp_python *python = &pythons[python_count];
            if (!candidate.layout.heap_type.cached_keys)
                pp_warn_once(PP_CAUSE_PYTHON_CLASSES,
                             "Python %s: threads have the kernel's names, its classes are laid out in a way that this "
                             "pyprof does not know",
                             candidate.version);
            *python = candidate;
            python->index = (uint8_t)python_count;
            atomic_store_explicit(&pp_capture.pythons[python_count++], python, memory_order_release);
        }
    }
    return first;
}

/* Two threads may start interpreters at once: the second asks the first, which is searching, to search again. The word
 * is {pid, requests}: in the child of fork the thread that was searching may not exist. */
void pp_start_if_initialized(void)
{
    if (atomic_load(&pp_process.silent))
        return;
    static _Atomic uint64_t requests;
    uint64_t own = (uint64_t)(unsigned)pp_sys_getpid() << 32, word = atomic_load(&requests), mine;
    do
        mine = (word >> 32 == own >> 32 ? word : own) + 1;
    while (!atomic_compare_exchange_weak(&requests, &word, mine));
    if ((uint32_t)mine > 1)
        return;
    bool begin = add_pythons();
    while (!atomic_compare_exchange_strong(&requests, &mine, own))
        begin |= add_pythons();
    if (begin)
        begin_here();
}

void pp_start(uintptr_t code)
{
    pp_python_starts(code);
    pp_start_if_initialized();
}
