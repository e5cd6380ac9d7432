/* SPDX-License-Identifier: Apache-2.0 */
/* Reads the names of a module's functions, and its unwind information, from its file, if that is still what was loaded.
 */
#include "../base/arena.h"
#include "../base/fd_table.h"
#include "../base/mappings.h"
#include "../base/safe_copy.h"
#include "../base/syscalls.h"
#include "../common/log_format.h"
#include "elf_plt.h"
#include "module_list.h"
#include <errno.h>
#include <fcntl.h>
#include <string.h>

#define OPEN_FILES     16
#define MAX_VDSO       ((size_t)1 << 20)
#define COMPARE_SIZE   4096
#define JIT_DESCRIPTOR 24u /* bytes of the variable, in GDB's manual */

/* Whether the file is what the process has mapped. */
static bool is_mapped(const struct pp_module *module, const struct pp_elf_source *source)
{
    struct pp_elf_identity identity;
    uint64_t device, inode = pp_mapped_inode(module->start, &device);
    return inode && pp_elf_source_identity(source, &identity) && inode == identity.inode && device == identity.device;
}

/* Whether the file's .eh_frame_hdr, the list of all functions, is equal to what is loaded. */
static bool has_same_functions(const struct pp_module *module, const struct pp_elf_source *source)
{
    const struct pp_loaded_object *object = &module->private->object;
    uint8_t loaded[COMPARE_SIZE], stored[COMPARE_SIZE];
    if (object->eh_segment.start == object->eh_segment.end)
        return false;
    for (uintptr_t at = object->eh_frame_hdr.start; at < object->eh_frame_hdr.end; at += COMPARE_SIZE) {
        size_t size = object->eh_frame_hdr.end - at < COMPARE_SIZE ? object->eh_frame_hdr.end - at : COMPARE_SIZE;
        uint64_t offset = object->eh_phdr.p_offset + (at - object->eh_segment.start);
        if (!pp_safe_copy(loaded, at, size) || !pp_elf_source_read(source, stored, size, offset) ||
            memcmp(loaded, stored, size) != 0)
            return false;
    }
    return true;
}

/* Whether the headers are the loaded ones, and so the place of all else: build-ids may be set by hand. */
static bool begins_as_loaded(const struct pp_module *module, const struct pp_elf_source *source)
{
    uint8_t loaded[COMPARE_SIZE], stored[COMPARE_SIZE];
    return pp_safe_copy(loaded, module->private->object.image.start, sizeof loaded) &&
           pp_elf_source_read(source, stored, sizeof stored, 0) && memcmp(loaded, stored, sizeof loaded) == 0;
}

/* A file without a build-id is what is mapped, or equal to it: on overlays the same file may have two numbers. */
static bool is_loaded_file(struct pp_module *module, const struct pp_elf_source *source)
{
    pp_module_identify(module);
    uint8_t id[PP_BUILD_ID_MAX];
    uint8_t length = pp_elf_source_build_id(source, id, sizeof id);
    if (length != module->build_id_length)
        return false;
    if (length)
        return memcmp(id, module->build_id, length) == 0;
    return is_mapped(module, source) || has_same_functions(module, source);
}

/* Reads something from a module's file; false if this is not the file. */
typedef bool file_reader(struct pp_module *module, const struct pp_elf_source *source, void *argument);

/* Files of the modules that were read last: the functions of a program's first stacks are in a few files. */
static struct open_file {
    const struct pp_module *module; /* NULL: none */
    int fd;
    bool identified;
    struct pp_elf_identity identity;
} open_files[OPEN_FILES];
static unsigned next_file;

static struct open_file *open_file_of(const struct pp_module *module)
{
    for (unsigned i = 0; i < OPEN_FILES; i++)
        if (open_files[i].module == module)
            return &open_files[i];
    return NULL;
}

static void close_file(unsigned i)
{
    if (open_files[i].module)
        pp_sys_close(open_files[i].fd);
    open_files[i].module = NULL;
}

