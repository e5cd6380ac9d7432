/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "../base/fit.h"
#include "../base/library_path.h"
#include "../base/output.h"
#include "../base/terminal_text.h"
#include "../cli/options.h"
#include "../model/frame_text.h"
#include "checks.h"
#include "findings.h"
#include "process_info.h"

#define MAX_CHILDREN    64
#define LONGEST_PID     7  /* digits; 2^22 is the kernel's most */
#define NAME_COLUMNS    60 /* of children's command lines */
#define LONGEST_COMMAND 300

/* A process that no check finds at fault is in one of these states. */
enum state { SAMPLED, PAUSED, UNSEEN, STATES };

static enum state state_of(const struct pt_process_info *subject)
{
    return pt_is_unseen(subject) ? UNSEEN : pt_is_paused(subject) ? PAUSED : SAMPLED;
}

/* Prints all, and the verdict: the state, if nothing has failed. Returns the exit status. */
static int finish(const struct pt_cli *cli, const struct pt_findings *findings, const char *of, enum state state)
{
    bool failed = pt_findings_first(findings, PT_LEVEL_FAIL), works = !failed && state != UNSEEN;
    if (cli->json && !pt_findings_json(findings, works))
        return PT_EXIT_DATA;
    if (!cli->json) {
        pt_findings_print(findings);
        printf("%s ", of);
        if (failed)
            puts("does not work: see FAIL.");
        else if (state == UNSEEN)
            printf("cannot be seen by user %u.\n", (unsigned)geteuid());
        else
            puts(state == PAUSED ? "is paused." : "works.");
    }
    return works ? PT_EXIT_OK : PT_EXIT_DATA;
}

/* Adds a line for each descendant, and counts those with Python by their states. */
static void check_children(int pid, struct pt_findings *findings, uint32_t counts[STATES])
{
    uint32_t count, others = 0;
    PT_AUTO_FREE int *children = pt_descendants(pid, &count);
    for (uint32_t i = 0; i < count && i < MAX_CHILDREN; i++) {
        struct pt_process_info child;
        struct pt_findings own = {0};
        if (!pt_process_info_read(children[i], &child))
            continue;
        bool python = !child.ended && pt_check_process(&child, &own);
        const struct pt_finding *bad = pt_findings_first(&own, PT_LEVEL_FAIL);
        PT_AUTO_BUFFER typed = {0}, command = {0};
        pt_typed_command(&typed, child.command && *child.command ? child.command : child.name);
        pt_fit_text(&command, typed.length ? typed.data : "", NAME_COLUMNS);
        if (!python) {
            others++;
        } else if (bad) {
            pt_find(findings, PT_LEVEL_WARN, "child", "%d (%s): %s", child.pid, command.data, bad->what);
            pt_remedy(findings, "pyprof doctor %d", child.pid);
        } else {
            enum state state = state_of(&child);
            PT_AUTO_BUFFER said = {0};
            pt_buffer_text(&said, state == PAUSED ? "paused" : state == SAMPLED ? "sampled" : "");
            if (state == UNSEEN)
                pt_buffer_format(&said, "cannot be seen by user %u", (unsigned)geteuid());
            pt_find(findings, state == SAMPLED ? PT_LEVEL_OK : PT_LEVEL_WARN, "child", "%d (%s): %s, %.3f s CPU",
                    child.pid, command.data, said.data, (double)child.cpu_ns / 1e9);
            if (state == PAUSED)
                pt_remedy_pause(&child, findings);
            counts[state]++;
        }
        pt_findings_free(&own);
        pt_process_info_free(&child);
    }
    if (others)
        pt_find(findings, PT_LEVEL_OK, "child", "%u without Python: left alone", others);
    if (count > MAX_CHILDREN)
        pt_find(findings, PT_LEVEL_OK, "child", "and %u more", count - MAX_CHILDREN);
}

/* Lowers failures to warnings: a shell that is not profiled does no harm if the server that it runs is. */
static void excuse(struct pt_findings *findings)
{
    for (uint32_t i = 0; i < findings->count; i++)
        if (findings->items[i].level == PT_LEVEL_FAIL)
            findings->items[i].level = PT_LEVEL_WARN;
}

