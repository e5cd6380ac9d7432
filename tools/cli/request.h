/* What the command line asks to load. */
#ifndef PT_CLI_REQUEST_H
#define PT_CLI_REQUEST_H

#include "../profile/request.h"
#include "options.h"

/* The paths, the runs and the selection of the command line, all samples; messages go to stderr. Commands add what they
 * keep. */
struct pt_load_request pt_request_of(const struct pt_cli *cli);

#endif
