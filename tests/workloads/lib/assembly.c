/* A function that no unwind table describes, with a frame that cannot be guessed. */
long spin_without_cfi(long rounds);

__asm__(".globl spin_without_cfi\n"
        ".type spin_without_cfi, @function\n"
        "spin_without_cfi:\n"
        "    push %r12\n"
        "    push %rbp\n"
        "    sub $328, %rsp\n"
        "    mov %rdi, %r12\n"
        "    mov $77, %ebp\n"
        "1:  dec %r12\n"
        "    jnz 1b\n"
        "    mov $1, %eax\n"
        "    add $328, %rsp\n"
        "    pop %rbp\n"
        "    pop %r12\n"
        "    ret\n"
        ".size spin_without_cfi, . - spin_without_cfi\n");
