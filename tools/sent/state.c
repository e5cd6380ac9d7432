/* SPDX-License-Identifier: Apache-2.0 */
#include "state.h"

#include <errno.h>
#include <inttypes.h>
#include <sys/stat.h>

#include "../base/gzip.h"
#include "../load/growing_file.h"

#define HEAD "pyprof-push 1\n"
#define NONE "-"

static bool same_file(const void *files, uint32_t number, const void *name)
{
    return strcmp(((const struct pt_push_file *)files)[number].name, name) == 0;
}

static uint32_t find(const struct pt_push_state *state, const char *name)
{
    return pt_index_find(&state->files.index, pt_hash_bytes(name, strlen(name)), same_file, state->files.items, name);
}

const struct pt_push_file *pt_push_state_find(const struct pt_push_state *state, const char *name)
{
    uint32_t number = find(state, name);
    return number == PT_NONE ? NULL : &state->files.items[number];
}

bool pt_push_is_settled(uint64_t written_unix_ns, uint64_t unix_ns)
{
    return written_unix_ns + 2 * PT_PUSH_LATE_NS < unix_ns;
}

const char *pt_push_name(const char *directory, const char *path)
{
    size_t length = strlen(directory);
    return strncmp(path, directory, length) == 0 && path[length] == '/' ? path + length + 1 : path;
}

void pt_push_state_note(struct pt_push_state *state, const struct pt_follow *follow, const char *directory, bool sent)
{
    struct pt_push_state before = {.files = state->files};
    memset(&state->files, 0, sizeof state->files);
    for (PT_EACH(const struct pt_growing_file, source, &follow->sources)) {
        uint64_t read = pt_growing_file_blocks(source);
        bool whole = read >= source->size && !source->next_unix_ns;
        if (!source->usable || !source->written_unix_ns ||
            (whole && pt_push_is_settled(source->written_unix_ns, state->until_unix_ns)))
            continue;
        const char *name = pt_push_name(directory, source->path);
        const struct pt_push_file *known = pt_push_state_find(&before, name);
        struct pt_push_file *file = pt_push_state_file(state, name);
        file->read = read;
        file->inode = source->inode ? source->inode : source->inode_there;
        /* A log that was compacted since is shorter, and the server has all of it. */
        file->base = sent || (known && known->base > read) ? read : known ? known->base : 0;
    }
    pt_push_state_forget_files(&before);
}

struct pt_push_file *pt_push_state_file(struct pt_push_state *state, const char *name)
{
    uint32_t number = find(state, name);
    if (number == PT_NONE) {
        number = state->files.count;
        *PT_APPEND(&state->files) = (struct pt_push_file){.name = pt_strdup(name)};
        pt_index_add(&state->files.index, pt_hash_bytes(name, strlen(name)), number);
    }
    return &state->files.items[number];
}

bool pt_push_state_has(const struct pt_push_state *state, const char *name, const struct stat *status,
                       uint64_t now_unix_ns)
{
    const struct pt_push_file *file = pt_push_state_find(state, name);
    if (!file || file->inode != status->st_ino)
        return state->until_unix_ns <= now_unix_ns &&
               pt_push_is_settled((uint64_t)status->st_mtim.tv_sec * PT_SECOND, state->until_unix_ns);
    return file->base == file->read && file->base >= (uint64_t)status->st_size;
}

void pt_push_state_forget_files(struct pt_push_state *state)
{
    for (uint32_t i = 0; i < state->files.count; i++)
        free(state->files.items[i].name);
    PT_FREE_TABLE(&state->files);
    memset(&state->files, 0, sizeof state->files);
}

void pt_push_state_free(struct pt_push_state *state)
{
    pt_push_state_forget_files(state);
    free(state->target);
    free(state->run);
    free(state->error);
    *state = (struct pt_push_state){0};
}

static void append_count(struct pt_buffer *text, const char *word, const struct pt_push_count *count)
{
    pt_buffer_format(text, "%s %" PRIu64 " %" PRIu64 "\n", word, count->windows, count->cpu_ns);
}

/* Appends text that takes the rest of a line. */
static void append_rest(struct pt_buffer *text, const char *rest)
{
    size_t begin = text->length;
    pt_buffer_text(text, rest);
    for (char *at = text->data + begin; *at; at++)
        *at = (unsigned char)*at < ' ' ? ' ' : *at;
    pt_buffer_text(text, "\n");
}

