/* The verbs' entry points; each returns the exit status (enum pt_exit). */
#ifndef PT_TOOLS_CMD_H
#define PT_TOOLS_CMD_H

#include "options.h"

int pt_cmd_run(const struct pt_cli *cli);
int pt_cmd_report(const struct pt_cli *cli);
int pt_cmd_top(const struct pt_cli *cli);
int pt_cmd_info(const struct pt_cli *cli);
int pt_cmd_flame(const struct pt_cli *cli);
int pt_cmd_runs(const struct pt_cli *cli);
int pt_cmd_diff(const struct pt_cli *cli);
int pt_cmd_annotate(const struct pt_cli *cli);
int pt_cmd_merge(const struct pt_cli *cli);
int pt_cmd_doctor(const struct pt_cli *cli);
int pt_cmd_export(const struct pt_cli *cli);
int pt_cmd_completion(const struct pt_cli *cli);
int pt_cmd_manpage(const struct pt_cli *cli);

extern const struct pt_command pt_commands[];
extern const unsigned pt_command_count;

#endif