/* `pyprof run` does not have the library itself: its command is checked instead. */
static bool is_run(const struct pt_process_info *subject)
{
    return subject->program && strcmp(pt_base_name(subject->program), "pyprof") == 0 && subject->command &&
           strstr(subject->command, " run ");
}

static int examine_process(const struct pt_cli *cli, int pid)
{
    struct pt_process_info subject;
    PT_AUTO(pt_findings_free) struct pt_findings findings = {0};
    uint32_t counts[STATES] = {0};
    if (!pt_process_info_read(pid, &subject)) {
        pt_find(&findings, PT_LEVEL_FAIL, "process", "there is no process %d", pid);
        pt_remedy(&findings, "if it has ended, 'pyprof report --pid %d' shows what it has left", pid);
    } else {
        const char *command = subject.command && *subject.command ? subject.command : subject.name;
        pt_find(&findings, PT_LEVEL_OK, "process", "%d of user %u: %.*s", pid, (unsigned)subject.uid, LONGEST_COMMAND,
                command);
        bool run = is_run(&subject), python = !run && pt_check_process(&subject, &findings);
        if (python && !pt_findings_first(&findings, PT_LEVEL_FAIL))
            counts[state_of(&subject)]++;
        check_children(pid, &findings, counts);
        if (!python && counts[SAMPLED] + counts[PAUSED] + counts[UNSEEN])
            excuse(&findings);
        else if (run)
            pt_find(&findings, PT_LEVEL_FAIL, "child", "nothing that it has started is sampled");
        pt_process_info_free(&subject);
    }
    return finish(cli, &findings, "Sampling", counts[SAMPLED] ? SAMPLED : counts[PAUSED] ? PAUSED : UNSEEN);
}

/* Checks what holds for every program that is started from here. */
static int examine_here(const struct pt_cli *cli, char *const *command)
{
    struct pt_process_info own;
    PT_AUTO(pt_findings_free) struct pt_findings findings = {0};
    if (!pt_process_info_read(getpid(), &own))
        return pt_exit_with(PT_EXIT_DATA, "/proc cannot be read: mount it");
    if (command) {
        pt_check_command(&own, command, &findings);
    } else {
        PT_AUTO_FREE char *library = pt_find_library();
        if (library)
            pt_find(&findings, PT_LEVEL_OK, "library", "%s, pyprof " PYPROF_VERSION, library);
        else
            pt_find(&findings, PT_LEVEL_FAIL, "library", PT_LIBRARY " not found");
    }
    pt_check_machine(&own, &findings);
    pt_check_settings(&own, &findings);
    pt_check_output(&own, &findings);
    if (!command)
        pt_check_latest(cli, &findings);
    int status = finish(cli, &findings, command ? "Profiling it" : "Profiling here", SAMPLED);
    pt_process_info_free(&own);
    return status;
}

int pt_cmd_doctor(const struct pt_cli *cli)
{
    if (cli->after_dashes && cli->argument_count)
        return examine_here(cli, cli->arguments);
    if (!cli->argument_count && !cli->after_dashes)
        return examine_here(cli, NULL);
    if (cli->argument_count != 1)
        return pt_exit_with(PT_EXIT_USAGE,
                            "give one process id, or a command after '--': pyprof doctor -- python app.py");
    const char *text = cli->arguments[0];
    size_t digits = strspn(text, "0123456789");
    if (!digits || digits > LONGEST_PID || text[digits] || !atoi(text)) {
        struct stat status;
        if (stat(text, &status) == 0 && (S_ISDIR(status.st_mode) || pt_has_extension(text, ".pyprof")))
            return pt_exit_with(
                PT_EXIT_USAGE,
                "doctor takes a process id, or a command after '--'; for the profile: pyprof info %s, or "
                "PYPROF_OUT=%s pyprof doctor",
                text, text);
        return pt_exit_with(PT_EXIT_USAGE, "'%s' is no process id; a command follows '--': pyprof doctor -- %s", text,
                            text);
    }
    return examine_process(cli, atoi(text));
}
