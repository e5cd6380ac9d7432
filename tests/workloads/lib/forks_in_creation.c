/* Preloaded after the library: a fork in the middle of its pthread_create, and in a thread that it has not begun yet,
 * as a handler of a signal may fork. Parent and child go on with the creation. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define USED_NS 50000000 /* by each thread */

struct start {
    void *(*function)(void *);
    void *argument;
};

static bool forks_in_creator, forks_in_thread;
static _Thread_local bool in_child; /* of the thread that has forked */
static atomic_int ran, failed;

static void fork_here(void)
{
    int status = -1;
    pid_t child = fork();
    if (child == 0)
        in_child = true;
    else if (waitpid(child, &status, 0) != child || status != 0)
        atomic_fetch_add(&failed, 1);
}

static void *start_with_fork(void *argument)
{
    struct start start = *(struct start *)argument;
    free(argument);
    fork_here();
    void *result = start.function(start.argument);
    if (in_child)
        _exit(atomic_load(&ran) != 1);
    return result;
}

int pthread_create(pthread_t *thread, const pthread_attr_t *attributes, void *(*function)(void *), void *argument)
{
    int (*create)(pthread_t *, const pthread_attr_t *, void *(*)(void *), void *);
    *(void **)&create = dlsym(RTLD_NEXT, "pthread_create");
    bool here = forks_in_creator, in_thread = forks_in_thread;
    forks_in_creator = forks_in_thread = false; /* the library makes a thread in the child, too */
    if (here)
        fork_here();
    if (!in_thread)
        return create(thread, attributes, function, argument);
    struct start *start = malloc(sizeof *start);
    *start = (struct start){function, argument};
    return create(thread, attributes, start_with_fork, start);
}

static void *use_cpu(void *argument)
{
    struct timespec now;
    do
        clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    while (now.tv_sec == 0 && now.tv_nsec < USED_NS);
    atomic_fetch_add(&ran, 1);
    return argument;
}

/* Makes a thread. Returns 0 if its function runs once, in the child of the fork, too. */
int fork_in_creation(bool in_thread)
{
    pthread_t thread;
    forks_in_thread = in_thread;
    forks_in_creator = !in_thread;
    atomic_store(&ran, 0);
    int error = pthread_create(&thread, NULL, use_cpu, NULL);
    if (error || pthread_join(thread, NULL) != 0 || atomic_load(&ran) != 1)
        atomic_fetch_add(&failed, 1);
    if (in_child)
        _exit(atomic_load(&failed) != 0);
    return atomic_load(&failed);
}
