/* Feeds arbitrary bytes to the reader of zip archives, with a record at the end that leads to a directory. Input: 2
 * bytes size of the directory, 2 bytes its offset; the rest is the archive. */
#include "../../tools/base/zip_file.h"
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define END_SIZE 22
#define MAX      (1u << 16)

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static int archive = -1;
    uint8_t end[END_SIZE] = "PK\5\6";
    size_t found_size = SIZE_MAX;
    if (size < 4)
        return 0;
    memcpy(end + 12, data, 2);
    memcpy(end + 16, data + 2, 2);
    if (archive < 0)
        archive = memfd_create("archive", 0);
    if (archive < 0 || ftruncate(archive, 0) != 0 || pwrite(archive, data + 4, size - 4, 0) != (ssize_t)(size - 4) ||
        pwrite(archive, end, sizeof end, (off_t)(size - 4)) != sizeof end)
        abort();
    char *text = pt_zip_read(archive, "a", MAX, &found_size);
    if (text ? found_size > MAX || memchr(text, 0, found_size) == text + found_size : found_size != SIZE_MAX)
        abort();
    free(text);
    return 0;
}
