#include "python_find.h"
#include "elf_lookup.h"
#include "interpose.h"
#include "say.h"
#include "syscalls.h"
#include <dlfcn.h>
#include <limits.h>
#include <string.h>

/* PY_VERSION_HEX: major, minor, micro, then release level (0xa alpha … 0xf final) and serial. */
#define HEX_MAJOR(hex)  ((hex) >> 24)
#define HEX_MINOR(hex)  ((hex) >> 16 & 0xff)
#define HEX_MICRO(hex)  ((hex) >> 8 & 0xff)
#define HEX_LEVEL(hex)  ((hex) >> 4 & 0xf)
#define LEVEL_CANDIDATE 0xc

#define DEBUG_OFFSETS_FREE_THREADED    16 /* _Py_DebugOffsets (3.13+): cookie, version, free_threaded */
#define FIRST_MINOR_WITH_DEBUG_OFFSETS 13

struct search {
    struct pp_python *python;
    uintptr_t runtime, get_version, type_type;
    const unsigned long *version;
    unsigned long long loads; /* dlpi_adds */
    char name[PATH_MAX];      /* of the object; "" for the executable */
    bool unchanged;
};

static unsigned long long searched_loads;

static void find_extent(const struct dl_phdr_info *object, struct pp_python *python)
{
    python->module_start = UINTPTR_MAX;
    for (int i = 0; i < object->dlpi_phnum; i++) {
        const ElfW(Phdr) *segment = &object->dlpi_phdr[i];
        uintptr_t start = object->dlpi_addr + segment->p_vaddr;
        if (segment->p_type != PT_LOAD)
            continue;
        if (start < python->module_start)
            python->module_start = start;
        if (start + segment->p_memsz > python->module_end)
            python->module_end = start + segment->p_memsz;
    }
}

/* We call into the interpreter and handlers read its memory: it must not be unloaded under us. */
static bool pin(const char *name)
{
    void *(*libc_dlopen)(const char *, int) = pp_real()->dlopen;
    return !*name || (libc_dlopen && libc_dlopen(name, RTLD_NOW | RTLD_NOLOAD | RTLD_NODELETE));
}

static int search_object(struct dl_phdr_info *object, size_t size, void *argument)
{
    struct search *search = argument;
    struct pp_text name;
    (void)size;
    search->loads = object->dlpi_adds;
    if (object->dlpi_adds == searched_loads) {
        search->unchanged = true;
        return 1;
    }
    search->runtime = pp_elf_symbol(object, "_PyRuntime");
    if (!search->runtime)
        return 0;
    struct pp_python *python = search->python;
    python->runtime = search->runtime;
    find_extent(object, python);
    pp_text_init(&name, search->name, sizeof search->name);
    pp_text_add(&name, object->dlpi_name ? object->dlpi_name : "");
    search->version = (const unsigned long *)pp_elf_symbol(object, "Py_Version");
    search->get_version = pp_elf_symbol(object, "Py_GetVersion");
    search->type_type = pp_elf_symbol(object, "PyType_Type");
    python->this_thread_state = (void *(*)(void))pp_elf_symbol(object, "PyGILState_GetThisThreadState");
    python->eval_function = pp_elf_symbol(object, "_PyEval_EvalFrameDefault");
    python->frame_type = pp_elf_symbol(object, "PyFrame_Type");
    python->code_type = pp_elf_symbol(object, "PyCode_Type");
    python->generator_type = pp_elf_symbol(object, "PyGen_Type");
    python->coroutine_type = pp_elf_symbol(object, "PyCoro_Type");
    python->async_generator_type = pp_elf_symbol(object, "PyAsyncGen_Type");
    return 1;
}

/* Debug builds put two words in front of every object (until 3.11) or much into the thread state; "ob_type is where we
 * look for it" is what tells, once the interpreter has set it, and statically initialised types have it from the start.
 */
static bool objects_as_expected(const struct search *search)
{
    uintptr_t type;
    memcpy(&type, (const char *)search->python->code_type + search->python->layout.object_type, sizeof type);
    return type == search->type_type;
}

static uint32_t version_from_text(const char *text)
{
    uint32_t part[3] = {0, 0, 0};
    for (int i = 0; i < 3; i++) {
        while (*text >= '0' && *text <= '9')
            part[i] = part[i] * 10 + (uint32_t)(*text++ - '0');
        if (*text != '.')
            break;
        text++;
    }
    return part[0] << 24 | part[1] << 16 | part[2] << 8 | 0xf0;
}

enum pp_python_found pp_python_find(struct pp_python *python, char version[16], const char **why)
{
    struct search search = {.python = python};
    memset(python, 0, sizeof *python);
    dl_iterate_phdr(search_object, &search);
    if (search.unchanged || !search.runtime) {
        searched_loads = search.loads;
        return PP_PYTHON_NONE;
    }
    uint32_t hex = 0;
    if (search.version)
        hex = (uint32_t)*search.version;
    else if (search.get_version)
        hex = version_from_text(((const char *(*)(void))search.get_version)());
    struct pp_text text;
    pp_text_init(&text, version, 16);
    pp_text_add_number(&text, HEX_MAJOR(hex));
    pp_text_add(&text, ".");
    pp_text_add_number(&text, HEX_MINOR(hex));
    pp_text_add(&text, ".");
    pp_text_add_number(&text, HEX_MICRO(hex));

    uint64_t free_threaded = 0;
    if (HEX_MINOR(hex) >= FIRST_MINOR_WITH_DEBUG_OFFSETS)
        memcpy(&free_threaded, (const char *)search.runtime + DEBUG_OFFSETS_FREE_THREADED, sizeof free_threaded);
    const struct pp_python_layout *layout =
        HEX_MAJOR(hex) == 3 ? pp_python_layout_of(HEX_MINOR(hex), free_threaded != 0) : NULL;
    if (layout)
        python->layout = *layout;
    *why = NULL;
    if (!layout)
        *why = "its version is not known to this pyprof";
    else if (HEX_LEVEL(hex) < LEVEL_CANDIDATE)
        *why = "it is a pre-release";
    else if (!python->this_thread_state || !python->frame_type || !python->eval_function || !python->code_type ||
             !python->generator_type || !python->coroutine_type || !python->async_generator_type || !search.type_type)
        *why = "it does not export what is needed";
    else if (!pin(search.name))
        *why = "it cannot be kept loaded";
    else if (!objects_as_expected(&search))
        *why = "its objects are laid out differently (a debug build?)";
    if (*why)
        return PP_PYTHON_UNREADABLE;
    python->this_thread_state(); /* resolves its PLT slots outside the handler */
    return PP_PYTHON_READY;
}
