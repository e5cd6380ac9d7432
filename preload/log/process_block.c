/* SPDX-License-Identifier: Apache-2.0 */
/* Writes the PROCESS block: what a segment says of the process, and what of it changes later. */
#include "../base/hash.h"
#include "../base/message.h"
#include "../base/proc_file.h"
#include "../base/process.h"
#include "../base/safe_copy.h"
#include "../base/syscalls.h"
#include "../capture/capture.h"
#include "../context/facts.h"
#include "../threads/perf_clock.h"
#include "../threads/registry.h"
#include "../threads/timers.h"
#include "segment.h"
#include <string.h>
#include <sys/utsname.h>

#define COMMAND_LINE_MAX 16384
#define OWN_PATH_MAX     64
#define PADDING_MIN      3 /* NULs that pad a title in the place of the arguments, rather than empty arguments */
#define TITLE_NS         10000000000u
#define ARG_START_FIELD  48  /* of /proc/self/stat; env_end is the third after it */
#define CPU_MASK_WORDS   128 /* 8,192 processors: the kernel's most */

static struct pp_buffer fields;
static char buffer[COMMAND_LINE_MAX];
static struct pp_control_obeyed obeyed;

static void put_text_field(unsigned key, const char *text)
{
    pp_put_field(&fields, key, text, strlen(text));
}

static uint32_t count_pythons(void)
{
    uint32_t count = 0;
    while (pp_python_at(count))
        count++;
    return count;
}

/* Puts each version once of the interpreters that are read, or else that of an unreadable interpreter. */
static void put_python_versions(struct pp_segment *segment)
{
    char versions[PP_MAX_PYTHONS * (sizeof pp_process.python_version + 2)];
    struct pp_text text;
    pp_text_init(&text, versions, sizeof versions);
    segment->pythons = count_pythons();
    for (uint32_t i = 0; i < segment->pythons; i++) {
        bool again = false;
        for (uint32_t j = 0; j < i; j++)
            again |= strcmp(pp_python_at(i)->version, pp_python_at(j)->version) == 0;
        if (again)
            continue;
        pp_text_add(&text, i ? ", " : "");
        pp_text_add(&text, pp_python_at(i)->version);
    }
    if (!segment->pythons)
        pp_text_add(&text, pp_process.python_version);
    if (versions[0])
        put_text_field(PP_PROCESS_PYTHON_VERSION, versions);
}

/* Returns 0 if unknown. */
static unsigned count_cpus(void)
{
    uint64_t mask[CPU_MASK_WORDS];
    long bytes = pp_syscall4(SYS_sched_getaffinity, 0, sizeof mask, (long)mask, 0);
    unsigned count = 0;
    for (long i = 0; i < bytes / (long)sizeof *mask; i++)
        count += (unsigned)__builtin_popcountll(mask[i]);
    return count;
}

static void put_clock(struct pp_segment *segment)
{
    segment->clock = pp_events_clock();
    if (segment->clock)
        put_text_field(PP_PROCESS_CLOCK, segment->clock);
}

static void put_contexts(struct pp_segment *segment)
{
    segment->contexts = atomic_load(&pp_capture.contexts);
    if (segment->contexts)
        put_text_field(PP_PROCESS_CONTEXTS, segment->contexts->text);
}

static void put_control(struct pp_segment *segment)
{
    segment->control = obeyed;
    pp_put_number_field(&fields, PP_PROCESS_PAUSED, obeyed.paused);
    pp_put_number_field(&fields, PP_PROCESS_CONTROL_SINCE_NS, obeyed.since_unix_ns);
    pp_put_number_field(&fields, PP_PROCESS_CONTROL_HZ, obeyed.hz);
    pp_put_number_field(&fields, PP_PROCESS_CONTROL_NS, obeyed.written);
}

static void put_period(struct pp_segment *segment)
{
    segment->period_ns = pp_timers_period_ns();
    pp_put_number_field(&fields, PP_PROCESS_PERIOD_NS, segment->period_ns);
}

/* Returns the path of a file of this process; of a thread when the main thread has ended, for then these are empty. */
static const char *own_path(const char *leaf, char path[OWN_PATH_MAX])
{
    return pp_format(path, OWN_PATH_MAX, "/proc/%s/%s", atomic_load(&pp_process.main_ended) ? "thread-self" : "self",
                     leaf);
}

/* Returns whether the command line differs from that in the segment. */
static bool read_command_line(struct pp_segment *segment, size_t *length)
{
    char path[OWN_PATH_MAX];
    *length = pp_read_file(own_path("cmdline", path), buffer, COMMAND_LINE_MAX);
    size_t end = *length;
    while (end && !buffer[end - 1])
        end--;
    if (*length - end >= PADDING_MIN)
        *length = end + 1;
    uint64_t sum = pp_hash(buffer, *length);
    bool differs = sum != segment->command_line_sum;
    segment->command_line_sum = sum;
    return differs;
}

/* Finds the arguments and the environment, one after the other, in the place of which a program puts its title. */
static void find_arguments(struct pp_segment *segment)
{
    char path[OWN_PATH_MAX];
    uintptr_t places[4] = {0};
    buffer[pp_read_file(own_path("stat", path), buffer, sizeof buffer - 1)] = 0;
    const char *at = pp_stat_field(buffer, ARG_START_FIELD);
    for (unsigned i = 0; at && i < 4; i++, at++)
        for (; *at >= '0' && *at <= '9'; at++)
            places[i] = 10 * places[i] + (uintptr_t)(*at - '0');
    segment->arguments = places[0];
    segment->arguments_size = places[3] > places[0] ? places[3] - places[0] : 0;
}

