/* How a process ends, with code that runs at its end before, after and beside ours. Loaded by LD_PRELOAD, in front of
 * us or after us, or by the program itself. */
#include "cpu.h"
#include <dlfcn.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

void ending(const char *how);
void burn_at_end(void);

static int loud;
static const char *thread_how;

__attribute__((noinline)) void burn_at_end(void)
{
    use_us(30000);
}

static void say(const char *what)
{
    if (loud && write(1, what, strlen(what)) < 0)
        _exit(97);
}

static void at_exit_early(void)
{
    burn_at_end();
    say("registered early\n");
}

static void at_exit_late(void)
{
    burn_at_end();
    say("registered late\n");
}

static void at_quick(void)
{
    burn_at_end();
    say("at_quick_exit\n");
}

static void *a_thread(void *argument)
{
    burn_at_end();
    return argument;
}

__attribute__((constructor)) static void begins(void)
{
    loud = getenv("ENDINGS") != NULL;
    unsetenv("ENDINGS");
    if (loud)
        atexit(at_exit_early);
}

/* As destructors of C++ do that have threads and children of their own. */
__attribute__((destructor)) static void ends(void)
{
    pthread_t thread;
    if (!loud)
        return;
    burn_at_end();
    /* Of pthread_exit, glibc takes this thread for the last one once more: it ends the process from under us. */
    if (strcmp(thread_how, "pthread_exit") != 0 && pthread_create(&thread, NULL, a_thread, NULL) == 0)
        pthread_join(thread, NULL);
    pid_t pid = fork();
    if (pid == 0) {
        burn_at_end();
        _exit(0);
    }
    waitpid(pid, NULL, 0);
    say(system("exit 3") == 3 << 8 ? "destructor\n" : "destructor: no shell\n");
}

/* uWSGI before 2.0.30 has Python end within an exit handler. */
static void finalizes(void)
{
    int (*ensure)(void), (*finalize)(void);
    *(void **)&ensure = dlsym(RTLD_DEFAULT, "PyGILState_Ensure");
    *(void **)&finalize = dlsym(RTLD_DEFAULT, "Py_FinalizeEx");
    if (!ensure || !finalize)
        return;
    ensure();
    burn_at_end();
    finalize();
    burn_at_end();
    say("finalized\n");
}

static void exits(int signal)
{
    exit(signal == SIGPROF ? 15 : 14);
}

static void leaves(int signal)
{
    (void)signal;
    _exit(16);
}

static void *in_thread(void *argument)
{
    burn_at_end();
    if (strcmp(thread_how, "exit_in_thread") == 0)
        exit(11);
    if (strcmp(thread_how, "abort_in_thread") == 0)
        abort();
    _exit(12);
    return argument;
}

/* Ends the process in this way. */
void ending(const char *how)
{
    pthread_t others[3];
    struct sigaction action;
    memset(&action, 0, sizeof action);
    atexit(at_exit_late);
    at_quick_exit(at_quick);
    for (int i = 0; i < 3; i++)
        pthread_create(&others[i], NULL, a_thread, NULL);
    burn_at_end();
    thread_how = how;
    if (strcmp(how, "exit") == 0)
        exit(3);
    if (strcmp(how, "_exit") == 0)
        _exit(4);
    if (strcmp(how, "quick_exit") == 0)
        quick_exit(5);
    if (strcmp(how, "abort") == 0)
        abort();
    if (strcmp(how, "term") == 0)
        kill(getpid(), SIGTERM);
    if (strstr(how, "_in_thread")) {
        pthread_create(&others[0], NULL, in_thread, NULL);
        for (;;)
            pause(); /* until the thread has ended the process, however long that takes */
    }
    if (strcmp(how, "exit_in_handler") == 0 || strcmp(how, "exit_in_sigprof") == 0 ||
        strcmp(how, "_exit_in_handler") == 0) {
        int signal = strcmp(how, "exit_in_sigprof") == 0 ? SIGPROF : SIGALRM;
        action.sa_handler = how[0] == '_' ? leaves : exits;
        sigaction(signal, &action, NULL);
        raise(signal);
    }
    if (strcmp(how, "pthread_exit") == 0)
        pthread_exit(NULL);
    if (strcmp(how, "finalize_at_exit") == 0) {
        atexit(finalizes);
        exit(7);
    }
    _exit(96);
}
