/* Runs a program under a filter: filtered docker|old|absent|4.18 COMMAND... The calls of docker's default profile that
 * matter to profilers are refused, for "old" process_vm_readv as well (as on kernels before 4.8); for "absent" they are
 * not there, as under an emulator. Linux 4.18 has no call that is newer: from pidfd_send_signal on. */
#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

static const unsigned refused[] = {
    SYS_perf_event_open,
    SYS_ptrace,
    SYS_bpf,
    SYS_userfaultfd,
    SYS_kcmp,
    SYS_pidfd_getfd,
    SYS_process_vm_writev,
    SYS_unshare,
    SYS_setns,
    SYS_mount,
    SYS_keyctl,
    SYS_add_key,
    SYS_syslog,
    SYS_open_by_handle_at,
    SYS_clock_settime,
    SYS_settimeofday,
    SYS_acct,
    SYS_reboot,
    SYS_swapon,
    SYS_init_module,
    SYS_io_uring_setup,
    SYS_personality,
    SYS_process_vm_readv, /* the last: not for "docker" */
};

#define REFUSED (sizeof refused / sizeof *refused)

int main(int argc, char **argv)
{
    struct sock_filter rules[2 * REFUSED + 2] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
    };
    unsigned short count = 1;
    const char *how = argc > 2 ? argv[1] : "";
    bool is_old_kernel = strcmp(how, "4.18") == 0;
    size_t calls = is_old_kernel ? 0 : strcmp(how, "docker") == 0 ? REFUSED - 1 : REFUSED;
    unsigned error = strcmp(how, "absent") == 0 ? ENOSYS : EPERM;
    for (size_t i = 0; i < calls; i++) {
        rules[count++] = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, refused[i], 0, 1);
        rules[count++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | error);
    }
    if (is_old_kernel) {
        rules[count++] = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JGE | BPF_K, SYS_pidfd_send_signal, 0, 1);
        rules[count++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | ENOSYS);
    }
    rules[count++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
    struct sock_fprog program = {count, rules};
    if (argc < 3 || prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 ||
        prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) != 0) {
        perror("filtered");
        return 2;
    }
    execvp(argv[2], argv + 2);
    perror(argv[2]);
    return 127;
}
