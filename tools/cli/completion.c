/* Completions for shells, from the tables of verbs and options. */
#include <stdio.h>
#include <string.h>

#include "commands.h"

static bool takes(const struct pt_command *verb, unsigned option)
{
    return verb->options & pt_options[option].option;
}

static bool takes_command(const struct pt_command *verb)
{
    return strstr(verb->arguments, "COMMAND");
}

static void print_verbs(const char *before, const char *after)
{
    for (unsigned i = 0; i < pt_command_count; i++)
        if (!pt_commands[i].hidden)
            printf("%s%s%s", before, pt_commands[i].name, after);
}

/* In single quotes, of which none may be in the text; `special` gets a backslash. */
static void print_quoted(const char *text, const char *special)
{
    for (; *text; text++) {
        if (*text == '\'')
            fputs("'\\''", stdout);
        else if (strchr(special, *text))
            printf("\\%c", *text);
        else
            putchar(*text);
    }
}

static void print_bash_options(const struct pt_command *verb)
{
    printf("        %s)\n            options='--help", verb->name);
    for (unsigned i = 0; i < pt_option_count; i++)
        if (takes(verb, i))
            printf(" --%s", pt_options[i].name);
    printf("'\n            case $before in\n");
    for (unsigned i = 0; i < pt_option_count; i++) {
        const struct pt_option_row *row = &pt_options[i];
        if (!takes(verb, i) || !row->argument)
            continue;
        printf("                --%s", row->name);
        if (row->letter)
            printf(" | -%c", row->letter);
        if (row->choices)
            printf(") words='%s' ;;\n", row->choices);
        else if (row->option == PT_OPTION_RUN)
            printf(") words=$(pyprof runs 2>/dev/null | awk 'NR > 1 { print $1 }') ;;\n");
        else
            printf(") files=1 ;;\n");
    }
    printf("            esac\n            ;;\n");
}

static void print_bash(void)
{
    printf("# bash completion for pyprof. Made by `pyprof completion bash`.\n"
           "_pyprof() {\n"
           "    local current=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD - 1]} verb=${COMP_WORDS[1]}\n"
           "    local options='' words='' files='' i\n"
           "    COMPREPLY=()\n"
           "    if [ \"$COMP_CWORD\" -eq 1 ]; then\n"
           "        mapfile -t COMPREPLY < <(compgen -W '--help --version help");
    print_verbs(" ", "");
    printf("' -- \"$current\")\n"
           "        return\n"
           "    fi\n"
           "    if [ \"$verb\" = run ] || [ \"$verb\" = doctor ]; then\n"
           "        for ((i = 2; i < COMP_CWORD; i++)); do\n"
           "            if [ \"${COMP_WORDS[i]}\" = -- ]; then\n"
           "                if [ \"$i\" -eq $((COMP_CWORD - 1)) ]; then\n"
           "                    mapfile -t COMPREPLY < <(compgen -c -- \"$current\")\n"
           "                else\n"
           "                    mapfile -t COMPREPLY < <(compgen -f -- \"$current\")\n"
           "                fi\n"
           "                return\n"
           "            fi\n"
           "        done\n"
           "    fi\n"
           "    case $verb in\n"
           "        help) words='");
    print_verbs("", " ");
    printf("' ;;\n"
           "        completion) words='bash zsh fish' ;;\n");
    for (unsigned i = 0; i < pt_command_count; i++)
        if (pt_commands[i].options)
            print_bash_options(&pt_commands[i]);
    printf("    esac\n"
           "    if [ -n \"$words\" ]; then\n"
           "        mapfile -t COMPREPLY < <(compgen -W \"$words\" -- \"$current\")\n"
           "    elif [ -z \"$files\" ] && [[ $current == -* ]]; then\n"
           "        mapfile -t COMPREPLY < <(compgen -W \"$options\" -- \"$current\")\n"
           "    else\n"
           "        mapfile -t COMPREPLY < <(compgen -f -- \"$current\")\n"
           "    fi\n"
           "}\n"
           "complete -o filenames -F _pyprof pyprof\n");
}

static void print_zsh_options(const struct pt_command *verb)
{
    printf("        %s)\n            _arguments -S \\\n                '(-h --help)'{-h,--help}'[help]'", verb->name);
    for (unsigned i = 0; i < pt_option_count; i++) {
        const struct pt_option_row *row = &pt_options[i];
        if (!takes(verb, i))
            continue;
        const char *equals = row->argument ? "=" : "";
        if (row->letter)
            printf(" \\\n                '(-%c --%s)'{-%c%s,--%s%s}'[", row->letter, row->name, row->letter,
                   row->argument ? "+" : "", row->name, equals);
        else
            printf(" \\\n                '--%s%s[", row->name, equals);
        print_quoted(row->help, ":[]\\");
        putchar(']');
        if (row->argument)
            printf(":%s:", row->argument);
        if (row->choices)
            printf("(%s)", row->choices);
        else if (row->option == PT_OPTION_RUN)
            fputs("($(pyprof runs 2>/dev/null | awk \"NR > 1 { print \\$1 }\"))", stdout);
        else if (row->argument)
            fputs("_files", stdout);
        putchar('\'');
    }
    if (takes_command(verb))
        printf(" \\\n                '(-)1:command:_command_names -e' \\\n                '*::arguments:_normal'\n"
               "            ;;\n");
    else
        printf(" \\\n                '*: :_files'\n            ;;\n");
}