/* Returns whether the command line may be another than before: to read it takes as long as twenty copies. */
static bool arguments_changed(struct pp_segment *segment)
{
    size_t size = segment->arguments_size < sizeof buffer ? segment->arguments_size : sizeof buffer;
    if (!size || !pp_safe_copy(buffer, segment->arguments, size))
        return true;
    uint64_t sum = pp_hash(buffer, size);
    bool changed = sum != segment->arguments_sum;
    segment->arguments_sum = sum;
    return changed;
}

static void put_all(struct pp_segment *segment)
{
    char path[OWN_PATH_MAX];
    struct utsname host;
    put_text_field(PP_PROCESS_RUN, pp_config.run);
    put_text_field(PP_PROCESS_INSTANCE, segment->instance);
    if (segment->parent_instance[0])
        put_text_field(PP_PROCESS_PARENT_INSTANCE, segment->parent_instance);
    pp_put_number_field(&fields, PP_PROCESS_SEGMENT, segment->number);
    pp_put_number_field(&fields, PP_PROCESS_PID, (uint64_t)pp_sys_getpid());
    pp_put_number_field(&fields, PP_PROCESS_PPID, (uint64_t)pp_syscall4(SYS_getppid, 0, 0, 0, 0));
    long group = pp_syscall4(SYS_getpgid, 0, 0, 0, 0);
    pp_put_number_field(&fields, PP_PROCESS_GROUP, group > 0 ? (uint64_t)group : 0); /* a filter may forbid it */
    pp_put_number_field(&fields, PP_PROCESS_UID, (uint64_t)pp_syscall4(SYS_getuid, 0, 0, 0, 0));
    if (pp_syscall4(SYS_uname, (long)&host, 0, 0, 0) == 0)
        put_text_field(PP_PROCESS_HOST, host.nodename);
    size_t length = pp_read_file("/proc/sys/kernel/random/boot_id", buffer, 36);
    pp_put_field(&fields, PP_PROCESS_BOOT_ID, buffer, length);
    find_arguments(segment);
    arguments_changed(segment);
    read_command_line(segment, &length);
    pp_put_field(&fields, PP_PROCESS_COMMAND_LINE, buffer, length);
    long n = pp_sys_readlink(own_path("exe", path), buffer, sizeof buffer);
    pp_put_field(&fields, PP_PROCESS_EXECUTABLE, buffer, n > 0 ? (size_t)n : 0);
    n = pp_sys_readlink(own_path("ns/pid", path), buffer, sizeof buffer);
    pp_put_field(&fields, PP_PROCESS_PID_NAMESPACE, buffer, n > 0 ? (size_t)n : 0);
    n = pp_syscall4(SYS_getcwd, (long)buffer, sizeof buffer, 0, 0);
    pp_put_field(&fields, PP_PROCESS_CWD, buffer, n > 0 ? (size_t)n - 1 : 0);
    put_python_versions(segment);
    put_text_field(PP_PROCESS_LIBRARY_VERSION, PYPROF_VERSION);
    put_text_field(PP_PROCESS_ARCHITECTURE, PP_ARCHITECTURE);
    if (atomic_load(&pp_capture.libunwind))
        put_text_field(PP_PROCESS_UNWINDER, "libunwind");
    pp_put_number_field(&fields, PP_PROCESS_START_UNIX_NS, pp_process.start.unix_ns);
    put_period(segment);
    put_clock(segment);
    put_contexts(segment);
    if (obeyed.since_unix_ns)
        put_control(segment);
    if (pp_config.traces)
        put_text_field(PP_PROCESS_TRACES, pp_config.traces_text);
    if (pp_config.service[0])
        put_text_field(PP_PROCESS_SERVICE, pp_config.service);
    pp_put_number_field(&fields, PP_PROCESS_TICK_NS, pp_sys_tick_ns());
    pp_put_number_field(&fields, PP_PROCESS_CPUS, count_cpus());
}

void pp_segment_set_control(const struct pp_control_obeyed *now)
{
    obeyed = *now;
}

void pp_segment_put_process(struct pp_segment *segment, struct pp_buffer *out)
{
    pp_buffer_clear(&fields);
    put_all(segment);
    pp_put_block(out, PP_BLOCK_PROCESS, &fields, &segment->sequence);
}

/* Servers' workers set a title when they begin. Some keep changing it for what they do, so only early changes count. */
static void renew_title(struct pp_segment *segment)
{
    size_t length;
    if (pp_sys_clock_ns(CLOCK_MONOTONIC) - pp_process.start.monotonic_ns < TITLE_NS && arguments_changed(segment) &&
        read_command_line(segment, &length) && length)
        pp_put_field(&fields, PP_PROCESS_COMMAND_LINE, buffer, length);
}

void pp_segment_renew(struct pp_segment *segment, struct pp_buffer *out)
{
    pp_buffer_clear(&fields);
    renew_title(segment);
    if (count_pythons() != segment->pythons)
        put_python_versions(segment);
    if (pp_timers_period_ns() != segment->period_ns)
        put_period(segment);
    if (pp_events_clock() != segment->clock)
        put_clock(segment);
    if (atomic_load(&pp_capture.contexts) != segment->contexts)
        put_contexts(segment);
    if (memcmp(&obeyed, &segment->control, sizeof obeyed) != 0)
        put_control(segment);
    if (fields.length)
        pp_put_block(out, PP_BLOCK_PROCESS, &fields, &segment->sequence);
}
