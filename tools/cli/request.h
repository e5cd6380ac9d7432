/* Translates the command line into a load request. */
#ifndef PT_CLI_REQUEST_H
#define PT_CLI_REQUEST_H

#include "../profile/request.h"
#include "options.h"

/* Returns a request for the command line's paths, runs and selection, with all samples and messages to stderr. It
 * points into *cli. Commands then set what to keep. */
struct pt_load_request pt_request_of(const struct pt_cli *cli);

#endif
