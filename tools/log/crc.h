/* zlib's CRC-32, with the processor's carry-less multiplication where it has one: logs are many megabytes. */
#ifndef PT_PROFILE_CRC_H
#define PT_PROFILE_CRC_H

#include <stddef.h>
#include <stdint.h>

/* crc32(crc, data, length) of zlib. */
uint32_t pt_crc32(uint32_t crc, const void *data, size_t length);

#endif
