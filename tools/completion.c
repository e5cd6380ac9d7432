/* SPDX-License-Identifier: Apache-2.0 */
/* Completion: shells ask `pyprof complete` what may follow. */
#include <stdio.h>
#include <string.h>

#include "cli/options.h"
#include "load/load.h"
#include "load/runs.h"

/* Where nothing may follow but a file, or a command line after "--", the shell completes by itself. */
static const struct {
    const char *shell, *script;
} shells[] = {
    {"bash", "_pyprof() {\n"
             "    local current=${COMP_WORDS[COMP_CWORD]} kind=-f found='' i\n"
             "    for ((i = 2; i < COMP_CWORD; i++)); do\n"
             "        if [ \"${COMP_WORDS[i]}\" = -- ]; then\n"
             "            [ \"$i\" -ne $((COMP_CWORD - 1)) ] || kind=-c\n"
             "            mapfile -t COMPREPLY < <(compgen \"$kind\" -- \"$current\")\n"
             "            return\n"
             "        fi\n"
             "    done\n"
             "    found=$(\"${COMP_WORDS[0]}\" complete -- \"${COMP_WORDS[@]:1:COMP_CWORD}\" 2>/dev/null | cut -f1)\n"
             "    if [ -n \"$found\" ]; then\n"
             "        mapfile -t COMPREPLY < <(compgen -W \"$found\" -- \"$current\")\n"
             "    else\n"
             "        mapfile -t COMPREPLY < <(compgen -f -- \"$current\")\n"
             "    fi\n"
             "}\n"
             "complete -o filenames -F _pyprof pyprof\n"},
    {"zsh", "#compdef pyprof\n"
            "_pyprof() {\n"
            "    local at=${words[(i)--]}\n"
            "    local -a found\n"
            "    if ((at < CURRENT)); then\n"
            "        shift $at words\n"
            "        ((CURRENT -= at))\n"
            "        _normal\n"
            "        return\n"
            "    fi\n"
            "    found=(${(f)\"$($words[1] complete -- \"${(@)words[2,CURRENT]}\" 2>/dev/null)\"})\n"
            "    found=(\"${(@)found//:/\\\\:}\")\n"
            "    found=(\"${(@)found/$'\\t'/:}\")\n"
            "    if (($#found)) && [[ -n $found ]]; then\n"
            "        _describe value found\n"
            "    else\n"
            "        _files\n"
            "    fi\n"
            "}\n"
            "_pyprof \"$@\"\n"},
    {"fish", "function __pyprof_complete\n"
             "    set -l words (commandline -opc) (commandline -ct)\n"
             "    set -l found\n"
             "    if set -l at (contains -i -- -- $words[1..-2])\n"
             "        complete -C (string join ' ' -- (string escape -- $words[(math $at + 1)..-2]) $words[-1])\n"
             "    else if set found ($words[1] complete -- $words[2..-1] 2>/dev/null); and test -n \"$found\"\n"
             "        printf '%s\\n' $found\n"
             "    else\n"
             "        __fish_complete_path $words[-1]\n"
             "    end\n"
             "end\n"
             "complete -c pyprof -f -a '(__pyprof_complete)'\n"},
};
#define SHELLS (sizeof shells / sizeof shells[0])

int pt_cmd_completion(const struct pt_cli *cli)
{
    for (size_t i = 0; cli->argument_count == 1 && i < SHELLS; i++) {
        if (strcmp(cli->arguments[0], shells[i].shell) == 0) {
            fputs(shells[i].script, stdout);
            return PT_EXIT_OK;
        }
    }
    return pt_exit_with(PT_EXIT_USAGE, "missing shell: pyprof completion bash, zsh or fish");
}

/* Prints the words that begin as is typed. */
static void put_words(const char *words, const char *typed)
{
    for (; *words; words += strspn(words, " ")) {
        size_t length = strcspn(words, " "), begun = strlen(typed);
        if (begun <= length && strncmp(words, typed, begun) == 0)
            printf("%.*s\n", (int)length, words);
        words += length;
    }
}

static void put_runs(void)
{
    struct pt_profile *profile =
        pt_load(&(struct pt_load_request){.keep = PT_KEEP_SUMS, .messages = &pt_messages_to_stderr});
    uint32_t count = 0;
    PT_AUTO_FREE struct pt_run *runs = profile ? pt_runs_of(profile, &count) : NULL;
    for (uint32_t i = 0; i < count; i++)
        printf("%.8s\t%s\n", pt_string(profile, runs[i].run),
               pt_string(profile, profile->processes.items[runs[i].first].command_line));
    pt_profile_free(profile);
}

static bool is_option(const struct pt_option *option, const char *word)
{
    return strncmp(word, "--", 2) == 0 ? strcmp(word + 2, option->name) == 0
                                       : option->letter && *word == '-' && word[1] == option->letter && !word[2];
}

static void put_options(const struct pt_command *command)
{
    puts("--help\tthis command's help");
    for (const struct pt_option *const *at = command->options; *at; at++)
        printf("--%s\t%s\n", (*at)->name, (*at)->help);
}

/* Prints nothing where a file may follow. */
int pt_cmd_complete(const struct pt_cli *cli)
{
    char **words = cli->arguments;
    int last = cli->argument_count - 1;
    const struct pt_command *command = last > 0 ? pt_command_named(cli->commands, words[0]) : NULL;
    if (last <= 0 || (last == 1 && strcmp(words[0], "help") == 0)) {
        puts("help\thelp of a command");
        for (unsigned i = 0; i < cli->commands->count; i++)
            if (!cli->commands->items[i].hidden)
                printf("%s\t%s\n", cli->commands->items[i].name, cli->commands->items[i].summary);
        if (last <= 0)
            puts("--help\n--version");
        return PT_EXIT_OK;
    }
    if (!command)
        return PT_EXIT_USAGE;
    for (const struct pt_option *const *at = command->options; *at; at++) {
        if (!(*at)->argument || !is_option(*at, words[last - 1]))
            continue;
        if ((*at)->choices)
            put_words((*at)->choices, "");
        else if ((*at)->value == PT_RUN_ID)
            put_runs();
        return PT_EXIT_OK;
    }
    if (*words[last] == '-')
        put_options(command);
    else if (command->words && *words[last])
        put_words(command->words, words[last]);
    else if (command->main == pt_cmd_completion)
        for (size_t i = 0; i < SHELLS; i++)
            puts(shells[i].shell);
    return PT_EXIT_OK;
}
