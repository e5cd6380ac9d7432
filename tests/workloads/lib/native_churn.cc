/*
 * Threads whose modules come and go while they are sampled, that throw and that allocate:
 *     churn("unload:./libplug", seconds)  dlopen libplug0.so to libplug3.so, call into each, dlclose
 *     churn("throw", seconds)             exceptions through twenty frames
 *     churn("allocate", seconds)          malloc, realloc and free of 16 bytes to 256 KiB
 * Each returns the CPU time of its thread in ns, 0 if it failed.
 */
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <dlfcn.h>
#include <stdexcept>
#include <string>

#define KEEP __attribute__((noinline))

namespace {

uint64_t cpu_ns()
{
    timespec now;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return uint64_t(now.tv_sec) * 1000000000u + uint64_t(now.tv_nsec);
}

KEEP bool use_plug(const std::string &path)
{
    void *library = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
    auto work = library ? reinterpret_cast<long (*)(long)>(dlsym(library, "plug_work")) : nullptr;
    bool worked = work && work(200000) != 0;
    return library && dlclose(library) == 0 && worked;
}

KEEP int throw_below(int depth)
{
    if (depth == 0)
        throw std::runtime_error("from below");
    std::string kept(size_t(depth), 'x'); /* something to destroy on the way */
    return throw_below(depth - 1) + int(kept.size());
}

KEEP int catch_one()
{
    try {
        return throw_below(20);
    } catch (const std::runtime_error &error) {
        return int(std::strlen(error.what()));
    }
}

KEEP void allocate_some(unsigned *random)
{
    void *blocks[64] = {};
    for (int i = 0; i < 512; i++) {
        *random = *random * 1664525u + 1013904223u;
        void **block = &blocks[*random >> 26];
        size_t size = size_t(16) << (*random >> 8 & 15) % 15;
        if (*block && *random & 1) {
            free(*block);
            *block = nullptr;
        } else {
            *block = realloc(*block, size);
            memset(*block, 1, size < 256 ? size : 256);
        }
    }
    for (void *block : blocks)
        free(block);
}

} // namespace

extern "C" uint64_t churn(const char *kind, double seconds)
{
    uint64_t start = cpu_ns(), end = start + uint64_t(seconds * 1e9);
    unsigned random = 1, round = 0;
    while (cpu_ns() < end) {
        if (strncmp(kind, "unload:", 7) == 0) {
            if (!use_plug(std::string(kind + 7) + char('0' + round++ % 4) + ".so"))
                return 0;
        } else if (strcmp(kind, "throw") == 0) {
            if (catch_one() != 10)
                return 0;
        } else {
            allocate_some(&random);
        }
    }
    return cpu_ns() - start;
}
