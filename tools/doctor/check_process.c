/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../../preload/cpython/layout.h"
#include "../base/memory.h"
#include "checks.h"

#define FINAL_RELEASE 0xc /* a candidate's level; alpha and beta are below */

struct python {
    bool found, debug, prerelease;
    unsigned major, minor, micro;
    char *path;
};

/* Reads the version in a name: libpython3.8.so.1.0, python3.8. */
static void parse_name_version(struct python *python, const char *path)
{
    const char *base = strrchr(path, '/'), *name = strstr(base ? base : path, "python");
    char *end;
    if (!name)
        return;
    python->major = (unsigned)strtoul(name + strlen("python"), &end, 10);
    python->minor = *end == '.' ? (unsigned)strtoul(end + 1, NULL, 10) : 0;
}

/* Of a name that says no version, or Python 3 only, nothing is said. */
static enum pp_python_age age_of(const struct python *python)
{
    bool is_unknown = !python->major || (python->major == 3 && !python->minor);
    return is_unknown ? PP_PYTHON_KNOWN : pp_python_age_of(python->major, python->minor);
}

static bool is_too_old(const struct python *python)
{
    return age_of(python) == PP_PYTHON_TOO_OLD;
}

bool pt_check_python_name(const char *path, struct pt_findings *findings)
{
    struct python python = {0};
    char *real = realpath(path, NULL);
    parse_name_version(&python, real ? real : path);
    free(real);
    if (!is_too_old(&python))
        return true;
    pt_find(findings, PT_LEVEL_FAIL, "python", "Python %u.%u is too old", python.major, python.minor);
    pt_remedy(findings, "Python 3.%u to 3.%u can be profiled", pp_python_first_minor(), pp_python_last_minor());
    return false;
}

static void record_version(struct python *python, const struct pt_elf_facts *facts)
{
    python->debug = facts->python_debug;
    if (facts->python_version) {
        python->major = facts->python_version >> 24;
        python->minor = facts->python_version >> 16 & 0xff;
        python->micro = facts->python_version >> 8 & 0xff;
        python->prerelease = (facts->python_version >> 4 & 0xf) < FINAL_RELEASE;
    } else {
        parse_name_version(python, python->path);
    }
}

/* What marks an interpreter came with 3.7: older ones are known by their names. */
static bool examine(struct python *python, const char *here, const char *path)
{
    struct pt_elf_facts facts;
    struct python named = {0};
    parse_name_version(&named, path);
    if (!pt_elf_facts_read(here, &facts) || (!facts.python && !is_too_old(&named)))
        return false;
    python->found = true;
    python->path = pt_strdup(path);
    record_version(python, &facts);
    return true;
}

static bool accept_name(struct python *python, const char *path)
{
    struct pt_elf_facts unknown = {0};
    python->found = true;
    python->path = pt_strdup(path);
    record_version(python, &unknown);
    return true;
}

/* Finds the interpreter where the library does: in the executable, and in libraries named libpython. */
static void find_python(const struct pt_process_info *subject, struct python *python)
{
    struct pt_buffer program = pt_formatted("/proc/%d/exe", subject->pid);
    bool found = examine(python, program.data, subject->program ? subject->program : "");
    pt_buffer_free(&program);
    char *mapped;
    for (const char *at = subject->maps; !found && (mapped = pt_next_mapped(&at, "libpython"));) {
        PT_AUTO_FREE char *here = pt_process_info_path(subject, mapped);
        /* replaced by an upgrade, it cannot be read any more: its name tells */
        found = examine(python, here, mapped) || (access(here, R_OK) != 0 && accept_name(python, mapped));
        free(mapped);
    }
}

/* Returns false when there is none, as far as can be seen. */
static bool check_python(const struct pt_process_info *subject, struct pt_findings *findings)
{
    struct python python = {0};
    find_python(subject, &python);
    if (!python.found) {
        pt_find(findings, PT_LEVEL_FAIL, "python", "no Python in this process (%s): it is left alone", subject->name);
        pt_remedy(findings, "ask about a process that runs Python; profiling begins when this one starts it");
    } else if (python.debug || python.prerelease) {
        pt_find(findings, PT_LEVEL_WARN, "python", "%s is a %s: native frames only", python.path,
                python.debug ? "debug build" : "pre-release");
        pt_remedy(findings, "use a release build");
    } else if (is_too_old(&python)) {
        pt_find(findings, PT_LEVEL_FAIL, "python", "Python %u.%u in %s is too old", python.major, python.minor,
                python.path);
        pt_remedy(findings, "Python 3.%u to 3.%u can be profiled", pp_python_first_minor(), pp_python_last_minor());
    } else if (age_of(&python) == PP_PYTHON_TOO_NEW) {
        pt_find(findings, PT_LEVEL_WARN, "python", "%s: Python %u.%u is not known to this pyprof: native frames only",
                python.path, python.major, python.minor);
        pt_remedy(findings, "3.%u to 3.%u are read", pp_python_first_minor(), pp_python_last_minor());
    } else {
        pt_find(findings, PT_LEVEL_OK, "python", "Python %u.%u in %s", python.major, python.minor, python.path);
    }
    free(python.path);
    return python.found;
}

bool pt_check_process(const struct pt_process_info *subject, struct pt_findings *findings)
{
    if (subject->ended) {
        pt_find(findings, PT_LEVEL_FAIL, "process", "%d (%s) has ended; its parent has not taken notice yet",
                subject->pid, subject->name);
        pt_remedy(findings, "'pyprof report --pid %d' shows what it has left", subject->pid);
        return true;
    }
    if (strstr(subject->status, "\nState:\tT")) {
        pt_find(findings, PT_LEVEL_WARN, "process", "it is stopped: it uses no CPU time");
        pt_remedy(findings, "kill -CONT %d", subject->pid);
    }
    enum pt_level loaded = pt_check_library(subject, findings);
    bool python = loaded == PT_LEVEL_WARN || check_python(subject, findings);
    if (pt_findings_first(findings, PT_LEVEL_FAIL))
        return python;
    pt_check_sampling(subject, findings);
    pt_check_settings(subject, findings);
    pt_check_output(subject, findings);
    pt_check_log(subject, findings);
    return true;
}
