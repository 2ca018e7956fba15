/* vfork, dlopen, dlsym and those of contexts: calls whose wrapper must leave no frame behind.
   vfork: the child returns through our caller's frame and goes on below it, so when the parent
   resumes, whatever we had pushed is gone; the return address waits in x30, which the kernel keeps
   for each of the two.
   dlopen, dlsym: libc looks at the return address to learn who asks ($ORIGIN, RTLD_NEXT), so we may do
   something before it, but must jump to it.
   makecontext knows itself how many arguments it has, on the stack as well; swapcontext saves where
   it returns to, perhaps more than once. */
        .text

        .globl  vfork
        .type   vfork, %function
vfork:
        .cfi_startproc
        hint    #34                     /* bti c */
        stp     x29, x30, [sp, #-16]!
        .cfi_adjust_cfa_offset 16
        .cfi_offset 30, -8
        bl      wisp_vfork_enter
        ldp     x29, x30, [sp], #16
        .cfi_adjust_cfa_offset -16
        .cfi_restore 30
        mov     x0, #0x4111             /* CLONE_VM | CLONE_VFORK | SIGCHLD */
        mov     x1, #0
        mov     x8, #220                /* SYS_clone */
        svc     #0
        cbz     x0, 1f                  /* the child: nothing of ours */
        b       wisp_vfork_leave
1:      ret
        .cfi_endproc
        .size   vfork, .-vfork

        .macro  noticed name, target
        .globl  \name
        .type   \name, %function
\name:
        .cfi_startproc
        hint    #34
        stp     x29, x30, [sp, #-80]!
        .cfi_adjust_cfa_offset 80
        .cfi_offset 30, -72
        stp     x0, x1, [sp, #16]
        stp     x2, x3, [sp, #32]
        stp     x4, x5, [sp, #48]
        stp     x6, x7, [sp, #64]
        bl      \target                 /* returns libc's function */
        mov     x16, x0
        ldp     x0, x1, [sp, #16]
        ldp     x2, x3, [sp, #32]
        ldp     x4, x5, [sp, #48]
        ldp     x6, x7, [sp, #64]
        ldp     x29, x30, [sp], #80
        .cfi_adjust_cfa_offset -80
        .cfi_restore 30
        br      x16
        .cfi_endproc
        .size   \name, .-\name
        .endm

        noticed dlopen, wisp_before_dlopen
        noticed dlmopen, wisp_before_dlmopen
        noticed dlsym, wisp_before_dlsym
        noticed makecontext, wisp_before_makecontext
        noticed setcontext, wisp_before_setcontext
        noticed swapcontext, wisp_before_swapcontext

        .section .note.GNU-stack,"",%progbits
