/* SPDX-License-Identifier: Apache-2.0 */
#include "settings.h"
#include <signal.h>
#include <string.h>

#define FIRST_RT_SIGNAL 34 /* 32 and 33 are glibc's own */
#define LAST_RT_SIGNAL  64
#define MAX_DIGITS      9
#define DECIMALS        4 /* digits after the point of a percentage */
#define TRACES_DECIMALS 15
#define DISK_DIGITS     19
#define DISK_MIN        ((uint64_t)1 << 20)
#define DISK_LEFT       ((uint64_t)64 << 20)
#define DISK_LEFT_SHARE 20

/* Reads the number at the start of the text; returns its number of digits. */
static size_t digits_of(const char *text, uint64_t *number)
{
    size_t digits = strspn(text, "0123456789");
    *number = 0;
    for (size_t i = 0; i < digits && i < DISK_DIGITS; i++)
        *number = *number * 10 + (uint64_t)(text[i] - '0');
    return digits;
}

static bool parse_number(const char *text, uint64_t *number)
{
    size_t digits = digits_of(text, number);
    return digits && digits <= MAX_DIGITS && !text[digits];
}

static bool parse_hz(const char *text, uint64_t *hz)
{
    return parse_number(text, hz) && *hz >= 1 && *hz <= PP_HIGHEST_HZ;
}

/* Reads a number with up to so many digits after the point, in units of the last of these. Returns the text that
 * follows, NULL for no such number. */
static const char *decimal_of(const char *text, unsigned most, uint64_t *units)
{
    uint64_t part = 0, unit = 1;
    size_t digits = digits_of(text, units), decimals = 0;
    text += digits;
    if (*text == '.') {
        decimals = digits_of(++text, &part);
        text += decimals;
    }
    for (unsigned i = 0; i < most; i++) {
        part *= i < decimals ? 1 : 10;
        unit *= 10;
    }
    if (digits + decimals == 0 || digits > MAX_DIGITS || decimals > most || *units > UINT64_MAX / 2 / unit)
        return NULL;
    *units = *units * unit + part;
    return text;
}

/* Parses a percentage into parts per million; the % sign is optional. */
static bool parse_percent(const char *text, uint64_t *ppm)
{
    text = decimal_of(text, DECIMALS, ppm);
    if (!text)
        return false;
    text += *text == '%';
    return !*text && *ppm > 0 && *ppm <= 100 * PP_PPM_PER_PERCENT;
}

static bool parse_traces(const char *text, uint64_t *part)
{
    text = decimal_of(text, TRACES_DECIMALS, part);
    if (!text || !*part || *part > PP_TRACES_ALL)
        return false;
    bool only = strcmp(text, ",only") == 0;
    *part |= only ? PP_TRACES_ONLY : 0;
    return only || !*text;
}

uint64_t pp_traces_highest(uint64_t value)
{
    value &= ~PP_TRACES_ONLY;
    /* both numbers are exact, so this is the double that the decimal number is nearest to, as in any program */
    double bound = (double)value / (double)PP_TRACES_ALL * 0x1p64;
    if (value >= PP_TRACES_ALL)
        return UINT64_MAX;
    uint64_t whole = (uint64_t)bound;
    double rest = bound - (double)whole;
    bool up = rest > 0.5 || (rest == 0.5 && whole & 1);
    return whole + up - 1;
}

/* Parses a size in bytes; the suffixes K, M, G and T are powers of 1024. */
static bool parse_size(const char *text, uint64_t *bytes)
{
    static const char units[] = "KkMmGgTt";
    size_t digits = digits_of(text, bytes);
    const char *unit = text[digits] ? strchr(units, text[digits]) : NULL;
    if (!digits || digits > DISK_DIGITS || (text[digits] && (!unit || text[digits + 1] || *bytes > UINT64_MAX >> 40)))
        return false;
    if (unit)
        *bytes <<= 10 * ((unit - units) / 2 + 1);
    return !*bytes || *bytes >= DISK_MIN;
}

static const struct {
    const char *name;
    int number;
} signals[] = {{"URG", SIGURG}, {"PROF", SIGPROF}, {"VTALRM", SIGVTALRM}, {"STKFLT", SIGSTKFLT}};

const char *pp_setting_signal_name(int number)
{
    for (size_t i = 0; i < sizeof signals / sizeof *signals; i++)
        if (number == signals[i].number)
            return signals[i].name;
    return NULL;
}

