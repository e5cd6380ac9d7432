/*
 * A program that becomes a Python process late. embed MODE LIBRARY HOME [LIBRARY HOME]...: each LIBRARY is a libpython,
 * HOME its prefix. Needs no headers of Python: everything is found by name. Every Python function that uses CPU has a
 * name of its own and uses 0.4 s.
 */
#include "embed_python.h"
#include <malloc.h>
#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#include <wchar.h>

#define MAX         5
#define OLD_THREADS 2
#define OWN_GIL     2 /* PyInterpreterConfig_OWN_GIL */

/* Include/cpython/initconfig.h and pylifecycle.h of 3.12 and later */
struct status {
    int type;
    const char *function, *message;
    int exit_code;
};

struct interpreter_config {
    int use_main_obmalloc, allow_fork, allow_exec, allow_threads, allow_daemon_threads, check_extensions, gil;
};

/* --- threads that are older than Python --- */

struct old_thread {
    const struct python *python;
    const char *name;
    sem_t go;
    pthread_t thread;
};

static void *old_thread(void *argument)
{
    struct old_thread *old = argument;
    burn_native(0.05);
    sem_wait(&old->go);
    int state = old->python->ensure();
    burn(old->python, old->name);
    old->python->release(state);
    return NULL;
}

static void late(struct python *python, int flags, bool close)
{
    static const char *const names[OLD_THREADS] = {"in_old_thread", "in_other_old_thread"};
    struct old_thread old[OLD_THREADS];
    for (int i = 0; i < OLD_THREADS; i++) {
        old[i] = (struct old_thread){.python = python, .name = names[i]};
        sem_init(&old[i].go, 0, 0);
        pthread_create(&old[i].thread, NULL, old_thread, &old[i]);
    }
    burn_native(0.1);
    load(python, flags);
    initialize(python);
    burn(python, "in_main");
    if (flags & RTLD_DEEPBIND) {
        /* the library's own calls pass by what was preloaded: this one is the program's */
        struct old_thread young = {.python = python, .name = "in_young_thread"};
        void *state = python->save();
        sem_init(&young.go, 0, 1);
        pthread_create(&young.thread, NULL, old_thread, &young);
        pthread_join(young.thread, NULL);
        python->restore(state);
        burn(python, "in_main_later");
    }
    void *state = python->save();
    for (int i = 0; i < OLD_THREADS; i++)
        sem_post(&old[i].go);
    for (int i = 0; i < OLD_THREADS; i++)
        pthread_join(old[i].thread, NULL);
    python->restore(state);
    if (close) {
        python->finalize();
        dlclose(python->library);
        if (!dlopen(python->path, RTLD_NOW | RTLD_NOLOAD))
            die("it was unloaded");
        burn_native(0.3);
    }
}

/* --- two interpreters in the same thread, one after the other, and at once in two --- */

static void *in_thread(void *argument)
{
    const struct python *python = argument;
    int state = python->ensure();
    burn(python, python->home[0] == '1' ? "in_thread_of_first" : "in_thread_of_second");
    python->release(state);
    return NULL;
}

static void two(struct python pythons[2])
{
    pthread_t threads[2];
    void *states[2];
    for (int i = 0; i < 2; i++) {
        load(&pythons[i], RTLD_LOCAL);
        initialize(&pythons[i]);
    }
    /* both are attached to this thread, one runs */
    burn(&pythons[0], "first");
    burn(&pythons[1], "second");
    burn(&pythons[0], "first_again");
    for (int i = 0; i < 2; i++) {
        states[i] = pythons[i].save();
        pythons[i].home = i == 0 ? "1" : "2";
    }
    for (int i = 0; i < 2; i++)
        pthread_create(&threads[i], NULL, in_thread, &pythons[i]);
    for (int i = 0; i < 2; i++)
        pthread_join(threads[i], NULL);
    /* one is attached */
    pythons[0].restore(states[0]);
    burn(&pythons[0], "first_alone");
    pythons[0].save();
    pythons[1].restore(states[1]);
    burn(&pythons[1], "second_alone");
}

static void many(struct python *pythons, unsigned count)
{
    static const char *const names[] = {"one_of_many", "two_of_many", "three_of_many", "four_of_many", "five_of_many"};
    for (unsigned i = 0; i < count; i++) {
        load(&pythons[i], RTLD_LOCAL);
        initialize(&pythons[i]);
        burn(&pythons[i], names[i]);
        pythons[i].save();
    }
}

/* Both start in the same moment. */
static pthread_barrier_t start;

static _Atomic bool looking;

