/* SPDX-License-Identifier: Apache-2.0 */
/* Checks the settings as the library will read them: it warns of the same ones. */
#include <linux/perf_event.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "../../preload/common/settings.h"
#include "../base/library_path.h"
#include "checks.h"

#define TOPIC "settings"

static const char *value_of(const struct pt_process_info *subject, enum pp_setting setting)
{
    return pt_process_info_variable(subject, pp_setting_names[setting]);
}

int pt_setting_signal(const struct pt_process_info *subject)
{
    uint64_t number;
    pp_setting_read(PP_SETTING_SIGNAL, value_of(subject, PP_SETTING_SIGNAL), &number);
    return (int)number;
}

static void check_value(const struct pt_process_info *subject, enum pp_setting setting, struct pt_findings *findings)
{
    uint64_t value;
    const char *text = value_of(subject, setting), *wrong = pp_setting_read(setting, text, &value);
    if (!wrong)
        return;
    pt_find(findings, PT_LEVEL_WARN, TOPIC, "%s=%s %s", pp_setting_names[setting], text, wrong);
    pt_remedy(findings, "correct or unset it");
}

static void check_start(const struct pt_process_info *subject, struct pt_findings *findings)
{
    uint64_t paused;
    pp_setting_read(PP_SETTING_START, value_of(subject, PP_SETTING_START), &paused);
    if (!paused || subject->pid != getpid()) /* of a running process the timers tell */
        return;
    pt_find(findings, PT_LEVEL_WARN, TOPIC, "PYPROF_START=paused: what is started takes no samples");
    pt_remedy(findings, "pyprof ctl resume, once it runs");
}

static bool events_permitted(void)
{
    struct perf_event_attr attributes = {.type = PERF_TYPE_SOFTWARE,
                                         .size = sizeof attributes,
                                         .config = PERF_COUNT_SW_TASK_CLOCK,
                                         .exclude_kernel = 1,
                                         .exclude_hv = 1};
    long descriptor = syscall(SYS_perf_event_open, &attributes, 0, -1, -1, PERF_FLAG_FD_CLOEXEC);
    if (descriptor >= 0)
        close((int)descriptor);
    return descriptor >= 0;
}

static enum pp_clock clock_of(const struct pt_process_info *subject)
{
    uint64_t clock;
    pp_setting_read(PP_SETTING_CLOCK, value_of(subject, PP_SETTING_CLOCK), &clock);
    return (enum pp_clock)clock;
}

static void check_clock(const struct pt_process_info *subject, struct pt_findings *findings)
{
    uint64_t hz;
    pp_setting_read(PP_SETTING_HZ, value_of(subject, PP_SETTING_HZ), &hz);
    if (clock_of(subject) == PP_CLOCK_TICK) {
        pt_find(findings, PT_LEVEL_WARN, "clock",
                "kernel ticks, as PYPROF_CLOCK=tick says: work that always falls between two of them is not seen");
        pt_remedy(findings, "unset PYPROF_CLOCK");
        return;
    }
    if (subject->pid != getpid()) /* it may have other permissions: its profile says what it uses */
        return;
    if (events_permitted()) {
        pt_find(findings, PT_LEVEL_OK, "clock", "perf events are permitted here");
        return;
    }
    pt_find(findings, PT_LEVEL_WARN, "clock",
            "perf_event_open is not permitted here: kernel ticks are used, which do not see work that always falls "
            "between two of them%s",
            hz > PP_HIGHEST_TICK_HZ ? ", and fewer samples come than PYPROF_HZ asks for" : "");
    pt_remedy(findings, PT_REMEDY_OF_CLOCK);
}

/* The kernel sends no more samples than it has ticks. */
static void check_ticks(const struct pt_process_info *subject, struct pt_findings *findings)
{
    struct timespec tick;
    uint64_t hz;
    if (pp_setting_read(PP_SETTING_HZ, value_of(subject, PP_SETTING_HZ), &hz) ||
        clock_getres(CLOCK_REALTIME_COARSE, &tick) != 0 || tick.tv_sec || !tick.tv_nsec)
        return;
    unsigned long ticks = (unsigned long)(PT_SECOND / tick.tv_nsec);
    if (hz <= ticks || clock_of(subject) != PP_CLOCK_TICK)
        return;
    pt_find(findings, PT_LEVEL_WARN, TOPIC,
            "PYPROF_HZ=%lu is more than this kernel's %lu ticks per second: not more samples than that come",
            (unsigned long)hz, ticks);
    pt_remedy(findings, "without PYPROF_CLOCK=tick perf events may give more; PYPROF_HZ=%lu gives the same", ticks);
}

static void check_name(const char *name, size_t length, struct pt_findings *findings)
{
    for (size_t i = 0; i < PP_SETTING_COUNT; i++)
        if (strlen(pp_setting_names[i]) == length && strncmp(pp_setting_names[i], name, length) == 0)
            return;
    pt_find(findings, PT_LEVEL_WARN, TOPIC, "%.*s is no setting", (int)length, name);
    pt_remedy(findings, "see 'man libpyprof', ENVIRONMENT, for how they are spelt");
}

static bool was_overwritten(const struct pt_process_info *subject)
{
    const char *at = subject->maps;
    PT_AUTO_FREE char *mapped = pt_next_mapped(&at, PT_LIBRARY),
                      *entry = pt_preload_entry(pt_process_info_variable(subject, "LD_PRELOAD"));
    return mapped && !entry;
}

void pt_check_settings(const struct pt_process_info *subject, struct pt_findings *findings)
{
    uint32_t before = findings->count;
    if (!subject->environment)
        return;
    if (was_overwritten(subject)) {
        pt_find(findings, PT_LEVEL_WARN, TOPIC,
                "its environment does not name the library that is loaded: the program has written its title over it "
                "(setproctitle), or /etc/ld.so.preload is in use; PYPROF_OUT is taken for unset below");
        pt_remedy(findings, "'pyprof runs DIR' lists the directory that you know");
        return;
    }
    for (const char *at = subject->environment; *at; at += strlen(at) + 1)
        if (strncmp(at, "PYPROF_", 7) == 0)
            check_name(at, strcspn(at, "="), findings);
    for (enum pp_setting setting = 0; setting < PP_SETTING_OUT; setting++)
        check_value(subject, setting, findings);
    check_ticks(subject, findings);
    if (findings->count == before)
        pt_find(findings, PT_LEVEL_OK, TOPIC, "every PYPROF_ variable is valid");
    check_start(subject, findings);
    check_clock(subject, findings);
}
