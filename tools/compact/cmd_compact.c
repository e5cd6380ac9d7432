/* SPDX-License-Identifier: Apache-2.0 */
#include <inttypes.h>

#include "../base/numbers.h"
#include "../base/output.h"
#include "../cli/options.h"
#include "../load/files.h"
#include "compact.h"

static double megabytes(uint64_t bytes)
{
    return (double)bytes / (1 << 20);
}

int pt_cmd_compact(const struct pt_cli *cli)
{
    PT_AUTO_FREE char *directory = cli->argument_count ? pt_strdup(cli->arguments[0]) : pt_default_directory();
    struct pt_compacted compacted;
    if (cli->argument_count > 1) {
        pt_error("one directory: pyprof compact [DIR]");
        return PT_EXIT_USAGE;
    }
    bool good = pt_compact(directory, pt_clock_ns(CLOCK_REALTIME), cli->request.messages, &compacted);
    if (compacted.files)
        pt_message("compacted %" PRIu32 " file%s: %.1f MB, %.1f MB before", compacted.files,
                   pt_plural(compacted.files, "s"), megabytes(compacted.after), megabytes(compacted.before));
    if (compacted.left)
        pt_message("%" PRIu32 " file%s left as %s: damaged, or put together by merge", compacted.left,
                   pt_plural(compacted.left, "s"), compacted.left == 1 ? "it is" : "they are");
    return good ? PT_EXIT_OK : PT_EXIT_DATA;
}