/* Looks through all of the environment, as much of libc does, again and again. */
static void *look_up(void *argument)
{
    while (atomic_load(&looking))
        if (getenv("A_VARIABLE_THAT_IS_NOT_THERE"))
            die("a variable from nowhere");
    return argument;
}

static void *start_at_once(void *argument)
{
    struct python *python = argument;
    void (*set_home)(const wchar_t *);
    wchar_t *home = calloc(strlen(python->home) + 1, sizeof *home);
    mbstowcs(home, python->home, strlen(python->home));
    load(python, RTLD_LOCAL);
    *(void **)&set_home = symbol(python, "Py_SetPythonHome");
    set_home(home);
    pthread_barrier_wait(&start);
    python->initialize(0);
    burn(python, python->name);
    python->save();
    return NULL;
}

static void at_once(struct python pythons[2])
{
    pthread_t threads[2], looks;
    /* an array of libc's own, that cannot be made longer where it is */
    setenv("A_VARIABLE", "1", 1);
    void *behind = malloc(1);
    atomic_store(&looking, true);
    pthread_create(&looks, NULL, look_up, NULL);
    pthread_barrier_init(&start, NULL, 2);
    pythons[0].name = "one_at_once";
    pythons[1].name = "other_at_once";
    for (int i = 0; i < 2; i++)
        pthread_create(&threads[i], NULL, start_at_once, &pythons[i]);
    for (int i = 0; i < 2; i++)
        pthread_join(threads[i], NULL);
    atomic_store(&looking, false);
    pthread_join(looks, NULL);
    free(behind);
}

static void again(struct python *python)
{
    static const char *const names[] = {"first_life", "second_life", "third_life"};
    load(python, RTLD_GLOBAL);
    for (int i = 0; i < 3; i++) {
        initialize(python);
        burn(python, names[i]);
        if (python->finalize() != 0)
            die("Py_FinalizeEx failed");
    }
}

/* --- subinterpreters --- */

struct guest {
    const struct python *python;
    void *state; /* of an interpreter */
    const char *name;
    void *made; /* the thread's own; NULL: it makes one */
    const char *name_without_gil;
};

static void *new_state(const struct guest *guest)
{
    /* interp is the third word of every thread state */
    return guest->python->new_state(((void **)guest->state)[2]);
}

static void *guest_thread(void *argument)
{
    struct guest *guest = argument;
    void *state = guest->made ? guest->made : new_state(guest);
    guest->python->restore(state);
    burn(guest->python, guest->name);
    if (guest->name_without_gil)
        burn_by(guest->python, guest->name_without_gil, WITHOUT_GIL);
    guest->python->clear_state(state);
    guest->python->delete_state();
    return NULL;
}

static void in_guest_thread(const struct python *python, void *interpreter_state, const char *name)
{
    struct guest guest = {.python = python, .state = interpreter_state, .name = name};
    pthread_t thread;
    void *state = python->save();
    pthread_create(&thread, NULL, guest_thread, &guest);
    pthread_join(thread, NULL);
    python->restore(state);
}

/* As uWSGI has it: the first thread makes the thread states of all others. */
static void in_threads_of_others(const struct python *python, void *interpreter_state)
{
    struct guest guests[] = {{.name = "app_two_in_thread", .name_without_gil = "app_two_without_gil"},
                             {.name = "app_two_in_other_thread"}};
    pthread_t threads[2];
    for (int i = 0; i < 2; i++) {
        guests[i].python = python;
        guests[i].state = interpreter_state;
        guests[i].made = new_state(&guests[i]);
    }
    void *state = python->save();
    for (int i = 0; i < 2; i++)
        pthread_create(&threads[i], NULL, guest_thread, &guests[i]);
    for (int i = 0; i < 2; i++)
        pthread_join(threads[i], NULL);
    python->restore(state);
}

static void apps(struct python *python)
{
    load(python, RTLD_GLOBAL);
    initialize(python);
    void *main_state = python->get_state();
    void *one = python->new_interpreter(), *other = python->new_interpreter();
    if (!one || !other)
        die("Py_NewInterpreter failed");
    for (int i = 0; i < 2; i++) {
        python->swap(one);
        burn(python, i == 0 ? "app_one" : "app_one_again");
        python->swap(other);
        burn(python, i == 0 ? "app_two" : "app_two_again");
    }
    in_guest_thread(python, one, "app_one_in_thread");
    in_threads_of_others(python, other);
    python->end_interpreter(other);
    python->swap(one);
    python->end_interpreter(one);
    python->swap(main_state);
    burn(python, "main_at_last");
}

