/* Code of a JIT's, in a list for debuggers that a reader must not follow to its end: the first object says that it is
 * at the highest addresses, the next one has the code, and then come always more without any. */
#include <elf.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>

struct object {
    Elf64_Ehdr header;
    Elf64_Shdr sections[4];
    Elf64_Sym symbols[2];
    char strings[32];
};

struct entry {
    struct entry *next, *previous;
    const void *image;
    uint64_t size;
};

struct {
    uint32_t version, action;
    struct entry *relevant, *first;
} __jit_debug_descriptor = {.version = 1};

#define COUNT 100000
static struct entry entries[COUNT];
static struct object objects[2];

static void make(struct object *object, uint64_t at, uint64_t value, uint64_t size, const char *name)
{
    memcpy(object->header.e_ident, ELFMAG, SELFMAG);
    object->header.e_ident[EI_CLASS] = ELFCLASS64;
    object->header.e_ident[EI_DATA] = ELFDATA2LSB;
    object->header.e_machine = EM_X86_64;
    object->header.e_type = ET_REL;
    object->header.e_shoff = offsetof(struct object, sections);
    object->header.e_shentsize = sizeof(Elf64_Shdr);
    object->header.e_shnum = 4;
    object->sections[1] =
        (Elf64_Shdr){.sh_type = SHT_PROGBITS, .sh_flags = SHF_ALLOC | SHF_EXECINSTR, .sh_addr = at, .sh_size = size};
    object->sections[2] = (Elf64_Shdr){.sh_type = SHT_SYMTAB,
                                       .sh_offset = offsetof(struct object, symbols),
                                       .sh_size = sizeof object->symbols,
                                       .sh_entsize = sizeof(Elf64_Sym),
                                       .sh_link = 3};
    object->sections[3] = (Elf64_Shdr){
        .sh_type = SHT_STRTAB, .sh_offset = offsetof(struct object, strings), .sh_size = sizeof object->strings};
    strcpy(object->strings + 1, name);
    object->symbols[1] = (Elf64_Sym){.st_name = 1,
                                     .st_info = ELF64_ST_INFO(STB_GLOBAL, STT_FUNC),
                                     .st_shndx = 1,
                                     .st_value = value,
                                     .st_size = size};
}

/* Runs code that was made for it; count: turns of its loop. */
void run(unsigned count)
{
    static const uint8_t code[] = {0xff, 0xcf, 0x75, 0xfc, 0xc3}; /* loop: dec edi; jnz loop; ret */
    static void (*made)(unsigned count);
    if (!made) {
        void *page = mmap(NULL, 4096, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        memcpy(page, code, sizeof code);
        make(&objects[0], UINT64_MAX - 0xff, 0xff, 0x80, "nowhere");
        make(&objects[1], (uintptr_t)page, 0, sizeof code, "made_here");
        for (unsigned i = 0; i < COUNT; i++) {
            entries[i].next = &entries[(i + 1) % COUNT];
            entries[i].previous = i ? &entries[i - 1] : NULL;
            entries[i].image = &objects[i & 1];
            entries[i].size = i < 2 ? sizeof objects[i] : 0;
        }
        __jit_debug_descriptor.first = entries;
        memcpy(&made, &page, sizeof made);
    }
    made(count);
}