void pp_modules_close_files(const struct pp_module *module)
{
    for (unsigned i = 0; i < OPEN_FILES; i++)
        if (!module || open_files[i].module == module)
            close_file(i);
}

void pp_modules_forget_files(void)
{
    memset(open_files, 0, sizeof open_files);
}

/* Finds the identity of a module's file: of one that is open, once. */
static bool identify(const struct pp_module *module, const struct pp_elf_source *source,
                     struct pp_elf_identity *identity)
{
    struct open_file *file = open_file_of(module);
    if (file && file->identified) {
        *identity = file->identity;
        return true;
    }
    if (!pp_elf_source_identity(source, identity))
        return false;
    if (file) {
        file->identity = *identity;
        file->identified = true;
    }
    return true;
}

/* Keeps the file where no descriptor of ours can be met by the program; else closes it. */
static void keep_file(const struct pp_module *module, int fd)
{
    if (!pp_fd_table_here()) {
        pp_sys_close(fd);
        return;
    }
    unsigned i = next_file++ % OPEN_FILES;
    close_file(i);
    open_files[i] = (struct open_file){.module = module, .fd = fd};
}

static int open_file(const char *path)
{
    return pp_sys_open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY, 0);
}

static bool read_path(struct pp_module *module, const char *path, file_reader *read, void *argument)
{
    int fd = open_file(path);
    if (fd == -EMFILE) {
        pp_modules_close_files(NULL);
        fd = open_file(path);
    }
    if (fd < 0)
        return false;
    struct pp_elf_source source = {.fd = fd};
    bool done = read(module, &source, argument);
    if (done)
        keep_file(module, fd);
    else
        pp_sys_close(fd);
    return done;
}

/* The vDSO is mapped whole: its section headers follow the end of its only segment. */
static bool read_vdso(struct pp_module *module, file_reader *read, void *argument)
{
    const struct pp_address_range *image = &module->private->object.image;
    size_t size = ((image->end + pp_page_size() - 1) & -pp_page_size()) - image->start;
    uint8_t *copy = size <= MAX_VDSO ? pp_safe_copy_mapped(image->start, size) : NULL;
    if (!copy)
        return false;
    struct pp_elf_source source = {.fd = -1, .memory = copy, .size = size};
    bool done = read(module, &source, argument);
    pp_unmap(copy, size);
    return done;
}

/* The executable is accessible even when its path now leads to another file, or nowhere. */
static bool read_file(struct pp_module *module, file_reader *read, void *argument)
{
    if (module->flags & PP_MODULE_VDSO)
        return read_vdso(module, read, argument);
    const struct open_file *file = open_file_of(module);
    if (file)
        return read(module, &(struct pp_elf_source){.fd = file->fd}, argument);
    return (module->flags & PP_MODULE_MAIN && read_path(module, "/proc/self/exe", read, argument)) ||
           read_path(module, module->path, read, argument);
}

/* Makes the index if there is none, or if it is of another file: a stripped one has the same build-id. */
static bool refresh_index(struct pp_module *module, const struct pp_elf_source *source)
{
    struct pp_elf_symbols *symbols = &module->private->symbols;
    struct pp_elf_identity identity;
    if (!identify(module, source, &identity))
        return false;
    if (module->private->symbols_tried && memcmp(&identity, &symbols->identity, sizeof identity) == 0)
        return true;
    bool known = module->flags & PP_MODULE_VDSO ||
                 memcmp(&identity, &module->private->unwind_file, sizeof identity) == 0; /* which is what is loaded */
    if (!known && !is_loaded_file(module, source))
        return false;
    module->private->symbols_tried = false;
    pp_elf_index_free(&symbols->index);
    pp_elf_index_read(source, &symbols->index);
    symbols->identity = identity;
    module->private->symbols_tried = true;
    return true;
}

void pp_module_drop_index(struct pp_module *module, void *unused)
{
    (void)unused;
    if (!module->private->symbols.index.items)
        return;
    module->private->symbols_tried = false;
    pp_elf_index_free(&module->private->symbols.index);
}

