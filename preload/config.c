/* SPDX-License-Identifier: Apache-2.0 */
#include "base/config.h"
#include "base/keyed_hash.h"
#include "base/message.h"
#include "base/syscalls.h"
#include "common/settings.h"
#include "start.h"
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <unistd.h>

static uint64_t read_setting(enum pp_setting setting, enum pp_cause cause)
{
    uint64_t value;
    const char *text = getenv(pp_setting_names[setting]), *wrong = pp_setting_read(setting, text, &value);
    if (wrong)
        pp_warn_once(cause, "%s=%s %s", pp_setting_names[setting], text, wrong);
    return value;
}

/* Sets a variable for the programs that this process starts, or nothing if there is no memory. setenv frees the array
 * that it grows, under other threads' getenv: two interpreters that started at once crashed. This keeps the old array,
 * and replaces a variable in its place, as main's third argument shows it too. */
static void set_variable(enum pp_setting setting, const char *value)
{
    size_t name_length = strlen(pp_setting_names[setting]), size = name_length + strlen(value) + 2, count = 0;
    char *entry = pp_sys_mmap_anonymous(size);
    if (!entry)
        return;
    pp_format(entry, size, "%s=%s", pp_setting_names[setting], value);
    for (; environ && environ[count]; count++)
        if (strncmp(environ[count], entry, name_length + 1) == 0) {
            __atomic_store_n(&environ[count], entry, __ATOMIC_RELEASE);
            return;
        }
    char **grown = pp_sys_mmap_anonymous((count + 2) * sizeof *grown);
    if (!grown)
        return;
    for (size_t i = 0; i < count; i++)
        grown[i] = environ[i];
    grown[count] = entry;
    __atomic_store_n(&environ, grown, __ATOMIC_RELEASE);
}

static void read_traces(void)
{
    pp_config.traces = read_setting(PP_SETTING_TRACES, PP_CAUSE_CONFIG_TRACES);
    pp_config.traces_only = pp_config.traces & PP_TRACES_ONLY;
    if (pp_config.traces)
        pp_format(pp_config.traces_text, sizeof pp_config.traces_text, "%s",
                  getenv(pp_setting_names[PP_SETTING_TRACES]));
}

static int hex_value(char digit)
{
    const char *digits = "0123456789abcdef", *at = digit ? strchr(digits, digit | 0x20) : NULL;
    return at ? (int)(at - digits) : -1;
}

/* Returns the character at *at, one that is written as %20, too, and steps over it. */
static char decoded(const char **at)
{
    const char *text = *at;
    int high = *text == '%' ? hex_value(text[1]) : -1, low = high >= 0 ? hex_value(text[2]) : -1;
    *at += low >= 0 ? 3 : 1;
    return low >= 0 ? (char)(high << 4 | low) : *text;
}

/* Reads what the OpenTelemetry SDK takes for the service's name: OTEL_SERVICE_NAME, or service.name in the list of
 * attributes, whose values are percent-encoded. */
static void read_service(void)
{
    static const char key[] = "service.name=";
    const char *name = getenv("OTEL_SERVICE_NAME"), *attributes = getenv("OTEL_RESOURCE_ATTRIBUTES");
    size_t length = 0;
    if (name && *name) {
        pp_format(pp_config.service, sizeof pp_config.service, "%s", name);
        return;
    }
    for (const char *at = attributes; at; at = strchr(at, ',')) {
        at += strspn(at, ", ");
        if (strncmp(at, key, strlen(key)) != 0)
            continue;
        for (at += strlen(key); *at && *at != ',' && length + 1 < sizeof pp_config.service;)
            pp_config.service[length++] = decoded(&at);
        break;
    }
}

static void read_out(void)
{
    const char *value = getenv(pp_setting_names[PP_SETTING_OUT]);
    if (!value || !*value)
        value = PP_DEFAULT_OUT;
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
        pp_warn_once(PP_CAUSE_CONFIG_OUT, "PYPROF_OUT=… is too long a path: using " PP_DEFAULT_OUT);
        value = PP_DEFAULT_OUT;
    }
    pp_text_add(&out, value);
    set_variable(PP_SETTING_OUT, pp_config.out);
}

static bool is_run_id(const char *value)
{
    return strlen(value) == PP_RUN_ID_LENGTH && strspn(value, "0123456789abcdef") == PP_RUN_ID_LENGTH;
}

/* Makes an id that is the same in all processes that were forked from one program, which has no Python itself and
 * cannot pass an id on: from the random bytes that the kernel gives to each program it starts. Stack guards are made of
 * these, so the id must not tell them: they are a key. */
static void make_run(void)
{
    uint64_t key[2] = {0, 0};
    const void *bytes = (const void *)getauxval(AT_RANDOM);
    if (bytes)
        memcpy(key, bytes, sizeof key);
    if (!key[0] && !key[1]) {
        key[0] = pp_sys_random();
        key[1] = pp_sys_random();
    }
    pp_format(pp_config.run, sizeof pp_config.run, "%016lx%016lx", pp_keyed_hash(key, 0), pp_keyed_hash(key, 1));
}

static void read_run(void)
{
    const char *value = getenv(pp_setting_names[PP_SETTING_RUN]);
    pp_config.descends = value && is_run_id(value);
    if (pp_config.descends || (value && *value == PP_RUN_IS_NEW && is_run_id(value + 1)))
        pp_format(pp_config.run, sizeof pp_config.run, "%s", value + !pp_config.descends);
    else
        make_run();
    if (!pp_config.descends)
        set_variable(PP_SETTING_RUN, pp_config.run);
}

void pp_config_read(void)
{
    uint64_t hz = read_setting(PP_SETTING_HZ, PP_CAUSE_CONFIG_HZ);
    pp_config.period_ns = 1000000000u / hz;
    pp_config.clock = (enum pp_clock)read_setting(PP_SETTING_CLOCK, PP_CAUSE_CONFIG_CLOCK);
    pp_config.max_overhead_ppm = (uint32_t)read_setting(PP_SETTING_MAX_OVERHEAD, PP_CAUSE_CONFIG_OVERHEAD);
    pp_config.max_disk = read_setting(PP_SETTING_MAX_DISK, PP_CAUSE_CONFIG_DISK);
    pp_config.signal = (int)read_setting(PP_SETTING_SIGNAL, PP_CAUSE_CONFIG_SIGNAL);
    pp_config.libunwind = read_setting(PP_SETTING_UNWIND, PP_CAUSE_CONFIG_UNWIND);
    pp_config.verbose = read_setting(PP_SETTING_VERBOSE, PP_CAUSE_COUNT); /* never wrong */
    pp_config.starts_paused = read_setting(PP_SETTING_START, PP_CAUSE_CONFIG_START);
    read_traces();
    read_service();
    read_out();
    read_run();
}