void pt_push_state_append(struct pt_buffer *text, const struct pt_push_state *state)
{
    size_t begin = text->length;
    pt_buffer_text(text, HEAD "target ");
    append_rest(text, state->target);
    pt_buffer_text(text, "run ");
    append_rest(text, state->run ? state->run : NONE);
    pt_buffer_format(text, "until %" PRIu64 "\nbatch %" PRIu64 " %" PRIu64 "\n", state->until_unix_ns,
                     state->batch_from_ns, state->batch_to_ns);
    append_count(text, "sent", &state->sent);
    append_count(text, "refused", &state->refused);
    append_count(text, "expired", &state->expired);
    pt_buffer_format(text, "removed %" PRIu64 " %" PRIu64 "\n", state->removed, state->removed_bytes);
    pt_buffer_format(text, "success %" PRIu64 "\nerror %" PRIu64 " ", state->success_unix_ns, state->error_unix_ns);
    append_rest(text, state->error ? state->error : "");
    for (PT_EACH(const struct pt_push_file, file, &state->files)) {
        if (strchr(file->name, '\n'))
            continue;
        pt_buffer_format(text, "file %" PRIu64 " %" PRIu64 " %" PRIu64 " ", file->base, file->read, file->inode);
        append_rest(text, file->name);
    }
    pt_buffer_format(text, "end %08" PRIx32 "\n", pt_crc32(0, text->data + begin, text->length - begin));
}

/* Takes a word, and the blank or the line end after it. */
static bool take(const char **at, const char *word)
{
    size_t length = strlen(word);
    if (strncmp(*at, word, length) != 0)
        return false;
    *at += length;
    return true;
}

static bool take_number(const char **at, char end, uint64_t *number)
{
    char *after;
    if (**at < '0' || **at > '9')
        return false;
    errno = 0;
    *number = strtoull(*at, &after, 10);
    if (errno || *after != end)
        return false;
    *at = after + 1;
    return true;
}

static bool take_rest(const char **at, char **rest)
{
    size_t length = strcspn(*at, "\n");
    if ((*at)[length] != '\n')
        return false;
    free(*rest);
    *rest = pt_strndup(*at, length);
    *at += length + 1;
    return true;
}

static bool take_count(const char **at, const char *word, struct pt_push_count *count)
{
    return take(at, word) && take_number(at, ' ', &count->windows) && take_number(at, '\n', &count->cpu_ns);
}

/* States of earlier versions do not have this line. */
static bool take_removed(const char **at, struct pt_push_state *state)
{
    return !take(at, "removed ") ||
           (take_number(at, ' ', &state->removed) && take_number(at, '\n', &state->removed_bytes));
}

static bool take_file(const char **at, struct pt_push_state *state)
{
    uint64_t base, read, inode;
    PT_AUTO_FREE char *name = NULL;
    bool good = take_number(at, ' ', &base) && take_number(at, ' ', &read) && take_number(at, ' ', &inode) &&
                base <= read && take_rest(at, &name) && *name && !pt_push_state_find(state, name);
    if (good) {
        struct pt_push_file *file = pt_push_state_file(state, name);
        file->base = base;
        file->read = read;
        file->inode = inode;
    }
    return good;
}

static bool parse(struct pt_push_state *state, const char *text)
{
    const char *at = text;
    bool good = take(&at, HEAD "target ") && take_rest(&at, &state->target) && take(&at, "run ") &&
                take_rest(&at, &state->run) && take(&at, "until ") && take_number(&at, '\n', &state->until_unix_ns) &&
                take(&at, "batch ") && take_number(&at, ' ', &state->batch_from_ns) &&
                take_number(&at, '\n', &state->batch_to_ns) && take_count(&at, "sent ", &state->sent) &&
                take_count(&at, "refused ", &state->refused) && take_count(&at, "expired ", &state->expired) &&
                take_removed(&at, state) && take(&at, "success ") && take_number(&at, '\n', &state->success_unix_ns) &&
                take(&at, "error ") && take_number(&at, ' ', &state->error_unix_ns) && take_rest(&at, &state->error);
    while (good && take(&at, "file "))
        good = take_file(&at, state);
    if (!good)
        return false;
    char end[32];
    snprintf(end, sizeof end, "end %08" PRIx32 "\n", pt_crc32(0, text, (size_t)(at - text)));
    return strcmp(at, end) == 0;
}

bool pt_push_state_parse(struct pt_push_state *state, const char *text)
{
    if (!parse(state, text)) {
        pt_push_state_free(state);
        return false;
    }
    if (strcmp(state->run, NONE) == 0) {
        free(state->run);
        state->run = NULL;
    }
    return true;
}
