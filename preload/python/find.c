/* SPDX-License-Identifier: Apache-2.0 */
/* An interpreter is an object, executable or library, that defines _PyRuntime and Py_GetVersion. There can be several,
 * and RTLD_LOCAL can hide them: each object's own tables are read. An object is read in dl_iterate_phdr's callback,
 * while the loader keeps it; except for Py_IsInitialized and Py_GetVersion, its functions are called once it is pinned.
 */
#include "find.h"
#include "../base/elf_names.h"
#include "../base/libc.h"
#include "../base/libc_kind.h"
#include "../base/loader_copy.h"
#include "../base/loader_lock.h"
#include "../base/message.h"
#include "../cpython/offsets.h"
#include "tls.h"
#include <dlfcn.h>
#include <limits.h>
#include <stdatomic.h>
#include <string.h>

/* PY_VERSION_HEX: major, minor, micro, then release level (0xa alpha … 0xf final) and serial. */
#define HEX_MAJOR(hex)  ((hex) >> 24)
#define HEX_MINOR(hex)  ((hex) >> 16 & 0xff)
#define HEX_MICRO(hex)  ((hex) >> 8 & 0xff)
#define HEX_LEVEL(hex)  ((hex) >> 4 & 0xf)
#define LEVEL_CANDIDATE 0xc

#define SEEN_MAX     16
#define STARTING_MAX 8

typedef void *state_getter(void);

struct search {
    struct pp_python *python;
    bool begun, again, found;
    size_t place, skipped; /* of the object, from 1 on; those up to there have nothing new */
    const char *why;
    uint32_t version;
    uintptr_t get_version; /* 3.8–3.10, which do not export Py_Version */
    state_getter *get_attached;
    uintptr_t type_type;
    char name[PATH_MAX]; /* of the object; "" for the executable */
};

/* What the last search has found. If it is final, nothing but the object that it has passed over can have become an
 * interpreter until something is loaded or unloaded. What is loaded comes last in the loader's list. */
static struct last {
    bool final, passed_over;
    size_t objects; /* searched */
    unsigned long long loads, unloads;
    uintptr_t base;
    int (*is_initialized)(void);
} last;

static uintptr_t seen[SEEN_MAX]; /* _PyRuntime of each interpreter found */
static unsigned seen_count;

/* Code addresses of starting interpreters; an entry is overwritten long after it was checked. */
static _Atomic uintptr_t starting[STARTING_MAX];
static _Atomic uint32_t starting_count;

void pp_python_starts(uintptr_t code)
{
    atomic_store(&starting[atomic_fetch_add(&starting_count, 1) % STARTING_MAX], code);
}

static bool was_seen(uintptr_t runtime)
{
    for (unsigned i = 0; i < seen_count; i++)
        if (seen[i] == runtime)
            return true;
    return seen_count == SEEN_MAX;
}

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

/* Finds the attached thread state by the first getter that can be decoded, and keeps that getter to compare with. */
static void find_attached(const struct dl_phdr_info *object, struct search *search)
{
    static const char *const getters[] = {"_PyThreadState_GetCurrent", "PyThreadState_GetUnchecked",
                                          "_PyThreadState_UncheckedGet"};
    for (unsigned i = 0; i < sizeof getters / sizeof *getters && !search->python->attached.kind; i++) {
        uintptr_t getter = pp_elf_symbol(object, getters[i]);
        if (!getter)
            continue;
        search->python->attached = pp_python_tls_find(object, getter);
        search->get_attached = (state_getter *)getter;
    }
}

/* Whether the interpreter runs, or a thread is in its code to start it. No other function of it may be called: another
 * thread may be loading it, and the loader lists an object before relocating it. */
static bool is_in_use(const struct dl_phdr_info *object, int (*is_initialized)(void))
{
    for (unsigned i = 0; i < STARTING_MAX; i++)
        if (pp_elf_segment(object, atomic_load(&starting[i]), 1, PF_X))
            return true;
    /* it only needs the address of _PyRuntime, which is there; not so its code, where the file has been truncated */
    return object->dlpi_phnum && is_initialized && is_initialized();
}

/* Returns NULL for an unknown version. */
static const struct pp_python_layout *layout_of(uint32_t version, bool free_threaded)
{
    return HEX_MAJOR(version) == 3 ? pp_python_layout_of(HEX_MINOR(version), free_threaded) : NULL;
}

