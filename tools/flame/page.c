/* SPDX-License-Identifier: Apache-2.0 */
/* The page: what was made at build time from tools/flame/web, with the data in its middle. */
#include <stdlib.h>
#include <zlib.h>

#include "../cli/options.h"
#include "flame.h"

#define LINE 57 /* bytes that make a line of 76 characters of base64 */

static void write_base64(const unsigned char *bytes, size_t size, FILE *out)
{
    static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    for (size_t i = 0; i < size; i += 3) {
        size_t left = size - i;
        uint32_t three =
            (uint32_t)bytes[i] << 16 | (left > 1 ? (uint32_t)bytes[i + 1] << 8 : 0) | (left > 2 ? bytes[i + 2] : 0);
        const char four[] = {digits[three >> 18], digits[three >> 12 & 63], left > 1 ? digits[three >> 6 & 63] : '=',
                             left > 2 ? digits[three & 63] : '='};
        fwrite(four, 1, sizeof four, out);
        if (i % LINE == LINE - 3)
            fputc('\n', out);
    }
}

void pt_flame_write(const struct pt_flame *flame, FILE *out)
{
    struct pt_buffer data = {0};
    pt_flame_encode(&data, flame);
    uLongf size = compressBound(data.length);
    unsigned char *small = pt_alloc(size, 1);
    if (compress2(small, &size, (const Bytef *)data.data, data.length, Z_DEFAULT_COMPRESSION) != Z_OK) {
        pt_error("cannot compress the profile");
        exit(PT_EXIT_DATA);
    }
    fwrite(pt_page_head, 1, pt_page_head_size, out);
    write_base64(small, size, out);
    fwrite(pt_page_tail, 1, pt_page_tail_size, out);
    free(small);
    pt_buffer_free(&data);
}
