/* SPDX-License-Identifier: Apache-2.0 */
/* Checks a command before it is run: what its file is, and whether the library could be preloaded into it. */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "../base/library_path.h"
#include "../base/memory.h"
#include "../base/output.h"
#include "../model/frame_text.h"
#include "checks.h"

#define TOPIC           "command"
#define PRELOAD         "LD_PRELOAD"
#define MAX_INTERPRETED 4   /* scripts that run scripts, as the kernel has it */
#define LINE_BYTES      256 /* as much of "#!…" as the kernel reads */
#define SHELL           "/bin/sh"

char *pt_command_path(const char *command)
{
    const char *path = getenv("PATH");
    struct stat status;
    if (strchr(command, '/')) {
        bool directory = stat(command, &status) == 0 && S_ISDIR(status.st_mode);
        if (!directory && access(command, X_OK) == 0)
            return pt_strdup(command);
        errno = directory ? EISDIR : errno;
        return NULL;
    }
    int error = ENOENT;
    for (const char *at = path ? path : "/bin:/usr/bin"; at; at = strchr(at, ':') ? strchr(at, ':') + 1 : NULL) {
        int length = (int)strcspn(at, ":");
        struct pt_buffer candidate = pt_formatted("%.*s%s%s", length, at, length ? "/" : "./", command);
        if (stat(candidate.data, &status) == 0 && S_ISREG(status.st_mode) && access(candidate.data, X_OK) == 0)
            return candidate.data;
        if (errno == EACCES)
            error = EACCES;
        pt_buffer_free(&candidate);
    }
    errno = error;
    return NULL;
}

/* Returns the program that the first line of a script names, also through /usr/bin/env; without one, the shell that
 * execvp runs it by, and *named is false. The caller frees. */
static char *interpreter_of(const char *path, bool *named)
{
    char line[LINE_BYTES + 1] = "";
    int file = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t length = file >= 0 ? read(file, line, LINE_BYTES) : 0;
    if (file >= 0)
        close(file);
    line[length > 0 ? length : 0] = '\0';
    line[strcspn(line, "\n")] = '\0';
    *named = strncmp(line, "#!", 2) == 0;
    char *save, *word = strtok_r(line + 2, " \t", &save);
    const char *base = word ? strrchr(word, '/') : NULL;
    if (base && strcmp(base, "/env") == 0)
        do
            word = strtok_r(NULL, " \t", &save);
        while (word && (*word == '-' || strchr(word, '=')));
    return pt_strdup(*named && word ? word : SHELL);
}

static bool is_privileged(const char *path, struct pt_findings *findings)
{
    struct stat status;
    char capabilities[64];
    /* rights that the user has already do not count */
    bool set_id = stat(path, &status) == 0 && ((status.st_mode & S_ISUID && status.st_uid != geteuid()) ||
                                               (status.st_mode & S_ISGID && status.st_gid != getegid()));
    if (!set_id && (geteuid() == 0 || getxattr(path, "security.capability", capabilities, sizeof capabilities) <= 0))
        return false;
    pt_find(findings, PT_LEVEL_FAIL, TOPIC, "%s %s: its loader ignores LD_PRELOAD", path,
            set_id ? "is set-user-ID or set-group-ID" : "has file capabilities");
    pt_remedy(findings, "a copy of the file without these rights can be profiled");
    return true;
}

/* Looks for an interpreter in the program only: libpython is checked when the process runs. */
static void say_python(const char *path, const struct pt_elf_facts *facts, struct pt_findings *findings)
{
    const char *base = strrchr(path, '/');
    base = base ? base + 1 : path;
    if (facts->python && facts->python_debug) {
        pt_find(findings, PT_LEVEL_WARN, "python", "%s is a debug build of Python: native frames only", base);
        pt_remedy(findings, "use a release build");
    } else if (!pt_check_python_name(path, findings)) {
        return;
    } else if (facts->python || strncmp(base, "python", 6) == 0) {
        pt_find(findings, PT_LEVEL_OK, "python", "%s is Python", base);
    } else {
        pt_find(findings, PT_LEVEL_OK, "python",
                "%s is not Python itself: profiling begins in those of its processes that start Python", base);
    }
}

static void check_preload(const struct pt_process_info *subject, const struct pt_elf_facts *program,
                          struct pt_findings *findings)
{
    PT_AUTO_FREE char *present = pt_preload_entry(getenv("LD_PRELOAD")), *found = present ? NULL : pt_find_library();
    if (!present && !found) {
        pt_find(findings, PT_LEVEL_FAIL, "library", PT_LIBRARY " not found");
        pt_remedy(findings, "install it next to pyprof: make install");
    } else if (pt_check_loadable(subject, present ? present : found, program, findings)) {
        pt_find(findings, PT_LEVEL_OK, "library", "%s can be preloaded, %s", present ? present : found,
                present ? "LD_PRELOAD names it" : "'pyprof run' does it");
    }
}