static void *own_gil(void *argument)
{
    struct guest *guest = argument;
    struct status (*new_interpreter)(void **, const struct interpreter_config *);
    *(void **)&new_interpreter = symbol(guest->python, "Py_NewInterpreterFromConfig");
    struct interpreter_config config = {.allow_threads = 1, .check_extensions = 1, .gil = OWN_GIL};
    void *state = NULL;
    guest->python->restore(guest->python->new_state(((void **)guest->state)[2]));
    void *before = guest->python->get_state();
    if (new_interpreter(&state, &config).type != 0)
        die("Py_NewInterpreterFromConfig failed");
    burn(guest->python, guest->name);
    guest->python->end_interpreter(state);
    guest->python->restore(before);
    guest->python->clear_state(before);
    guest->python->delete_state();
    return NULL;
}

static void own(struct python *python)
{
    static const char *const names[] = {"own_one", "own_two"};
    struct guest guests[2];
    pthread_t threads[2];
    load(python, RTLD_GLOBAL);
    initialize(python);
    void *state = python->get_state();
    for (int i = 0; i < 2; i++)
        guests[i] = (struct guest){.python = python, .state = state, .name = names[i]};
    python->save();
    for (int i = 0; i < 2; i++)
        pthread_create(&threads[i], NULL, own_gil, &guests[i]);
    for (int i = 0; i < 2; i++)
        pthread_join(threads[i], NULL);
    python->restore(state);
    burn(python, "main_at_last");
}

/* --- the end --- */

static void *finalizer(void *argument)
{
    const struct python *python = argument;
    python->ensure();
    if (python->run("import atexit\n"
                    "import time\n"
                    "def at_the_end():\n"
                    "    end = time.thread_time() + 0.25\n"
                    "    while time.thread_time() < end:\n"
                    "        sum([i * i for i in range(2000)])\n"
                    "atexit.register(at_the_end)\n") != 0)
        die("atexit failed");
    python->finalize();
    return NULL;
}

static void finalize_elsewhere(struct python *python)
{
    pthread_t thread;
    load(python, RTLD_GLOBAL);
    initialize(python);
    burn(python, "in_main");
    python->save();
    pthread_create(&thread, NULL, finalizer, python);
    burn_native(0.25);
    pthread_join(thread, NULL);
    /* here was a thread state, and it is gone */
    burn_native(0.25);
}

struct orphan {
    const struct python *python;
    sem_t ready, go;
};

/* Its thread state is freed by another thread, and it has not let go of it. */
static void *orphan_thread(void *argument)
{
    struct orphan *orphan = argument;
    orphan->python->ensure();
    burn(orphan->python, "before_the_end");
    orphan->python->save();
    sem_post(&orphan->ready);
    sem_wait(&orphan->go);
    burn_native(0.25);
    return NULL;
}

static void orphaned(struct python *python)
{
    struct orphan orphan = {.python = python};
    pthread_t thread;
    sem_init(&orphan.ready, 0, 0);
    sem_init(&orphan.go, 0, 0);
    load(python, RTLD_GLOBAL);
    initialize(python);
    void *state = python->save();
    pthread_create(&thread, NULL, orphan_thread, &orphan);
    sem_wait(&orphan.ready);
    python->restore(state);
    python->finalize();
    malloc_trim(0);
    sem_post(&orphan.go);
    pthread_join(thread, NULL);
}

/* --- a thread that has its creator's TLS, by which Python would be found --- */

#define STACK_SIZE 65536

static _Atomic int bare_done;

static __attribute__((noinline)) int bare_thread(void *argument)
{
    (void)argument;
    burn_native(0.3);
    atomic_store(&bare_done, 1);
    syscall(SYS_exit, 0);
    return 0;
}