static int search_object(struct dl_phdr_info *info, size_t size, void *argument)
{
    struct search *search = argument;
    struct pp_python *python = search->python;
    ElfW(Phdr) headers[PP_MAX_HEADERS];
    if (!search->begun) {
        search->begun = true;
        search->again = last.final && last.loads == info->dlpi_adds && last.unloads == info->dlpi_subs;
        if (search->again && !last.passed_over)
            return 1;
        if (!search->again) {
            search->skipped = last.final && !last.passed_over && last.unloads == info->dlpi_subs ? last.objects : 0;
            last = (struct last){.final = true, .loads = info->dlpi_adds, .unloads = info->dlpi_subs};
        }
    }
    if (!search->again) {
        last.objects = ++search->place;
        if (search->place <= search->skipped)
            return 0;
    }
    if (search->again && info->dlpi_addr != last.base)
        return 0;
    struct dl_phdr_info copy = pp_loader_copy(info, size, headers), *object = &copy;
    if (search->again && !is_in_use(object, last.is_initialized))
        return 0;
    uintptr_t get_version = pp_elf_symbol(object, "Py_GetVersion");
    uintptr_t runtime = get_version ? pp_elf_symbol(object, "_PyRuntime") : 0;
    if (!get_version || !runtime || was_seen(runtime))
        return 0;
    /* resolved as by the object itself: a library that another copy of it preempts is no interpreter */
    pp_elf_variables(object, (const char *const[]){"_PyRuntime"}, 1, &runtime);
    if (runtime && was_seen(runtime))
        return 0;
    int (*is_initialized)(void) = (int (*)(void))pp_elf_symbol(object, "Py_IsInitialized");
    bool in_use = runtime && is_in_use(object, is_initialized);
    last.final &= runtime && !in_use && !last.passed_over;
    last.passed_over = true;
    last.base = object->dlpi_addr;
    last.is_initialized = is_initialized;
    if (!in_use)
        return 0;
    search->found = true;
    python->runtime = runtime;
    find_extent(object, python);
    pp_format(search->name, sizeof search->name, "%s", object->dlpi_name ? object->dlpi_name : "");
    uintptr_t version_at = pp_elf_symbol(object, "Py_Version");
    unsigned long version = 0;
    search->version = version_at && pp_loader_read(&version, version_at, sizeof version) ? (uint32_t)version : 0;
    search->get_version = get_version;
    static const char *const types[] = {"PyType_Type",    "PyFrame_Type",      "PyCode_Type",       "PyGen_Type",
                                        "PyCoro_Type",    "PyAsyncGen_Type",   "PyUnicode_Type",    "PyDict_Type",
                                        "PyContext_Type", "PyContextVar_Type", "PyMemberDescr_Type"};
    uintptr_t found[sizeof types / sizeof *types];
    pp_elf_variables(object, types, sizeof types / sizeof *types, found);
    search->type_type = found[0];
    python->frame_type = found[1];
    python->code_type = found[2];
    python->generator_type = found[3];
    python->coroutine_type = found[4];
    python->async_generator_type = found[5];
    python->text_type = found[6];
    python->dict_type = found[7];
    python->context_type = found[8];
    python->context_variable_type = found[9];
    python->member_type = found[10];
    python->this_thread_state = (state_getter *)pp_elf_symbol(object, "PyGILState_GetThisThreadState");
    python->eval_function = pp_elf_symbol(object, "_PyEval_EvalFrameDefault");
    python->hash_secret = pp_elf_symbol(object, "_Py_HashSecret");
    const struct pp_python_layout *layout = layout_of(search->version, false);
    if (layout && layout->tss_tstate)
        find_attached(object, search);
    if (layout && !layout->runtime.key)
        python->bound = pp_python_tls_find(object, (uintptr_t)python->this_thread_state);
    if (pp_elf_symbol(object, "_Py_NegativeRefcount")) /* Py_REF_DEBUG, a part of Py_DEBUG */
        search->why = "it is a debug build";
    else if (pp_elf_symbol(object, "_Py_stackref_get_object")) /* Py_STACKREF_DEBUG */
        search->why = "it is a debug build (of its stack references)";
    return 1;
}

/* Keeps the interpreter loaded: handlers read its memory. */
static bool pin(const char *name)
{
    void *(*libc_dlopen)(const char *, int) = pp_real()->dlopen;
    return !*name || (libc_dlopen && libc_dlopen(name, RTLD_NOW | RTLD_NOLOAD | RTLD_NODELETE));
}

/* Whether objects have no extra header: Py_TRACE_REFS puts two words in front of every object (until 3.12). Statically
 * initialised types have their type from the start. */