static bool parse_signal(const char *text, uint64_t *number)
{
    const char *bare = strncmp(text, "SIG", 3) == 0 ? text + 3 : text;
    bool is_number = parse_number(text, number);
    for (size_t i = 0; i < sizeof signals / sizeof *signals; i++) {
        if (strcmp(bare, signals[i].name) == 0 || (is_number && *number == (uint64_t)signals[i].number)) {
            *number = (uint64_t)signals[i].number;
            return true;
        }
    }
    return is_number && *number >= FIRST_RT_SIGNAL && *number <= LAST_RT_SIGNAL;
}

static bool parse_unwinder(const char *text, uint64_t *libunwind)
{
    *libunwind = strcmp(text, "libunwind") == 0;
    return *libunwind || strcmp(text, "rows") == 0;
}

static bool parse_clock(const char *text, uint64_t *clock)
{
    static const char *const names[] = {[PP_CLOCK_TICK] = "tick", [PP_CLOCK_PERF] = "perf", [PP_CLOCK_AUTO] = "auto"};
    *clock = 0;
    while (*clock < sizeof names / sizeof *names && strcmp(text, names[*clock]) != 0)
        ++*clock;
    return *clock < sizeof names / sizeof *names;
}

static bool parse_start(const char *text, uint64_t *paused)
{
    *paused = strcmp(text, "paused") == 0;
    return *paused || strcmp(text, "running") == 0;
}

static bool parse_switch(const char *text, uint64_t *on)
{
    *on = strcmp(text, "0") != 0;
    return true;
}

const char *const pp_setting_names[PP_SETTING_COUNT] = {
    [PP_SETTING_HZ] = "PYPROF_HZ",
    [PP_SETTING_MAX_OVERHEAD] = "PYPROF_MAX_OVERHEAD",
    [PP_SETTING_MAX_DISK] = "PYPROF_MAX_DISK",
    [PP_SETTING_SIGNAL] = "PYPROF_SIGNAL",
    [PP_SETTING_UNWIND] = "PYPROF_UNWIND",
    [PP_SETTING_CLOCK] = "PYPROF_CLOCK",
    [PP_SETTING_VERBOSE] = "PYPROF_VERBOSE",
    [PP_SETTING_START] = "PYPROF_START",
    [PP_SETTING_TRACES] = "PYPROF_TRACES",
    [PP_SETTING_OUT] = "PYPROF_OUT",
    [PP_SETTING_RUN] = "PYPROF_RUN",
};

static const struct {
    bool (*parse)(const char *text, uint64_t *value);
    uint64_t otherwise;
    const char *wrong;
} rules[] = {
    [PP_SETTING_HZ] = {parse_hz, 100, "is not a number from 1 to 5000 (samples per CPU second): using 100"},
    [PP_SETTING_MAX_OVERHEAD] = {parse_percent, PP_PPM_PER_PERCENT,
                                 "is not a percentage above 0 and up to 100 (0.5, 2%): using 1"},
    [PP_SETTING_MAX_DISK] = {parse_size, (uint64_t)1 << 30,
                             "is not a size of 1M or more (500M, 2G; 0: no limit): using 1G"},
    [PP_SETTING_SIGNAL] = {parse_signal, SIGURG,
                           "is not SIGURG, SIGPROF, SIGVTALRM, SIGSTKFLT or the number of a real-time signal (34 to "
                           "64): using SIGURG"},
    [PP_SETTING_UNWIND] = {parse_unwinder, false, "is not rows or libunwind: using rows"},
    [PP_SETTING_CLOCK] = {parse_clock, PP_CLOCK_AUTO, "is not auto, tick or perf: using auto"},
    [PP_SETTING_VERBOSE] = {parse_switch, false, ""},
    [PP_SETTING_START] = {parse_start, false, "is not running or paused: samples are taken from the start"},
    [PP_SETTING_TRACES] =
        {parse_traces, 0, "is not a number above 0 and up to 1, or that and \",only\" (0.01,only): no traces are kept"},
};

const char *pp_setting_read(enum pp_setting setting, const char *text, uint64_t *value)
{
    if (text && *text && rules[setting].parse(text, value))
        return NULL;
    *value = rules[setting].otherwise;
    return text && *text ? rules[setting].wrong : NULL;
}

bool pp_disk_is_full(uint64_t free_bytes, uint64_t all_bytes)
{
    uint64_t least = all_bytes / DISK_LEFT_SHARE;
    return free_bytes < (least < DISK_LEFT ? least : DISK_LEFT);
}
