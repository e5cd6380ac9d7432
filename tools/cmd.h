/* The verbs' entry points; each returns the exit status (enum pp_exit). */
#ifndef PP_TOOLS_CMD_H
#define PP_TOOLS_CMD_H

#include "cli.h"

int pp_cmd_run(const struct pp_cli *cli);
int pp_cmd_report(const struct pp_cli *cli);
int pp_cmd_top(const struct pp_cli *cli);
int pp_cmd_info(const struct pp_cli *cli);
int pp_cmd_flame(const struct pp_cli *cli);
int pp_cmd_runs(const struct pp_cli *cli);
int pp_cmd_diff(const struct pp_cli *cli);
int pp_cmd_annotate(const struct pp_cli *cli);
int pp_cmd_merge(const struct pp_cli *cli);
int pp_cmd_doctor(const struct pp_cli *cli);
int pp_cmd_export(const struct pp_cli *cli);
int pp_cmd_completion(const struct pp_cli *cli);
int pp_cmd_manpage(const struct pp_cli *cli);

extern const struct pp_verb pp_verbs[];
extern const unsigned pp_verb_count;

#endif
