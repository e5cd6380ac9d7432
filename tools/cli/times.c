/* SPDX-License-Identifier: Apache-2.0 */
#include "times.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define LONGEST_SECONDS 1e9  /* limit of a length of time, so that nanoseconds do not overflow */
#define HIGHEST_YEAR    2200 /* so that nanoseconds since 1970 do not overflow */

bool pt_parse_duration(const char *text, uint64_t *ns)
{
    static const struct {
        const char *unit;
        double ns;
    } units[] = {{"ms", 1e6}, {"s", 1e9}, {"m", 60e9}, {"h", 3600e9}, {"d", 86400e9}};
    double sum = 0;
    bool good = *text;
    for (const char *at = text; good && *at;) {
        char *end;
        double number = strtod(at, &end), unit = 0;
        good = end != at && (isdigit((unsigned char)*at) || *at == '.') && number >= 0 && number <= LONGEST_SECONDS;
        size_t i = 0, count = sizeof units / sizeof units[0];
        while (good && i < count && strncmp(end, units[i].unit, strlen(units[i].unit)) != 0)
            i++;
        if (!*end && at == text) /* a number alone */
            unit = 1e9, at = end;
        else if (good && i < count)
            unit = units[i].ns, at = end + strlen(units[i].unit);
        good = good && unit > 0;
        sum += number * unit;
    }
    if (!good || sum > LONGEST_SECONDS * 1e9)
        return false;
    *ns = (uint64_t)sum;
    return true;
}

/* Reads a number of two or four digits; -1 if it is none. */
static int digits(const char **at, unsigned count)
{
    int value = 0;
    for (unsigned i = 0; i < count; i++) {
        if (!isdigit((unsigned char)(*at)[i]))
            return -1;
        value = 10 * value + ((*at)[i] - '0');
    }
    *at += count;
    return value;
}

static bool take(const char **at, char c)
{
    *at += **at == c;
    return (*at)[-1] == c;
}

/* Reads "14:05", "14:05:30" or "14:05:30.25" into the fields of a time; of less than a second *ns has. */
static bool read_clock(const char **at, struct tm *time, uint64_t *ns)
{
    time->tm_hour = digits(at, 2);
    if (time->tm_hour < 0 || !take(at, ':'))
        return false;
    time->tm_min = digits(at, 2);
    time->tm_sec = 0;
    *ns = 0;
    if (**at == ':') {
        (*at)++;
        time->tm_sec = digits(at, 2);
        uint64_t unit = PT_SECOND / 10;
        if (time->tm_sec >= 0 && **at == '.' && isdigit((unsigned char)(*at)[1]))
            for ((*at)++; isdigit((unsigned char)**at); (*at)++, unit /= 10)
                *ns += unit * (uint64_t)(**at - '0');
    }
    return time->tm_hour < 24 && time->tm_min >= 0 && time->tm_min < 60 && time->tm_sec >= 0 && time->tm_sec < 60;
}

static bool read_date(const char **at, struct tm *time)
{
    static const int days[] = {31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
    int year = digits(at, 4);
    if (year < 1970 || year > HIGHEST_YEAR || !take(at, '-'))
        return false;
    int month = digits(at, 2);
    if (month < 1 || month > 12 || !take(at, '-'))
        return false;
    int day = digits(at, 2), leap = month == 2 && year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
    time->tm_year = year - 1900;
    time->tm_mon = month - 1;
    time->tm_mday = day;
    return day >= 1 && day <= days[month - 1] + leap;
}

/* Reads "Z", "+01:00" or "+0100", if that follows. */
static bool read_zone(const char **at, bool *has_zone, int *offset)
{
    *has_zone = **at == 'Z' || **at == '+' || **at == '-';
    *offset = 0;
    if (!*has_zone || **at == 'Z') {
        *at += *has_zone;
        return true;
    }
    int sign = *(*at)++ == '-' ? -1 : 1, hours = digits(at, 2);
    *at += **at == ':';
    int minutes = hours < 0 ? -1 : digits(at, 2);
    *offset = sign * (3600 * hours + 60 * minutes);
    return hours >= 0 && hours < 24 && minutes >= 0 && minutes < 60;
}

/* Sets the date to that of today or yesterday, as the text says. */
static bool read_day(const char **at, struct tm *time)
{
    static const char *const words[] = {"today", "yesterday"};
    for (int i = 0; i < 2; i++)
        if (strncmp(*at, words[i], strlen(words[i])) == 0) {
            *at += strlen(words[i]);
            time->tm_mday -= i;
            return true;
        }
    return read_date(at, time);
}

static bool parse_moment(const char *text, uint64_t now_unix_ns, uint64_t *unix_ns)
{
    time_t now = (time_t)(now_unix_ns / PT_SECOND), seconds;
    struct tm time = {0};
    uint64_t ns = 0;
    bool has_zone = false, of_day = *text && text[1] && text[2] == ':';
    int offset = 0;
    if (!localtime_r(&now, &time) || (!of_day && !read_day(&text, &time)))
        return false;
    time.tm_hour = time.tm_min = time.tm_sec = 0;
    bool separated = *text == ' ' || *text == 'T', has_clock = of_day || separated;
    text += separated;
    if (has_clock && (!read_clock(&text, &time, &ns) || !read_zone(&text, &has_zone, &offset)))
        return false;
    if (*text || (has_zone && of_day))
        return false;
    time.tm_isdst = -1;
    struct tm local = time;
    seconds = has_zone ? timegm(&time) - offset : mktime(&local);
    if (of_day && seconds > now) {
        time.tm_mday--;
        seconds = mktime(&time);
    }
    if (seconds <= 0)
        return false;
    *unix_ns = (uint64_t)seconds * PT_SECOND + ns;
    return true;
}

bool pt_parse_when(const char *text, uint64_t now_unix_ns, struct pt_when *when)
{
    *when = (struct pt_when){.ready = strcmp(text, "ready") == 0};
    if (when->ready)
        return true;
    if (*text == '-')
        return pt_parse_duration(text + 1, &when->before_end_ns) && when->before_end_ns;
    return pt_parse_duration(text, &when->of_run_ns) || parse_moment(text, now_unix_ns, &when->unix_ns);
}
