/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "../base/output.h"
#include "../base/print.h"
#include "../cli/options.h"
#include "../load/files.h"
#include "../load/find_files.h"
#include "../log/reader.h"

struct merge {
    const struct pt_files *files;
    const char *run;
    uint64_t segments, bytes, cut;
    bool failed;
};

/* Whole blocks only: what a killed writer left half written would be in the way of what follows. */
static void copy_segments(struct merge *merge, const char *data, size_t size, FILE *out)
{
    size_t budget = pt_read_budget(size);
    for (size_t at = 0, end = 1; at < size && end; at += end) {
        struct pt_segment segment;
        bool read = pt_segment_read(data + at, size - at, &budget, &segment, NULL) == PT_READ_OK;
        size_t whole = segment.end - segment.losses.truncated_bytes;
        end = read ? segment.end : 0;
        if (read && segment.has_process &&
            (!merge->run || pt_run_is(&merge->files->joins, segment.process.run, merge->run))) {
            fwrite(data + at, 1, whole, out);
            merge->segments++;
            merge->bytes += whole;
            merge->cut += segment.losses.truncated_bytes;
        }
        pt_segment_free(&segment);
    }
}

static void write_merged(void *data, FILE *out)
{
    struct merge *merge = data;
    for (uint32_t i = 0; i < merge->files->count; i++) {
        const struct pt_file *file = &merge->files->items[i];
        size_t size;
        pt_progress_to(merge->files->messages, "merging %u of %u files", i + 1, merge->files->count);
        PT_AUTO_FREE char *data = pt_read_file(file->path, SIZE_MAX - 1, &size);
        if (data) {
            copy_segments(merge, data, size, out);
        } else {
            pt_error("%s: %s", file->path, strerror(errno));
            merge->failed = true;
        }
    }
    pt_progress_end(merge->files->messages);
}

/* Returns whether the output is one of the inputs: a merge of some of its runs would lose the others. */
static bool is_input(const struct pt_files *files, const char *output)
{
    struct stat written, read;
    bool found = false;
    if (pt_is_stdout(output) || stat(output, &written) != 0)
        return false;
    for (uint32_t i = 0; i < files->count && !found; i++)
        found =
            stat(files->items[i].path, &read) == 0 && read.st_dev == written.st_dev && read.st_ino == written.st_ino;
    if (found)
        pt_error("%s is one of the profiles to merge: write to another file", output);
    return found;
}

static void say_merged(const struct merge *merge, const char *output)
{
    bool small = merge->bytes < 1 << 20;
    PT_AUTO_BUFFER text =
        pt_formatted("merged %" PRIu64 " part%s, %.1f %s", merge->segments, pt_plural(merge->segments, "s"),
                     (double)merge->bytes / (small ? 1 << 10 : 1 << 20), small ? "kB" : "MB");
    if (!pt_is_stdout(output))
        pt_buffer_format(&text, ", into %s", output);
    if (merge->cut || merge->files->unusable)
        pt_buffer_text(&text, "; left out: ");
    if (merge->cut)
        pt_buffer_format(&text, "incomplete blocks at the end of a file%s", merge->files->unusable ? ", " : "");
    pt_files_append_unusable(&text, merge->files);
    pt_message("%s", text.data);
}

int pt_cmd_merge(const struct pt_cli *cli)
{
    PT_AUTO(pt_files_free) struct pt_files files = {0};
    struct merge merge = {.files = &files, .run = cli->request.run};
    if (!cli->output)
        return pt_exit_with(PT_EXIT_USAGE, "missing file: pyprof merge -o FILE.pyprof [PATH...]");
    if (pt_is_stdout(cli->output) && isatty(STDOUT_FILENO))
        return pt_exit_with(PT_EXIT_USAGE, "a profile is binary and stdout is a terminal: use -o FILE");
    bool written = pt_files_find(&files, &cli->request) && pt_files_choose(&files, &cli->request) &&
                   !is_input(&files, cli->output) && pt_write_output(cli->output, write_merged, &merge);
    if (written)
        say_merged(&merge, cli->output);
    return written && !merge.failed ? PT_EXIT_OK : PT_EXIT_DATA;
}
