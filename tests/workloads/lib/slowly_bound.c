/* A function that takes the loader half a second to bind, while nothing that comes after it is relocated. A library of
 * its own, or a part of fake_python.c. */
#include <sys/syscall.h>
#include <time.h>

void use_slowly_bound(void);

static void nothing(void)
{
}

static void *choose(void)
{
    struct timespec time = {0, 500000000};
    long result = SYS_nanosleep;
    __asm__ volatile("syscall" : "+a"(result) : "D"(&time), "S"(0) : "rcx", "r11", "memory");
    return (void *)nothing;
}

void slowly_bound(void) __attribute__((ifunc("choose")));

void use_slowly_bound(void)
{
    slowly_bound();
}
