/* The library's settings, as it will take them: what it complains about, so does this. */
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "../../preload/common/disk_quota.h"
#include "../run/library_path.h"
#include "checks.h"

#define TOPIC           "settings"
#define HIGHEST_HZ      1000
#define HIGHEST_PERCENT 100.0
#define LONGEST_NUMBER  9 /* digits */
#define FIRST_FREE_RT   34
#define LAST_RT         64
#define NS_PER_SECOND   1000000000

static const char *const known[] = {"PYPROF_OUT",     "PYPROF_HZ",  "PYPROF_SIGNAL", "PYPROF_MAX_OVERHEAD",
                                    "PYPROF_VERBOSE", "PYPROF_RUN", "PYPROF_UNWIND", "PYPROF_MAX_DISK"};

static long number_of(const char *text)
{
    size_t digits = strspn(text, "0123456789");
    return digits && digits <= LONGEST_NUMBER && !text[digits] ? atol(text) : -1;
}

static int signal_of(const char *text)
{
    static const struct {
        const char *name;
        int number;
    } names[] = {{"URG", SIGURG}, {"PROF", SIGPROF}, {"VTALRM", SIGVTALRM}, {"STKFLT", SIGSTKFLT}};
    const char *bare = strncmp(text, "SIG", 3) == 0 ? text + 3 : text;
    long number = number_of(text);
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (strcmp(bare, names[i].name) == 0 || number == names[i].number)
            return names[i].number;
    return number >= FIRST_FREE_RT && number <= LAST_RT ? (int)number : 0;
}

int pt_setting_signal(const struct pt_process_info *subject)
{
    const char *value = pt_process_info_variable(subject, "PYPROF_SIGNAL");
    int number = value ? signal_of(value) : 0;
    return number ? number : SIGURG;
}

static bool is_percentage(const char *text)
{
    size_t length = strspn(text, "0123456789.");
    char *end;
    double value = strtod(text, &end);
    return length && end == text + length && (!*end || strcmp(end, "%") == 0) && value > 0 && value <= HIGHEST_PERCENT;
}

static void check_rate(const char *value, struct pt_findings *findings)
{
    struct timespec tick;
    long hz = number_of(value);
    if (hz < 1 || hz > HIGHEST_HZ) {
        pt_find(findings, PT_LEVEL_WARN, TOPIC, "PYPROF_HZ=%s is not a number from 1 to %d: 100 is used", value,
                HIGHEST_HZ);
        pt_remedy(findings, "set it to a number of samples per second, or unset it");
        return;
    }
    if (clock_getres(CLOCK_REALTIME_COARSE, &tick) != 0 || tick.tv_sec || !tick.tv_nsec)
        return;
    long ticks = NS_PER_SECOND / tick.tv_nsec;
    if (hz <= ticks)
        return;
    pt_find(findings, PT_LEVEL_WARN, TOPIC,
            "PYPROF_HZ=%ld is more than this kernel's %ld ticks per second: not more samples than that come", hz,
            ticks);
    pt_remedy(findings, "nothing is wrong; PYPROF_HZ=%ld gives the same", ticks);
}

static void check_name(const char *name, size_t length, struct pt_findings *findings)
{
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if (strlen(known[i]) == length && strncmp(known[i], name, length) == 0)
            return;
    pt_find(findings, PT_LEVEL_WARN, TOPIC, "%.*s is no setting", (int)length, name);
    pt_remedy(findings, "see 'man libpyprof', ENVIRONMENT, for how they are spelt");
}

static bool was_overwritten(const struct pt_process_info *subject)
{
    const char *at = subject->maps;
    char *mapped = pt_next_mapped(&at, PT_LIBRARY),
         *entry = pt_preload_entry(pt_process_info_variable(subject, "LD_PRELOAD"));
    bool overwritten = mapped && !entry;
    free(mapped);
    free(entry);
    return overwritten;
}

void pt_check_settings(const struct pt_process_info *subject, struct pt_findings *findings)
{
    uint32_t before = findings->count;
    const char *hz = pt_process_info_variable(subject, "PYPROF_HZ");
    const char *signal = pt_process_info_variable(subject, "PYPROF_SIGNAL");
    const char *overhead = pt_process_info_variable(subject, "PYPROF_MAX_OVERHEAD");
    const char *disk = pt_process_info_variable(subject, "PYPROF_MAX_DISK");
    if (!subject->environment)
        return;
    if (was_overwritten(subject)) {
        pt_find(findings, PT_LEVEL_WARN, TOPIC,
                "its environment does not name the library that is loaded: the program has written its title over it "
                "(setproctitle), or /etc/ld.so.preload is in use; PYPROF_OUT is taken for unset below");
        pt_remedy(findings, "'pyprof runs DIR' looks into the directory that you know");
        return;
    }
    for (const char *at = subject->environment; *at; at += strlen(at) + 1)
        if (strncmp(at, "PYPROF_", 7) == 0)
            check_name(at, strcspn(at, "="), findings);
    if (hz)
        check_rate(hz, findings);
    if (signal && !signal_of(signal)) {
        pt_find(findings, PT_LEVEL_WARN, TOPIC, "PYPROF_SIGNAL=%s cannot be: SIGURG is used", signal);
        pt_remedy(findings, "SIGURG, SIGPROF, SIGVTALRM, SIGSTKFLT or the number of a real-time signal, 34 to 64");
    }
    if (overhead && !is_percentage(overhead)) {
        pt_find(findings, PT_LEVEL_WARN, TOPIC,
                "PYPROF_MAX_OVERHEAD=%s is not a percentage above 0 and up to 100: 1 is used", overhead);
        pt_remedy(findings, "a number like 0.5 or 2%%");
    }
    if (disk && pp_disk_limit_of(disk) == UINT64_MAX) {
        pt_find(findings, PT_LEVEL_WARN, TOPIC, "PYPROF_MAX_DISK=%s is not a size of 1M or more: 1G is used", disk);
        pt_remedy(findings, "a size like 500M or 2G, or 0 for no limit");
    }
    if (findings->count == before)
        pt_find(findings, PT_LEVEL_OK, TOPIC, "every PYPROF_ variable is valid");
}
