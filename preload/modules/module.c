/* SPDX-License-Identifier: Apache-2.0 */
/* Makes a module of what the loader says. */
#include "../base/arena.h"
#include "../base/elf_names.h"
#include "../base/mappings.h"
#include "../base/message.h"
#include "../base/syscalls.h"
#include "../common/log_format.h"
#include "module_list.h"
#include <string.h>

#define MAX_PATH 4096

static bool is_vdso(const char *name)
{
    static const char glibcs[] = "linux-vdso.so", musls[] = "linux-gate.so";
    return strncmp(name, glibcs, sizeof glibcs - 1) == 0 || strncmp(name, musls, sizeof musls - 1) == 0;
}

static void find_path(const struct pp_loaded_object *object, const char *name, char *path)
{
    if (is_vdso(name) || name[0] == '/') {
        pp_format(path, MAX_PATH, "%s", is_vdso(name) ? "[vdso]" : name);
        return;
    }
    pp_mapped_path(object->text.start, path, MAX_PATH);
    if (path[0] || !object->first)
        return;
    long length = pp_sys_readlink("/proc/self/exe", path, MAX_PATH - 1);
    path[length > 0 ? length : 0] = '\0';
}

bool pp_module_tls_word(const struct pp_module *module, const char *name, struct pp_tls_word *word)
{
    const struct pp_loaded_object *object = &module->private->object;
    return module->tls_module && pp_elf_tls_word(object->bias, object->dynamic.start, module->tls_module, name, word) &&
           (word->kind == PP_TLS_FIXED || ((uint64_t)word->offset <= module->tls_size &&
                                           module->tls_size - (uint64_t)word->offset >= sizeof(uintptr_t)));
}

/* A mapping that holds several modules: a program with pandas has 150, of 0.8 KB each. Given back with the last. */
#define BLOCK_SIZE ((size_t)16 << 10)
struct pp_module_block {
    size_t mapped, used;
    unsigned modules;
};
static struct pp_module_block *newest_block;

static void *allocate(size_t size, struct pp_module_block **block)
{
    size_t first = (sizeof **block + 15) & ~(size_t)15;
    size = (size + 15) & ~(size_t)15;
    if (!newest_block || newest_block->mapped - newest_block->used < size) {
        size_t mapped = first + size > BLOCK_SIZE ? first + size : BLOCK_SIZE;
        struct pp_module_block *fresh = pp_map(mapped);
        if (!fresh)
            return NULL;
        *fresh = (struct pp_module_block){.mapped = mapped, .used = first};
        newest_block = fresh;
    }
    *block = newest_block;
    void *start = (char *)newest_block + newest_block->used;
    newest_block->used += size;
    newest_block->modules++;
    return start;
}

static void give_back(struct pp_module_block *block)
{
    if (--block->modules)
        return;
    if (block == newest_block)
        newest_block = NULL;
    pp_unmap(block, block->mapped);
}

struct pp_module *pp_module_create(const struct pp_loaded_object *object, const char *name)
{
    char found[MAX_PATH];
    find_path(object, name, found);
    size_t path_size = strlen(found) + 1, name_size = strlen(name) + 1;
    size_t size = sizeof(struct pp_module) + sizeof(struct pp_module_private) + path_size + name_size;
    struct pp_module_block *block;
    struct pp_module *module = allocate(size, &block);
    if (!module)
        return NULL;
    struct pp_module_private *private = (struct pp_module_private *)(module + 1);
    char *path = (char *)(private + 1), *loader_name = path + path_size;
    memcpy(path, found, path_size);
    memcpy(loader_name, name, name_size);
    *private = (struct pp_module_private){.block = block, .object = *object, .loader_name = loader_name};
    module->private = private;
    module->start = object->text.start;
    module->end = object->text.end;
    module->bias = object->bias;
    module->text_file_offset = object->text_file_offset;
    module->tls_module = object->tls_module;
    module->tls_size = object->tls_size;
    module->path = path;
    if (object->first)
        module->flags |= PP_MODULE_MAIN;
    if (is_vdso(name))
        module->flags |= PP_MODULE_VDSO;
    return module;
}

void pp_module_destroy(struct pp_module *module)
{
    pp_modules_close_files(module);
    pp_module_free_draft(module);
    pp_vector_free(&module->private->fdes.functions);
    pp_elf_symbols_free(&module->private->symbols);
    give_back(module->private->block);
}
