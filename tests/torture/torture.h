/* What the Python driver calls through ctypes. */
#ifndef TORTURE_H
#define TORTURE_H

#include "truth.h"

#define TORTURE_EXPORT __attribute__((visibility("default")))

/* First of all. NULL, or why this interpreter cannot be tested. */
TORTURE_EXPORT const char *torture_start(unsigned python_minor);
/* truth_set_shadow, _switch, _line, _site, truth_add_code, _base */
TORTURE_EXPORT void torture_shadow(uint32_t index, const uint8_t *state, const uint8_t *ids, const uint8_t *sites);
TORTURE_EXPORT void torture_switch(const uint8_t *address);
TORTURE_EXPORT void torture_code(const char *name, const char *qualname, const char *file, uint32_t first_line,
                                 uint32_t kind, uint32_t id, uint32_t parent, uint32_t generator);
TORTURE_EXPORT void torture_line(uint32_t line, uint32_t flags);
TORTURE_EXPORT void torture_site(uint32_t id, uint32_t site, uint32_t line);
TORTURE_EXPORT void torture_base(const char *name, const char *file, uint32_t first_line, uint32_t line);
/* All instructions of the calling thread between the two are stepped. threads: others want the GIL meanwhile. */
TORTURE_EXPORT void torture_begin(uint32_t threads);
TORTURE_EXPORT void torture_end(void);
TORTURE_EXPORT uint64_t torture_steps(void);
/* No instruction is stepped after so many. */
TORTURE_EXPORT void torture_limit(uint64_t steps);
/* A sample is taken each so many steps: what one sample has met may be freed when the next comes. */
TORTURE_EXPORT void torture_sample_each(uint64_t steps);
/* One line of sums, then comments. */
TORTURE_EXPORT void torture_report(void);

#endif