static void bare(struct python *python)
{
    char *stack = mmap(NULL, STACK_SIZE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (stack == MAP_FAILED ||
        clone(bare_thread, stack + STACK_SIZE,
              CLONE_VM | CLONE_FS | CLONE_FILES | CLONE_SIGHAND | CLONE_THREAD | CLONE_SYSVSEM, NULL) < 0)
        die("clone failed");
    load(python, RTLD_GLOBAL);
    initialize(python);
    while (!atomic_load(&bare_done))
        burn(python, "creator");
}

static void *burn_in_thread(void *argument)
{
    (void)argument;
    burn_native(0.1);
    return NULL;
}

/* --- the main thread ends, before Python is there or after that, in a thread that goes on --- */

static sem_t begun;

static void *goes_on(void *argument)
{
    struct python *python = argument;
    load(python, RTLD_GLOBAL);
    initialize(python);
    sem_post(&begun);
    for (int i = 0; i < 2; i++)
        burn(python, i ? "goes_on_further" : "goes_on");
    printf("the thread ends\n");
    return NULL;
}

static void says_at_exit(void)
{
    FILE *file = fopen("at_exit", "w");
    printf("at exit\n");
    if (file)
        fclose(file);
}

/* --- a server without Python in its master, whose workers start it: the second after the end of the first --- */

static void workers(struct python *python)
{
    for (int i = 0; i < 2; i++) {
        pid_t child = fork();
        if (child == 0) {
            load(python, RTLD_GLOBAL);
            initialize(python);
            burn(python, i ? "in_second_worker" : "in_first_worker");
            python->finalize();
            exit(0);
        }
        if (child < 0 || waitpid(child, NULL, 0) != child)
            die("no worker");
    }
}

enum end { BEFORE, LATER, PAST_LIBC };

static void main_ends(struct python *python, enum end end)
{
    pthread_t thread;
    setvbuf(stdout, NULL, _IOFBF, BUFSIZ);
    sem_init(&begun, 0, 0);
    atexit(says_at_exit);
    if (end == PAST_LIBC) {
        load(python, RTLD_GLOBAL);
        initialize(python);
        python->save();
        pthread_create(&thread, NULL, burn_in_thread, NULL);
        syscall(SYS_exit, 7);
    }
    pthread_create(&thread, NULL, goes_on, python);
    if (end == LATER)
        sem_wait(&begun);
    pthread_exit(NULL);
}

/* Of a function that CPython's start is known by. */
static double calls_us(void)
{
    enum { CALLS = 5000 };
    pthread_condattr_t attributes;
    pthread_condattr_init(&attributes);
    clock_t start = clock();
    for (int i = 0; i < CALLS; i++)
        pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
    return (double)(clock() - start) * 1e6 / CLOCKS_PER_SEC / CALLS;
}

static void unused(struct python *python)
{
    double before = calls_us();
    load(python, RTLD_GLOBAL);
    double after = calls_us();
    if (after > 1 + 10 * before)
        printf("%.2f us a call, before the library was there %.2f\n", after, before);
    for (int i = 0; i < 3; i++) {
        pthread_t thread;
        pthread_create(&thread, NULL, burn_in_thread, NULL);
        pthread_join(thread, NULL);
    }
}

int main(int argc, char **argv)
{
    struct python pythons[MAX] = {0};
    int count = argc / 2 - 1;
    if (argc % 2 || count < 1 || count > MAX)
        die("embed MODE LIBRARY HOME [LIBRARY HOME]...");
    for (int i = 0; i < count; i++) {
        pythons[i].path = argv[2 * i + 2];
        pythons[i].home = argv[2 * i + 3];
    }
    const char *mode = argv[1];
    if (strcmp(mode, "local") == 0)
        late(pythons, RTLD_LOCAL, false);
    else if (strcmp(mode, "global") == 0)
        late(pythons, RTLD_GLOBAL, false);
    else if (strcmp(mode, "deepbind") == 0)
        late(pythons, RTLD_LOCAL | RTLD_DEEPBIND, false);
    else if (strcmp(mode, "close") == 0)
        late(pythons, RTLD_LOCAL, true);
    else if (strcmp(mode, "two") == 0)
        two(pythons);
    else if (strcmp(mode, "many") == 0)
        many(pythons, (unsigned)count);
    else if (strcmp(mode, "at_once") == 0)
        at_once(pythons);
    else if (strcmp(mode, "again") == 0)
        again(pythons);
    else if (strcmp(mode, "apps") == 0)
        apps(pythons);
    else if (strcmp(mode, "own") == 0)
        own(pythons);
    else if (strcmp(mode, "finalize") == 0)
        finalize_elsewhere(pythons);
    else if (strcmp(mode, "orphan") == 0)
        orphaned(pythons);
    else if (strcmp(mode, "bare") == 0)
        bare(pythons);
    else if (strcmp(mode, "main_gone") == 0)
        main_ends(pythons, BEFORE);
    else if (strcmp(mode, "main_goes") == 0)
        main_ends(pythons, LATER);
    else if (strcmp(mode, "main_past_libc") == 0)
        main_ends(pythons, PAST_LIBC);
    else if (strcmp(mode, "workers") == 0)
        workers(pythons);
    else if (strcmp(mode, "unused") == 0)
        unused(pythons);
    else
        die("no such mode");
    return 0;
}
