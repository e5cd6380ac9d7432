/* SPDX-License-Identifier: Apache-2.0 */
#include <inttypes.h>

#include "../base/numbers.h"
#include "../base/output.h"
#include "../cli/options.h"
#include "../load/files.h"
#include "compact.h"

/* Says why nothing was done: how many files stay, and for which reasons. */
static void say_nothing(const struct pt_compacted *compacted, const char *directory)
{
    PT_AUTO_BUFFER why = {0};
    uint32_t rest = compacted->seen - compacted->recent - compacted->running;
    const struct {
        uint32_t files;
        const char *text;
    } reasons[] = {{compacted->recent, "written in the last hour"},
                   {compacted->running, "of processes that run"},
                   {rest, "compact already, or no profile"}};
    if (!compacted->seen) {
        pt_message("nothing is to be compacted: no profile in %s belongs to this user", directory);
        return;
    }
    for (size_t i = 0; i < sizeof reasons / sizeof reasons[0]; i++)
        if (reasons[i].files)
            pt_buffer_format(&why, "%s%" PRIu32 " %s", why.length ? "; " : "", reasons[i].files, reasons[i].text);
    pt_message("nothing is to be compacted: %" PRIu32 " file%s stay%s (%s)", compacted->seen,
               pt_plural(compacted->seen, "s"), compacted->seen == 1 ? "s" : "", why.data);
}

static void say_result(const struct pt_compacted *compacted, const char *directory)
{
    PT_AUTO_BUFFER after = {0};
    PT_AUTO_BUFFER before = {0};
    pt_buffer_size(&after, compacted->after);
    pt_buffer_size(&before, compacted->before);
    if (compacted->files)
        pt_message("compacted %" PRIu32 " file%s: %s, %s before", compacted->files, pt_plural(compacted->files, "s"),
                   after.data, before.data);
    else if (!compacted->left && !compacted->unsent)
        say_nothing(compacted, directory);
}

int pt_cmd_compact(const struct pt_cli *cli)
{
    PT_AUTO_FREE char *directory = cli->argument_count ? pt_strdup(cli->arguments[0]) : pt_default_directory();
    struct pt_compacted compacted;
    if (cli->argument_count > 1)
        return pt_exit_with(PT_EXIT_USAGE, "one directory: pyprof compact [DIR]");
    bool good = pt_compact(directory, pt_clock_ns(CLOCK_REALTIME), cli->request.messages, &compacted);
    if (good || compacted.files)
        say_result(&compacted, directory);
    const char *stay = compacted.unsent == 1 ? " stays" : "s stay";
    if (compacted.unreadable)
        pt_message(
            "%" PRIu32 " file%s: what 'pyprof push' has sent is in %s/%s, which is damaged, or another user's; "
            "run 'pyprof push' again, or compact as its user; remove the file and its .before if no pusher needs "
            "it any more",
            compacted.unsent, stay, directory, compacted.state);
    else if (compacted.unsent)
        pt_message("%" PRIu32 " file%s until 'pyprof push' has sent %s (pyprof push --status); if that pusher is gone "
                   "for good, remove %s/%s and its .before",
                   compacted.unsent, stay, compacted.unsent == 1 ? "it" : "them", directory, compacted.state);
    if (compacted.left)
        pt_message("%" PRIu32 " file%s left as %s: damaged, or put together by merge", compacted.left,
                   pt_plural(compacted.left, "s"), compacted.left == 1 ? "it is" : "they are");
    return good ? PT_EXIT_OK : PT_EXIT_DATA;
}
