/* vfork, dlopen, dlsym and those of contexts: calls whose wrapper must leave no frame behind.
   vfork: the child returns through our caller's frame and goes on below it, so when the parent
   resumes, whatever we had pushed is gone; the return address waits in a register, which the
   kernel keeps for each of the two.
   dlopen, dlsym: libc looks at the return address to learn who asks ($ORIGIN, RTLD_NEXT), so we may do
   something before it, but must jump to it.
   makecontext knows itself how many arguments it has, on the stack as well; swapcontext saves where
   it returns to, perhaps more than once. */
        .text

        .globl  vfork
        .type   vfork, @function
vfork:
        .cfi_startproc
        endbr64
        subq    $8, %rsp
        .cfi_adjust_cfa_offset 8
        call    wisp_vfork_enter
        addq    $8, %rsp
        .cfi_adjust_cfa_offset -8
        popq    %rdx                    /* the system call changes rax, rcx and r11 only */
        .cfi_adjust_cfa_offset -8
        .cfi_register rip, rdx
        movl    $58, %eax               /* SYS_vfork */
        syscall
        pushq   %rdx
        .cfi_adjust_cfa_offset 8
        .cfi_offset rip, -8
        testq   %rax, %rax
        jz      1f                      /* the child: nothing of ours */
        movq    %rax, %rdi
        subq    $8, %rsp
        .cfi_adjust_cfa_offset 8
        call    wisp_vfork_leave
        addq    $8, %rsp
        .cfi_adjust_cfa_offset -8
1:      ret
        .cfi_endproc
        .size   vfork, .-vfork

        .macro  noticed name, target
        .globl  \name
        .type   \name, @function
\name:
        .cfi_startproc
        endbr64
        .irp    reg, rdi, rsi, rdx, rcx, r8, r9, rax
        pushq   %\reg
        .cfi_adjust_cfa_offset 8
        .endr
        call    \target                 /* returns libc's function */
        movq    %rax, %r11
        .irp    reg, rax, r9, r8, rcx, rdx, rsi, rdi
        popq    %\reg
        .cfi_adjust_cfa_offset -8
        .endr
        jmp     *%r11
        .cfi_endproc
        .size   \name, .-\name
        .endm

        noticed dlopen, wisp_before_dlopen
        noticed dlmopen, wisp_before_dlmopen
        noticed dlsym, wisp_before_dlsym
        noticed makecontext, wisp_before_makecontext
        noticed setcontext, wisp_before_setcontext
        noticed swapcontext, wisp_before_swapcontext

        .section .note.GNU-stack,"",@progbits