/* Programs that start another without LD_PRELOAD, where they have one of these options first; sudo always does. */
static const struct {
    const char *name, *options[4];
} clearing[] = {{"env", {"-", "-i", "--ignore-environment"}},
                {"su", {"-", "-l", "--login"}},
                {"runuser", {"-", "-l", "--login"}},
                {"sudo", {NULL}}};

static bool keeps_preload(char *const *arguments, struct pt_findings *findings)
{
    const char *name = pt_base_name(arguments[0]), *first = arguments[1] ? arguments[1] : "", *option = NULL;
    bool clears = false;
    for (size_t i = 0; i < sizeof clearing / sizeof clearing[0]; i++) {
        const char *const *options = clearing[i].options;
        if (strcmp(name, clearing[i].name) != 0)
            continue;
        for (clears = !*options; *options && !option; options++)
            option = strcmp(first, *options) == 0 ? first : NULL;
    }
    for (char *const *at = arguments + 1; *at; at++) {
        bool sets = strncmp(*at, PRELOAD "=", sizeof PRELOAD) == 0;
        if ((sets && (*at)[sizeof PRELOAD]) || strcmp(pt_base_name(*at), "pyprof") == 0)
            return true; /* what is set again counts */
        bool by_name = strcmp(*at, PRELOAD) == 0 && strcmp(at[-1], "-u") == 0;
        bool unsets = by_name || sets || strcmp(*at, "-u" PRELOAD) == 0 || strcmp(*at, "--unset=" PRELOAD) == 0;
        if (unsets && strcmp(name, "env") == 0)
            option = by_name ? "-u " PRELOAD : *at;
    }
    if (!clears && !option)
        return true;
    PT_AUTO_FREE char *own = pt_own_path();
    pt_find(findings, PT_LEVEL_FAIL, TOPIC, "%s%s%s removes LD_PRELOAD from the environment of what it starts", name,
            option ? " " : "", option ? option : "");
    pt_remedy(findings, "put '%s run --' after it, before the program that it starts", *own ? own : "pyprof");
    return false;
}

static char *cannot_be_seen(const char *path, struct pt_findings *findings)
{
    pt_find(findings, PT_LEVEL_WARN, TOPIC, "%s: %s", path, strerror(errno));
    pt_remedy(findings, "what it is cannot be seen by this user");
    return NULL;
}

/* Returns the path of the program that runs the script; NULL with a failure if it is not here. The caller frees. */
static char *script_interpreter(const char *path, struct pt_findings *findings)
{
    bool named;
    PT_AUTO_FREE char *name = interpreter_of(path, &named);
    char *interpreter = pt_command_path(name);
    size_t length = strlen(name);
    bool of_windows = length && name[length - 1] == '\r';
    if (interpreter) {
        pt_find(findings, PT_LEVEL_OK, TOPIC,
                named ? "%s is a script, run by %s" : "%s has no '#!' in its first line: it is run by %s", path,
                interpreter);
    } else {
        pt_find(findings, PT_LEVEL_FAIL, TOPIC, "%s is a script for %.*s%s, which is not here", path,
                (int)length - of_windows, name, of_windows ? "\\r" : "");
        pt_remedy(findings, of_windows ? "its lines end as those of Windows do: sed -i 's/\\r$//' takes that away"
                                       : "install that, or correct the script's first line");
    }
    return interpreter;
}

void pt_check_command(const struct pt_process_info *subject, char *const *arguments, struct pt_findings *findings)
{
    const char *command = arguments[0];
    char *path = pt_command_path(command);
    struct pt_elf_facts facts;
    if (!path) {
        pt_find(findings, PT_LEVEL_FAIL, TOPIC, "%s: %s", command,
                errno == ENOENT ? "command not found" : strerror(errno));
        if (errno == EACCES && pt_has_extension(command, ".py"))
            pt_remedy(findings, "it is run by Python: pyprof run -- python3 %s", command);
        else
            pt_remedy(findings, errno == ENOENT   ? "is it in PATH? else give its path"
                                : errno == EISDIR ? "name a program in it"
                                                  : "make it executable: chmod +x");
        return;
    }
    bool keeps = keeps_preload(arguments, findings);
    for (unsigned depth = 0; keeps && depth < MAX_INTERPRETED && !is_privileged(path, findings); depth++) {
        if (pt_elf_facts_read(path, &facts)) {
            pt_find(findings, PT_LEVEL_OK, TOPIC, "%s is a %s program", path, pt_elf_kind(&facts));
            say_python(path, &facts, findings);
            check_preload(subject, &facts, findings);
            break;
        }
        char *interpreter = errno ? cannot_be_seen(path, findings) : script_interpreter(path, findings);
        free(path);
        path = interpreter;
        if (!path)
            break;
    }
    free(path);
}