struct question {
    uint64_t address;
    struct pp_elf_symbol answer;
};

static bool find_name(struct pp_module *module, const struct pp_elf_source *source, void *argument)
{
    struct question *question = argument;
    if (!refresh_index(module, source))
        return false;
    const struct pp_elf_index *index = &module->private->symbols.index;
    pp_elf_index_find(index, source, question->address, &question->answer);
    if (!*question->answer.name && question->address >= index->stubs_start && question->address < index->stubs_end)
        pp_elf_plt_find(source, question->address, &question->answer);
    return true;
}

const char *pp_module_symbol(struct pp_module *module, uintptr_t address, uintptr_t *start)
{
    struct pp_elf_symbols *symbols = &module->private->symbols;
    struct question question;
    uint64_t value;
    const char *name;
    question.address = address - module->bias;
    if (!pp_elf_symbols_know(symbols, question.address, &value, &name)) {
        if (!read_file(module, find_name, &question))
            return NULL;
        pp_elf_symbols_remember(symbols, &question.answer);
        if (!pp_elf_symbols_know(symbols, question.address, &value, &name))
            return NULL; /* no memory */
    }
    if (name)
        *start = module->bias + value;
    return name;
}

/* Whether the build-id is among the bytes that begins_as_loaded compares. */
static bool begins_with_id(const struct pp_module *module)
{
    const struct pp_loaded_object *object = &module->private->object;
    bool is_there = module->build_id_length != 0;
    for (unsigned i = 0; i < object->note_count; i++)
        is_there &= object->notes[i].end - object->image.start <= COMPARE_SIZE;
    return is_there;
}

/* Stores the file's descriptor if it has the .eh_frame that is loaded. */
static bool find_unwind_file(struct pp_module *module, const struct pp_elf_source *source, void *argument)
{
    struct pp_module_private *private = module->private;
    struct pp_elf_identity identity;
    if (!identify(module, source, &identity))
        return false;
    if (memcmp(&identity, &private->unwind_file, sizeof identity) != 0 &&
        !(begins_as_loaded(module, source) && (begins_with_id(module) || is_loaded_file(module, source))))
        return false;
    private->unwind_file = identity;
    *(int *)argument = source->fd;
    return true;
}

struct pp_unwind_file pp_module_unwind_file(struct pp_module *module)
{
    struct pp_module_private *private = module->private;
    const struct pp_loaded_object *object = &private->object;
    struct pp_unwind_file file = {object->eh_segment.start, object->eh_segment.start + object->eh_phdr.p_filesz,
                                  object->eh_phdr.p_offset, -1};
    bool may = !(module->flags & PP_MODULE_VDSO) && !(object->eh_phdr.p_flags & PF_W);
    if (!may || private->unwind_in_memory || !(open_file_of(module) || pp_fd_table_here()))
        return (struct pp_unwind_file){0};
    private->unwind_in_memory = !read_file(module, find_unwind_file, &file.fd);
    return private->unwind_in_memory ? (struct pp_unwind_file){0} : file;
}

/* LLVM is mostly linked in and hidden, but its users also register unwind information, by a symbol that is visible. */
static bool find_descriptor(struct pp_module *module, const struct pp_elf_source *source, void *value)
{
    static const char *const names[] = {"__jit_debug_descriptor", "__register_frame"};
    unsigned mentioned = pp_elf_source_mentions(source, names, 2);
    if (!mentioned)
        return true;
    if (!is_loaded_file(module, source))
        return false;
    pp_elf_source_variable(source, mentioned & 1, names[0], JIT_DESCRIPTOR, value);
    return true;
}

uintptr_t pp_module_jit_descriptor(struct pp_module *module)
{
    struct pp_module_private *private = module->private;
    uint64_t value = 0;
    if (!private->jit_tried) {
        if (!(module->flags & PP_MODULE_VDSO))
            read_file(module, find_descriptor, &value);
        private->jit_descriptor = value ? module->bias + value : 0;
        private->jit_tried = true;
    }
    return private->jit_descriptor;
}
