/* What a loaded ELF object says of itself, read in memory through safe copies: no file, no section headers. */
#ifndef PP_FLUSH_ELF_IMAGE_H
#define PP_FLUSH_ELF_IMAGE_H

#include "loaded_objects.h"

/* Looks for the GNU build-id among notes; returns its length, 0 when there is none or it is longer than max. */
uint8_t pp_elf_build_id(const uint8_t *notes, size_t size, uint8_t *id, size_t max);

uint8_t pp_elf_image_build_id(const struct pp_loaded_object *object, uint8_t *id, size_t max);

/* Whether the object's dynamic symbol table defines the name. */
bool pp_elf_image_defines(const struct pp_loaded_object *object, const char *name);

/* Path of the file mapped at the address by /proc/self/maps, "" when there is none. */
void pp_mapped_path(uintptr_t address, char *path, size_t size);

#endif
