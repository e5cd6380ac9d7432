#include "request.h"

struct pt_load_request pt_request_of(const struct pt_cli *cli)
{
    return (struct pt_load_request){
        .paths = cli->arguments,
        .path_count = cli->argument_count,
        .run = cli->run,
        .all = cli->all,
        .select =
            {
                .from_ns = cli->from_ns,
                .to_ns = cli->to_ns == UINT64_MAX ? 0 : cli->to_ns,
                .pid = cli->pid,
                .thread = cli->thread,
                .focus = cli->focus,
                .ignore = cli->ignore,
                .no_native = cli->no_native,
            },
        .messages = &pt_messages_to_stderr,
    };
}