static void print_zsh(void)
{
    printf("#compdef pyprof\n# zsh completion for pyprof. Made by `pyprof completion zsh`.\n"
           "_pyprof() {\n"
           "    local -a verbs\n"
           "    verbs=(\n");
    for (unsigned i = 0; i < pt_command_count; i++) {
        if (pt_commands[i].hidden)
            continue;
        printf("        '%s:", pt_commands[i].name);
        print_quoted(pt_commands[i].summary, ":");
        printf("'\n");
    }
    printf("    )\n"
           "    if ((CURRENT == 2)); then\n"
           "        _describe verb verbs\n"
           "        return\n"
           "    fi\n"
           "    local verb=$words[2]\n"
           "    shift words\n"
           "    ((CURRENT--))\n"
           "    case $verb in\n"
           "        help) _describe verb verbs ;;\n"
           "        completion) _values shell bash zsh fish ;;\n");
    for (unsigned i = 0; i < pt_command_count; i++)
        if (pt_commands[i].options)
            print_zsh_options(&pt_commands[i]);
    printf("    esac\n}\n_pyprof \"$@\"\n");
}

/* What stands behind "--" is completed as a command line of its own. */
static void print_fish_command(const struct pt_command *verb)
{
    printf("complete -c pyprof -n '__fish_seen_subcommand_from %s; and contains -- -- (commandline -opc)' -x "
           "-a '(__fish_complete_subcommand --fcs-skip=2",
           verb->name);
    for (unsigned i = 0; i < pt_option_count; i++) {
        if (!takes(verb, i) || !pt_options[i].argument)
            continue;
        if (pt_options[i].letter)
            printf(" -%c", pt_options[i].letter);
        printf(" --%s", pt_options[i].name);
    }
    puts(")'");
}

static void print_fish(void)
{
    printf("# fish completion for pyprof. Made by `pyprof completion fish`.\n"
           "complete -c pyprof -n __fish_use_subcommand -f -l help -d 'the verbs'\n"
           "complete -c pyprof -n __fish_use_subcommand -f -l version\n"
           "complete -c pyprof -n __fish_use_subcommand -f -a help -d 'Help of a verb'\n"
           "complete -c pyprof -n '__fish_seen_subcommand_from help' -f -a '");
    print_verbs("", " ");
    puts("'");
    for (unsigned i = 0; i < pt_command_count; i++) {
        const struct pt_command *verb = &pt_commands[i];
        if (verb->hidden)
            continue;
        printf("complete -c pyprof -n __fish_use_subcommand -a %s -d '", verb->name);
        print_quoted(verb->summary, "");
        printf("'\n");
        if (takes_command(verb))
            print_fish_command(verb);
        for (unsigned j = 0; j < pt_option_count; j++) {
            const struct pt_option_row *row = &pt_options[j];
            if (!takes(verb, j))
                continue;
            printf("complete -c pyprof -n '__fish_seen_subcommand_from %s' -l %s", verb->name, row->name);
            if (row->letter)
                printf(" -s %c", row->letter);
            if (row->choices)
                printf(" -x -a '%s'", row->choices);
            else if (row->option == PT_OPTION_RUN)
                printf(" -x -a \"(pyprof runs 2>/dev/null | awk 'NR > 1 { print \\$1 }')\"");
            else if (row->argument)
                printf(" -r");
            fputs(" -d '", stdout);
            print_quoted(row->help, "");
            printf("'\n");
        }
    }
    printf("complete -c pyprof -n '__fish_seen_subcommand_from completion' -f -a 'bash zsh fish'\n");
}

int pt_cmd_completion(const struct pt_cli *cli)
{
    static const struct {
        const char *shell;
        void (*print)(void);
    } shells[] = {{"bash", print_bash}, {"zsh", print_zsh}, {"fish", print_fish}};
    for (size_t i = 0; cli->argument_count == 1 && i < sizeof shells / sizeof shells[0]; i++) {
        if (strcmp(cli->arguments[0], shells[i].shell) == 0) {
            shells[i].print();
            return PT_EXIT_OK;
        }
    }
    pt_error("say for which shell: pyprof completion bash, zsh or fish");
    return PT_EXIT_USAGE;
}