static bool objects_as_expected(const struct search *search)
{
    uintptr_t type;
    memcpy(&type, (const char *)search->python->code_type + search->python->layout.object_type, sizeof type);
    return type == search->type_type;
}

/* Whether classes have the size that the row was read from: types are statically initialised too. */
static bool classes_as_expected(const struct search *search)
{
    const struct pp_python_layout *layout = &search->python->layout;
    uintptr_t size, at = search->type_type + layout->type.tp_basicsize;
    memcpy(&size, (const char *)at, sizeof size);
    return !layout->heap_type.size || size == layout->heap_type.size;
}

/* "3.8.18 (default, …", "3.10.0rc1+ (…" */
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
    uint32_t level = *text == 'a' || *text == 'b' ? (uint32_t)(*text - 'a' + 0xa)
                     : *text == 'r'               ? LEVEL_CANDIDATE
                                                  : 0xf;
    return part[0] << 24 | part[1] << 16 | part[2] << 8 | level << 4;
}

/* Adapts the row for this version to this build. Returns NULL, or why it does not fit. */
static const char *fit_layout(struct pp_python *python, uint32_t version)
{
    const void *published = (const void *)python->runtime;
    const struct pp_python_layout *layout = layout_of(version, false);
    size_t size = layout ? pp_python_offsets_size(layout) : 0;
    if (!layout || size > python->module_end - python->runtime)
        return "its version is not known to this pyprof";
    if (size && pp_python_offsets_free_threaded(published, version)) {
        layout = layout_of(version, true);
        if (!layout)
            return "the free-threaded build of its version is not known to this pyprof";
    }
    python->layout = *layout;
    /* without this field a sample does not say whether a collection runs */
    if (layout->state_varies &&
        !pp_python_offsets_fit_collector(&python->layout, published, python->module_end - python->runtime))
        python->layout.interpreter.collecting = 0;
    return size ? pp_python_offsets_apply(&python->layout, published, version) : NULL;
}

/* Whether the word is, in this thread at least, what the interpreter's getter returns. */
static bool agrees_with_getter(const struct pp_tls_word *word, state_getter *getter)
{
    return pp_tls_read(word, pp_own_thread_pointer()) == (uintptr_t)getter();
}

static const char *check(struct search *search)
{
    struct pp_python *python = search->python;
    if (search->why)
        return search->why;
    if (!pp_libc_find())
        return "its C library is not known to this pyprof";
    if (HEX_LEVEL(search->version) < LEVEL_CANDIDATE)
        return "it is a pre-release";
    const char *why = fit_layout(python, search->version);
    if (why)
        return why;
    if (!python->this_thread_state || !python->frame_type || !python->eval_function || !python->code_type ||
        !python->generator_type || !python->coroutine_type || !python->async_generator_type || !python->text_type ||
        !python->dict_type || !search->type_type)
        return "it does not export what is needed";
    if (!objects_as_expected(search))
        return "its objects are laid out differently (a debug build?)";
    if (!classes_as_expected(search))
        python->layout.heap_type.cached_keys = 0;
    if (!pin(search->name))
        return "it cannot be kept loaded";
    pp_tls_fix(&python->attached, pp_own_thread_pointer());
    pp_tls_fix(&python->bound, pp_own_thread_pointer());
    if (python->attached.kind && !agrees_with_getter(&python->attached, search->get_attached))
        python->attached.kind = PP_TLS_NONE;
    if (python->layout.runtime.key) {
        python->bound = pp_python_key_find(python->runtime + python->layout.runtime.key);
        return python->bound.kind ? NULL : "its thread states cannot be found";
    }
    if (!python->bound.kind || !agrees_with_getter(&python->bound, python->this_thread_state))
        return "its thread states cannot be found";
    python->this_thread_state = NULL;
    return NULL;
}

bool pp_python_find(struct pp_python *python, const char **why)
{
    struct search search = {.python = python};
    memset(python, 0, sizeof *python);
    pp_loader_visit(search_object, &search);
    *why = NULL;
    if (!search.found)
        return false;
    seen[seen_count++] = python->runtime;
    if (!search.version)
        search.version = version_from_text(((const char *(*)(void))search.get_version)());
    pp_format(python->version, sizeof python->version, "%u.%u.%u", HEX_MAJOR(search.version), HEX_MINOR(search.version),
              HEX_MICRO(search.version));
    *why = check(&search);
    return true;
}
