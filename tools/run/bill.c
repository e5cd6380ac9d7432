/* SPDX-License-Identifier: Apache-2.0 */
#include "bill.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../base/gzip.h"
#include "../base/proto.h"
#include "../load/read_file.h"
#include "../log/reader.h"

/* Returns the sequence number of the block that would follow; 0: none is to follow. */
static uint32_t next_block(const struct pt_file *file, size_t *size)
{
    struct pt_segment segment = {0};
    char *data = pt_read_file(file->path, SIZE_MAX - 1, size);
    bool over = data && pt_segment_read(data, *size, NULL, &segment, NULL) == PT_READ_OK && segment.end == *size &&
                (segment.end_reason == PP_END_EXIT || file->alive == PT_ALIVE_NO) && !segment.losses.truncated_bytes;
    uint32_t next = over ? segment.next : 0;
    pt_segment_free(&segment);
    free(data);
    return next;
}

static void make_block(struct pt_buffer *block, uint32_t sequence, uint64_t billed_ns)
{
    struct pt_buffer number = {0}, fields = {0};
    pt_append_varint(&number, billed_ns);
    pt_append_varint(&fields, PP_PROCESS_RUN_BILLED_NS);
    pt_append_varint(&fields, number.length);
    pt_buffer_append(&fields, number.data, number.length);
    struct pp_log_block_header header = {PP_BLOCK_PROCESS, (uint32_t)fields.length, 0, sequence};
    const uint32_t covered[] = {header.type, header.length, header.sequence};
    header.crc32 = pt_crc32(pt_crc32(0, covered, sizeof covered), fields.data, fields.length);
    pt_buffer_append(block, &header, sizeof header);
    pt_buffer_append(block, fields.data, fields.length);
    pt_buffer_free(&number);
    pt_buffer_free(&fields);
}

bool pt_bill_append(const struct pt_file *file, uint64_t billed_ns)
{
    size_t size;
    uint32_t sequence = next_block(file, &size);
    int log = sequence ? open(file->path, O_WRONLY | O_APPEND | O_NOFOLLOW | O_CLOEXEC) : -1;
    if (log < 0)
        return false;
    struct pt_buffer block = {0};
    make_block(&block, sequence, billed_ns);
    ssize_t written = write(log, block.data, block.length);
    bool whole = written == (ssize_t)block.length;
    if (!whole && written > 0) /* a full disk; readers leave out half a block that stays */
        (void)!ftruncate(log, (off_t)size);
    close(log);
    pt_buffer_free(&block);
    return whole;
}
