/* SPDX-License-Identifier: Apache-2.0 */
/* Defines the control file, by which `pyprof ctl` tells the processes of a profile's directory what to do: it writes
 * the file, each flush thread reads it (flush/control.h), and the log says what was obeyed (PP_PROCESS_PAUSED).
 *
 * It is text, whole or not there, since it is renamed into its place:
 *
 *     pyprof-control 1
 *     written 1764236042123456789
 *     all paused until 1764236072
 *     all hz 50
 *     pid 4711 8123456 running
 *     end
 *
 * "written" is the CLOCK_REALTIME of the command, and greater than that of the file before. "all" is for every process,
 * "pid PID START" for the one that has this pid in its own namespace and began at START (field 22 of /proc/PID/stat),
 * which goes before. After "until", in seconds of CLOCK_REALTIME, the contrary holds. What is not said holds as the
 * process was started. */
#ifndef PP_COMMON_CONTROL_H
#define PP_COMMON_CONTROL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define PP_CONTROL_NAME  "control"
#define PP_CONTROL_MAX   16384u /* bytes */
#define PP_CONTROL_HEAD  "pyprof-control 1\n"
#define PP_CONTROL_TAIL  "end\n"
#define PP_CONTROL_NEVER UINT64_MAX

/* A process, as a line names it; pid 0: all processes. */
struct pp_control_scope {
    uint64_t pid, start_ticks;
};

enum pp_control_kind {
    PP_CONTROL_RUNNING,
    PP_CONTROL_PAUSED,
    PP_CONTROL_HZ, /* number: samples per second of CPU time; 0: as the process was started */
};

struct pp_control_line {
    struct pp_control_scope scope;
    enum pp_control_kind kind;
    uint64_t number;       /* of PP_CONTROL_HZ */
    uint64_t until_unix_s; /* of the other kinds; PP_CONTROL_NEVER: for good */
};

/* Reads the first line of what is left of the text into *line, and moves *at to the next. Returns false at the end of
 * the lines, and with *at NULL where the text is no control file. Begin with *at at the text's start and *written 0;
 * the text ends with a NUL. */
bool pp_control_next(const char **at, uint64_t *written, struct pp_control_line *line);

/* What the file says to a process. */
struct pp_control_orders {
    bool paused; /* until then, and the contrary from then on */
    uint64_t until_unix_s, hz, written;
};

/* Returns what holds for a process without a file. */
struct pp_control_orders pp_control_default(bool starts_paused);
/* Reads the text for this process. Returns false, and changes nothing, if it is no control file. */
bool pp_control_read(const char *text, const struct pp_control_scope *process, bool starts_paused,
                     struct pp_control_orders *orders);
bool pp_control_is_paused(const struct pp_control_orders *orders, uint64_t now_unix_s);

#endif
