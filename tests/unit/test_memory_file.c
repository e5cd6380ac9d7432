/* SPDX-License-Identifier: Apache-2.0 */
/* Memory is read by a descriptor only while that is of this process's memory, whatever the program does with its
 * number. */
#include "preload/base/memory_file.h"
#include "preload/base/process.h"
#include "preload/base/syscalls.h"
#include "unit.h"
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>

#define OURS   0x6f757273u
#define OTHERS 0x6f746865u
#define SWAPS  ROUNDS(1000u, 300u)

static volatile uint64_t word;
static int others = -1; /* the memory of a process that has something else at the word's place */

/* Returns what is read of the word, or the error. */
static long read_word(void)
{
    uint64_t to = 0;
    struct iovec local = {&to, sizeof to}, remote = {(void *)(uintptr_t)&word, sizeof to};
    long copied = pp_memory_file_copy(&local, 1, &remote, 1);
    return copied < 0 ? copied : (long)to;
}

void before_all(void)
{
    static int end[2];
    char path[32];
    pp_process_begins();
    word = OTHERS;
    assert_int_equal(pipe(end), 0);
    pid_t child = fork();
    if (child == 0) {
        char byte;
        close(end[1]);
        _exit(read(end[0], &byte, 1) != 0); /* until this process ends */
    }
    snprintf(path, sizeof path, "/proc/%d/mem", child);
    others = open(path, O_RDONLY | O_CLOEXEC);
    assert_true(others >= 0);
    word = OURS;
}

void before_each(void)
{
    pp_memory_file_begin();
    assert_true(pp_memory_file.number > 2);
}

void after_each(void)
{
    close(pp_memory_file.number);
}

TEST(what_is_there_is_copied)
{
    long size = sysconf(_SC_PAGESIZE);
    char *pages = mmap(NULL, 2 * (size_t)size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0), to[32];
    assert_int_equal(read_word(), OURS);
    for (int i = 0; i < 32; i++)
        pages[size - 32 + i] = (char)i;
    munmap(pages + size, (size_t)size);
    /* parts end at different bytes on the two sides */
    struct iovec local[] = {{to, 5}, {to + 5, 0}, {to + 5, 20}, {to + 25, 7}};
    struct iovec remote[] = {{pages + size - 32, 16}, {pages + size - 16, 4}, {pages + size - 12, 12}};
    assert_int_equal(pp_memory_file_copy(local, 4, remote, 3), 32);
    assert_memory_equal(to, pages + size - 32, 32);
    /* up to what is not there */
    remote[1] = (struct iovec){pages + size - 4, 8};
    memset(to, 0, sizeof to);
    assert_int_equal(pp_memory_file_copy(local, 4, remote, 3), 20);
    assert_memory_equal(to + 16, pages + size - 4, 4);
    remote[0] = remote[1] = (struct iovec){pages + size, 8};
    assert_int_equal(pp_memory_file_copy(local, 4, remote, 3), -EFAULT);
    munmap(pages, (size_t)size);
}

TEST(a_closed_number_or_another_file_is_not_read)
{
    assert_int_equal(dup2(others, pp_memory_file.number), pp_memory_file.number);
    assert_false(pp_memory_file_is_open());
    assert_int_equal(read_word(), -EPERM);
    close(pp_memory_file.number);
    assert_int_equal(read_word(), -EPERM);
}

TEST(another_file_is_not_closed)
{
    assert_int_equal(dup2(others, pp_memory_file.number), pp_memory_file.number);
    int number = pp_memory_file.number;
    pp_memory_file_after_fork();
    assert_true(fcntl(number, F_GETFD) >= 0);
    assert_true(pp_memory_file.number != number);
    assert_int_equal(read_word(), OURS);
    close(number);
}

static void *replace(void *argument)
{
    dup2(others, *(int *)argument);
    return NULL;
}

TEST(nothing_of_another_file_is_taken_for_memory_while_the_number_is_reused)
{
    unsigned read = 0;
    for (unsigned i = 0; i < SWAPS; i++) {
        pthread_t thread;
        int number = pp_memory_file.number;
        pthread_create(&thread, NULL, replace, &number);
        long found = read_word();
        while (found == OURS) {
            read++;
            found = read_word();
        }
        assert_int_equal(found, -EPERM);
        pthread_join(thread, NULL);
        close(number);
        pp_memory_file_begin();
    }
    assert_true(read > 0);
}

/* Checks in a copy of this process, without the atfork handlers. */
static bool in_child(bool (*check)(void))
{
    int status;
    long child = pp_syscall4(SYS_clone, SIGCHLD, 0, 0, 0);
    if (child == 0) {
        word = OTHERS;
        pp_syscall4(SYS_exit_group, !check(), 0, 0, 0);
    }
    return waitpid((pid_t)child, &status, 0) == child && status == 0;
}

static bool is_refused(void)
{
    return read_word() == -EPERM;
}

static bool reads_own(void)
{
    int parents = pp_memory_file.number;
    struct stat before, after;
    fstat(parents, &before);
    pp_memory_file_after_fork();
    pp_process_after_fork();
    /* nothing of the parent's stays open */
    bool closed = fstat(parents, &after) != 0 || after.st_ino != before.st_ino;
    return closed && read_word() == OTHERS;
}

TEST(a_child_does_not_read_its_parent)
{
    assert_true(in_child(is_refused));
    assert_true(in_child(reads_own));
    assert_int_equal(read_word(), OURS);
}

TEST(no_exec_passes_it_on)
{
    assert_int_equal(fcntl(pp_memory_file.number, F_GETFD), FD_CLOEXEC);
}
