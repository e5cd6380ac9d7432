/* SPDX-License-Identifier: Apache-2.0 */
/* Declares the commands. Each entry point returns the exit status (enum pt_exit). */
#ifndef PT_CLI_COMMANDS_H
#define PT_CLI_COMMANDS_H

#include "options.h"

/* All of them. Only main uses it: it hands the table in. */
extern const struct pt_command_table pt_commands;

/* Says that the first of these words is not a command, and what may have been meant. */
void pt_unknown_command(const struct pt_command_table *commands, char *const *words);

int pt_cmd_run(const struct pt_cli *cli);
int pt_cmd_report(const struct pt_cli *cli);
int pt_cmd_top(const struct pt_cli *cli);
int pt_cmd_info(const struct pt_cli *cli);
int pt_cmd_flame(const struct pt_cli *cli);
int pt_cmd_export(const struct pt_cli *cli);
int pt_cmd_runs(const struct pt_cli *cli);
int pt_cmd_diff(const struct pt_cli *cli);
int pt_cmd_annotate(const struct pt_cli *cli);
int pt_cmd_merge(const struct pt_cli *cli);
int pt_cmd_doctor(const struct pt_cli *cli);
int pt_cmd_library(const struct pt_cli *cli);
int pt_cmd_completion(const struct pt_cli *cli);
int pt_cmd_complete(const struct pt_cli *cli);
int pt_cmd_manpage(const struct pt_cli *cli);
int pt_cmd_debug_log(const struct pt_cli *cli);

#endif
