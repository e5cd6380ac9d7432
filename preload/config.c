#include "config.h"
#include "base/environment.h"
#include "base/message.h"
#include "base/syscalls.h"
#include "common/disk_quota.h"
#include <signal.h>
#include <stdlib.h>
#include <string.h>

#define DEFAULT_HZ           100
#define HIGHEST_HZ           1000
#define DEFAULT_OUT          "pyprof.out"
#define PPM_PER_PERCENT      10000
#define DEFAULT_OVERHEAD_PPM PPM_PER_PERCENT
#define DEFAULT_DISK         ((uint64_t)1 << 30)

struct pp_config pp_config;

/* A decimal number of at most 9 digits, -1 for anything else. */
static long parse_number(const char *text)
{
    long n = 0;
    size_t length = strlen(text);
    if (length == 0 || length > 9)
        return -1;
    for (; *text; text++) {
        if (*text < '0' || *text > '9')
            return -1;
        n = n * 10 + (*text - '0');
    }
    return n;
}

static void complain(enum pp_cause cause, const char *name, const char *value, const char *rest)
{
    char line[512];
    struct pp_text text;
    pp_text_init(&text, line, sizeof line);
    pp_text_add(&text, name);
    pp_text_add(&text, "=");
    pp_text_add(&text, value);
    pp_text_add(&text, rest);
    pp_warn_once(cause, line);
}

static void read_hz(void)
{
    const char *value = getenv("PYPROF_HZ");
    long hz = DEFAULT_HZ;
    if (value && *value) {
        hz = parse_number(value);
        if (hz < 1 || hz > HIGHEST_HZ) {
            complain(PP_CAUSE_CONFIG_HZ, "PYPROF_HZ", value,
                     " is not a number from 1 to 1000 (samples per CPU second): using 100");
            hz = DEFAULT_HZ;
        }
    }
    pp_config.period_ns = 1000000000u / (uint64_t)hz;
}

/* A decimal number of at most 4 decimals, with or without a % sign, as parts per million; -1 for anything else. */
static long parse_percent(const char *text)
{
    long ppm = 0, unit = 0;
    bool digits = false;
    for (; (*text >= '0' && *text <= '9') || (*text == '.' && !unit); text++) {
        if (*text == '.') {
            unit = PPM_PER_PERCENT;
            continue;
        }
        digits = true;
        if (unit == 1 || ppm > 1000 * PPM_PER_PERCENT)
            return -1;
        unit /= 10;
        ppm = unit ? ppm + (*text - '0') * unit : ppm * 10 + (*text - '0') * PPM_PER_PERCENT;
    }
    if (*text == '%')
        text++;
    return digits && !*text ? ppm : -1;
}

static void read_max_overhead(void)
{
    const char *value = getenv("PYPROF_MAX_OVERHEAD");
    pp_config.max_overhead_ppm = DEFAULT_OVERHEAD_PPM;
    if (!value || !*value)
        return;
    long ppm = parse_percent(value);
    if (ppm > 0 && ppm <= 100 * PPM_PER_PERCENT)
        pp_config.max_overhead_ppm = (uint32_t)ppm;
    else
        complain(PP_CAUSE_CONFIG_OVERHEAD, "PYPROF_MAX_OVERHEAD", value,
                 " is not a percentage above 0 and up to 100 (0.5, 2%): using 1");
}

static void read_max_disk(void)
{
    const char *value = getenv("PYPROF_MAX_DISK");
    pp_config.max_disk = DEFAULT_DISK;
    if (!value || !*value)
        return;
    uint64_t bytes = pp_disk_limit_of(value);
    if (bytes != UINT64_MAX)
        pp_config.max_disk = bytes;
    else
        complain(PP_CAUSE_CONFIG_DISK, "PYPROF_MAX_DISK", value,
                 " is not a size of 1M or more (500M, 2G; 0: no limit): using 1G");
}

static void read_signal(void)
{
    static const struct {
        const char *name;
        int number;
    } names[] = {{"SIGURG", SIGURG},       {"URG", SIGURG},       {"SIGPROF", SIGPROF},     {"PROF", SIGPROF},
                 {"SIGVTALRM", SIGVTALRM}, {"VTALRM", SIGVTALRM}, {"SIGSTKFLT", SIGSTKFLT}, {"STKFLT", SIGSTKFLT}};
    const char *value = getenv("PYPROF_SIGNAL");
    pp_config.signal = SIGURG;
    if (!value || !*value)
        return;
    long number = parse_number(value);
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (strcmp(value, names[i].name) == 0)
            number = names[i].number;
    /* 32 and 33 are glibc's own */
    if (number == SIGURG || number == SIGPROF || number == SIGVTALRM || number == SIGSTKFLT ||
        (number >= 34 && number <= 64))
        pp_config.signal = (int)number;
    else
        complain(PP_CAUSE_CONFIG_SIGNAL, "PYPROF_SIGNAL", value,
                 " is not SIGURG, SIGPROF, SIGVTALRM, SIGSTKFLT or the number of a real-time signal (34 to 64): using "
                 "SIGURG");
}

static void read_out(void)
{
    const char *value = getenv("PYPROF_OUT");
    if (!value || !*value)
        value = DEFAULT_OUT;
    struct pp_text out;
    pp_text_init(&out, pp_config.out, sizeof pp_config.out);
    if (*value != '/') {
        char here[PP_PATH_MAX];
        long n = pp_syscall4(SYS_getcwd, (long)here, sizeof here, 0, 0);
        /* "(unreachable)…" is what the kernel says of a directory outside our root */
        if (n > 1 && here[0] == '/') {
            pp_text_add(&out, here);
            pp_text_add(&out, n == 2 ? "" : "/");
        }
    }
    if (strlen(value) > sizeof pp_config.out - out.length - 128) {
        complain(PP_CAUSE_CONFIG_OUT, "PYPROF_OUT", "…", " is too long a path: using " DEFAULT_OUT);
        value = DEFAULT_OUT;
    }
    pp_text_add(&out, value);
    pp_environment_set("PYPROF_OUT", pp_config.out);
}

static void read_unwind(void)
{
    const char *value = getenv("PYPROF_UNWIND");
    pp_config.libunwind = value && strcmp(value, "libunwind") == 0;
    if (value && *value && !pp_config.libunwind && strcmp(value, "rows") != 0)
        complain(PP_CAUSE_CONFIG_UNWIND, "PYPROF_UNWIND", value, " is not rows or libunwind: using rows");
}

static bool is_run_id(const char *value)
{
    return strlen(value) == PP_RUN_ID_LENGTH && strspn(value, "0123456789abcdef") == PP_RUN_ID_LENGTH;
}

static void read_run(void)
{
    const char *value = getenv("PYPROF_RUN");
    struct pp_text run;
    pp_text_init(&run, pp_config.run, sizeof pp_config.run);
    if (value && is_run_id(value)) {
        pp_text_add(&run, value);
        return;
    }
    pp_text_add_hex(&run, pp_sys_random(), 16);
    pp_text_add_hex(&run, pp_sys_random(), 16);
    pp_environment_set("PYPROF_RUN", pp_config.run);
}

void pp_config_read(void)
{
    read_hz();
    read_max_overhead();
    read_max_disk();
    read_signal();
    read_unwind();
    read_out();
    read_run();
    const char *verbose = getenv("PYPROF_VERBOSE");
    pp_config.verbose = verbose && *verbose && strcmp(verbose, "0") != 0;
}
