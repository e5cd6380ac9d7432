#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cmd.h"
#include "doctor/checks.h"
#include "doctor/findings.h"
#include "doctor/subject.h"
#include "library_path.h"
#include "profile/frame_text.h"

/* Of the JSON; raised when a field changes its meaning or goes away. */
#define JSON_VERSION    1
#define MOST_CHILDREN   64
#define LONGEST_PID     7  /* digits; 2^22 is the kernel's most */
#define NAME_BYTES      60 /* of command lines, of children and of the process itself */
#define LONGEST_COMMAND 300

static int finish(const struct pp_cli *cli, const struct pp_findings *findings, const char *of)
{
    bool works = !pp_findings_first(findings, PP_LEVEL_FAIL);
    if (cli->json) {
        json_t *root = json_object();
        json_object_set_new(root, "version", json_integer(JSON_VERSION));
        json_object_set_new(root, "works", json_boolean(works));
        json_object_set_new(root, "checks", pp_findings_json(findings));
        json_dumpf(root, stdout, JSON_INDENT(2));
        putchar('\n');
        json_decref(root);
    } else {
        pp_findings_print(findings);
        printf("%s %s\n", of, works ? "works." : "does not work: see FAIL.");
    }
    return works ? PP_EXIT_OK : PP_EXIT_DATA;
}

/* One line for each descendant. Returns how many of them are sampled. */
static uint32_t check_children(int pid, struct pp_findings *findings)
{
    uint32_t count, sampled = 0, others = 0;
    int *children = pp_descendants(pid, &count);
    for (uint32_t i = 0; i < count && i < MOST_CHILDREN; i++) {
        struct pp_subject child;
        struct pp_findings own = {0};
        if (!pp_subject_read(children[i], &child))
            continue;
        bool python = !child.ended && pp_check_process(&child, &own);
        const struct pp_finding *bad = pp_findings_first(&own, PP_LEVEL_FAIL);
        const char *command = child.command && *child.command ? child.command : child.name;
        if (!python) {
            others++;
        } else if (bad) {
            pp_find(findings, PP_LEVEL_WARN, "child", "%d (%.*s): %s", child.pid, NAME_BYTES, command, bad->what);
            pp_remedy(findings, "pyprof doctor %d", child.pid);
        } else {
            pp_find(findings, PP_LEVEL_OK, "child", "%d (%.*s): sampled, %.3f s CPU", child.pid, NAME_BYTES, command,
                    (double)child.cpu_ns / 1e9);
            sampled++;
        }
        pp_findings_free(&own);
        pp_subject_free(&child);
    }
    if (others)
        pp_find(findings, PP_LEVEL_OK, "child", "%u without Python: left alone", others);
    if (count > MOST_CHILDREN)
        pp_find(findings, PP_LEVEL_OK, "child", "and %u more", count - MOST_CHILDREN);
    free(children);
    return sampled;
}

/* A shell that runs a server is asked about for the server's sake. */
static void excuse(struct pp_findings *findings)
{
    for (uint32_t i = 0; i < findings->count; i++)
        if (findings->items[i].level == PP_LEVEL_FAIL)
            findings->items[i].level = PP_LEVEL_WARN;
}

/* `pyprof run` is without the library itself: its command is what is asked about. */
static bool is_run(const struct pp_subject *subject)
{
    return subject->program && strcmp(pp_base_name(subject->program), "pyprof") == 0 && subject->command &&
           strstr(subject->command, " run ");
}

static int examine_process(const struct pp_cli *cli, int pid)
{
    struct pp_subject subject;
    struct pp_findings findings = {0};
    if (!pp_subject_read(pid, &subject)) {
        pp_find(&findings, PP_LEVEL_FAIL, "process", "there is no process %d", pid);
        pp_remedy(&findings, "if it has ended, 'pyprof report --pid %d' shows what it has left", pid);
    } else {
        const char *command = subject.command && *subject.command ? subject.command : subject.name;
        pp_find(&findings, PP_LEVEL_OK, "process", "%d of user %u: %.*s", pid, (unsigned)subject.uid, LONGEST_COMMAND,
                command);
        bool run = is_run(&subject), python = !run && pp_check_process(&subject, &findings);
        if (check_children(pid, &findings) && !python)
            excuse(&findings);
        else if (run)
            pp_find(&findings, PP_LEVEL_FAIL, "child", "nothing that it has started is sampled");
        pp_subject_free(&subject);
    }
    int status = finish(cli, &findings, "Sampling");
    pp_findings_free(&findings);
    return status;
}

/* What holds for all that is started from here. */
static int examine_here(const struct pp_cli *cli, const char *command)
{
    struct pp_subject own;
    struct pp_findings findings = {0};
    if (!pp_subject_read(getpid(), &own)) {
        pp_error("/proc cannot be read: mount it");
        return PP_EXIT_DATA;
    }
    if (command) {
        pp_check_command(&own, command, &findings);
    } else {
        char *library = pp_find_library();
        if (library)
            pp_find(&findings, PP_LEVEL_OK, "library", "%s, pyprof " PYPROF_VERSION, library);
        else
            pp_find(&findings, PP_LEVEL_FAIL, "library", "it was not found");
        free(library);
    }
    pp_check_machine(&own, &findings);
    pp_check_settings(&own, &findings);
    pp_check_output(&own, &findings);
    if (!command)
        pp_check_latest(cli, &findings);
    int status = finish(cli, &findings, command ? "Profiling it" : "Profiling here");
    pp_findings_free(&findings);
    pp_subject_free(&own);
    return status;
}

int pp_cmd_doctor(const struct pp_cli *cli)
{
    if (cli->after_dashes && cli->argument_count)
        return examine_here(cli, cli->arguments[0]);
    if (!cli->argument_count && !cli->after_dashes)
        return examine_here(cli, NULL);
    if (cli->argument_count != 1) {
        pp_error("say one process id, or a command behind '--': pyprof doctor -- python app.py");
        return PP_EXIT_USAGE;
    }
    const char *text = cli->arguments[0];
    size_t digits = strspn(text, "0123456789");
    if (!digits || digits > LONGEST_PID || text[digits] || !atoi(text)) {
        pp_error("'%s' is no process id; a command stands behind '--': pyprof doctor -- %s", text, text);
        return PP_EXIT_USAGE;
    }
    return examine_process(cli, atoi(text));
}
