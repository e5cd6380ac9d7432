/* Reads the names of a module's functions from its file, if that is still what was loaded. */
#include "../base/arena.h"
#include "../base/safe_copy.h"
#include "../base/syscalls.h"
#include "../common/log_format.h"
#include "module_list.h"
#include <fcntl.h>
#include <string.h>

#define MAX_VDSO     ((size_t)1 << 20)
#define COMPARE_SIZE 4096
#define PAGE         ((uintptr_t)4096)

/* A file without a build-id is the loaded one if its .eh_frame_hdr, the list of all functions, is equal. */
static bool has_same_functions(const struct pp_module *module, const struct pp_elf_source *source)
{
    const struct pp_loaded_object *object = &module->private->object;
    uint8_t loaded[COMPARE_SIZE], stored[COMPARE_SIZE];
    if (object->eh_frame_hdr.start == object->eh_frame_hdr.end)
        return false;
    for (uintptr_t at = object->eh_frame_hdr.start; at < object->eh_frame_hdr.end; at += COMPARE_SIZE) {
        size_t size = object->eh_frame_hdr.end - at < COMPARE_SIZE ? object->eh_frame_hdr.end - at : COMPARE_SIZE;
        uint64_t offset = object->eh_frame_hdr_file_offset + (at - object->eh_frame_hdr.start);
        if (!pp_safe_copy(loaded, at, size) || !pp_elf_source_read(source, stored, size, offset) ||
            memcmp(loaded, stored, size) != 0)
            return false;
    }
    return true;
}

static bool is_loaded_file(const struct pp_module *module, const struct pp_elf_source *source)
{
    uint8_t id[PP_BUILD_ID_MAX];
    uint8_t length = pp_elf_source_build_id(source, id, sizeof id);
    if (length != module->build_id_length)
        return false;
    return length ? memcmp(id, module->build_id, length) == 0 : has_same_functions(module, source);
}

static bool read_names(struct pp_module *module, const struct pp_elf_source *source)
{
    return pp_elf_symbols_read(source, &module->private->symbols);
}

/* LLVM is mostly linked in and hidden, but its users also register unwind information, by a symbol that is visible. */
static bool find_descriptor(struct pp_module *module, const struct pp_elf_source *source)
{
    uint64_t value = 0;
    if (!pp_elf_source_symbol(source, true, "__jit_debug_descriptor", &value) &&
        pp_elf_source_symbol(source, true, "__register_frame", &value))
        pp_elf_source_symbol(source, false, "__jit_debug_descriptor", &value);
    module->private->jit_descriptor = value ? module->bias + value : 0;
    return true;
}

static bool read_file(struct pp_module *module, const char *path,
                      bool (*read)(struct pp_module *module, const struct pp_elf_source *source))
{
    int fd = pp_sys_open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY, 0);
    if (fd < 0)
        return false;
    struct pp_elf_source source = {.fd = fd};
    bool done = is_loaded_file(module, &source) && read(module, &source);
    pp_sys_close(fd);
    return done;
}

/* The executable is accessible even when its path now leads to another file, or nowhere. */
static void read_own_file(struct pp_module *module,
                          bool (*read)(struct pp_module *module, const struct pp_elf_source *source))
{
    if (!(module->flags & PP_MODULE_MAIN) || !read_file(module, "/proc/self/exe", read))
        read_file(module, module->path, read);
}

/* The vDSO is mapped whole: its section headers follow the end of its only segment. */
static void read_vdso(struct pp_module *module)
{
    const struct pp_address_range *image = &module->private->object.image;
    size_t size = ((image->end + PAGE - 1) & ~(PAGE - 1)) - image->start;
    uint8_t *copy = size <= MAX_VDSO ? pp_safe_copy_mapped(image->start, size) : NULL;
    if (!copy)
        return;
    struct pp_elf_source source = {.fd = -1, .memory = copy, .size = size};
    pp_elf_symbols_read(&source, &module->private->symbols);
    pp_unmap(copy, size);
}

static void read_symbols(struct pp_module *module)
{
    if (module->flags & PP_MODULE_VDSO)
        read_vdso(module);
    else
        read_own_file(module, read_names);
    module->private->symbols_tried = true;
}

const char *pp_module_symbol(struct pp_module *module, uintptr_t address, uintptr_t *start)
{
    if (!module->private->symbols_tried)
        read_symbols(module);
    const struct pp_elf_symbols *symbols = &module->private->symbols;
    const struct pp_elf_symbol *symbol = pp_elf_symbols_find(symbols, address - module->bias);
    if (!symbol)
        return NULL;
    *start = module->bias + symbol->value;
    return symbols->names + symbol->name;
}

uintptr_t pp_module_jit_descriptor(struct pp_module *module)
{
    struct pp_module_private *private = module->private;
    if (!private->jit_tried) {
        if (!(module->flags & PP_MODULE_VDSO))
            read_own_file(module, find_descriptor);
        private->jit_tried = true;
    }
    return private->jit_descriptor;
}
