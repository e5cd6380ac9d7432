/* Puts the process under a seccomp filter that kills it for these system calls and allows all others. As a program:
 * sandbox NUMBERS COMMAND..., as a library: sandbox_here(). NUMBERS like 222,228, or
 * "writing": openat for more than reading, or "naming": PR_SET_NAME. */
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#define MAX 32

int sandbox_here(const char *numbers, int how);

/* how: 0 by prctl, 1 by seccomp, 2 for all threads. Kills the whole process. */
__attribute__((visibility("default"))) int sandbox_here(const char *numbers, int how)
{
    struct sock_filter rules[2 * MAX + 2];
    unsigned short n = 0;
    rules[n++] = (struct sock_filter)BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr));
    if (strcmp(numbers, "writing") == 0) { /* openat, for other than reading */
        rules[n++] = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_openat, 0, 3);
        rules[n++] = (struct sock_filter)BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, args[2]));
        rules[n++] = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, O_ACCMODE, 0, 1);
        rules[n++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS);
    } else if (strcmp(numbers, "naming") == 0) {
        rules[n++] = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_prctl, 0, 3);
        rules[n++] = (struct sock_filter)BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, args[0]));
        rules[n++] = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, PR_SET_NAME, 0, 1);
        rules[n++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS);
    }
    char *end;
    for (const char *p = numbers; n < 2 * MAX; p = end + 1) {
        long number = strtol(p, &end, 10);
        if (end == p)
            break;
        rules[n++] = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (unsigned)number, 0, 1);
        rules[n++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS);
        if (!*end)
            break;
    }
    rules[n++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
    struct sock_fprog program = {n, rules};
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0)
        return -1;
    if (how == 0)
        return prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program);
    return (int)syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, how == 2 ? SECCOMP_FILTER_FLAG_TSYNC : 0, &program);
}

int main(int argc, char **argv)
{
    if (argc < 3 || sandbox_here(argv[1], 0) != 0) {
        perror("sandbox");
        return 2;
    }
    execvp(argv[2], argv + 2);
    perror(argv[2]);
    return 127;
}
