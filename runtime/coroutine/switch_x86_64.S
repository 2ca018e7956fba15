/* The context switch on x86-64 (System V ABI). A suspended context is nothing but a stack
 * pointer to this frame; switch_frame in context.cpp mirrors it:
 *   0 mxcsr | 4 x87 control word | 8 r12 | 16 r13 | 24 r14 | 32 r15 | 40 rbx | 48 rbp | 56 return
 * Arguments: rdi = save, rsi = resume, rdx = thread pointer, rcx = value to return over there.
 * Called only through switch_context() in context.h. Never runs on a shadow stack: without the
 * SHSTK property note in this object ld.so leaves shadow stacks off for the process.
 */
    .text

    .macro SWITCH_SAVE
    .cfi_startproc
    endbr64
    pushq %rbp
    .cfi_adjust_cfa_offset 8
    .cfi_rel_offset %rbp, 0
    pushq %rbx
    .cfi_adjust_cfa_offset 8
    .cfi_rel_offset %rbx, 0
    pushq %r15
    .cfi_adjust_cfa_offset 8
    .cfi_rel_offset %r15, 0
    pushq %r14
    .cfi_adjust_cfa_offset 8
    .cfi_rel_offset %r14, 0
    pushq %r13
    .cfi_adjust_cfa_offset 8
    .cfi_rel_offset %r13, 0
    pushq %r12
    .cfi_adjust_cfa_offset 8
    .cfi_rel_offset %r12, 0
    subq $8, %rsp
    .cfi_adjust_cfa_offset 8
    stmxcsr (%rsp)
    fnstcw 4(%rsp)
    movl (%rsp), %r8d
    movzwl 4(%rsp), %r9d
    movq %rsp, (%rdi)
    movq (%rsi), %rsp
    .endm

    /* ldmxcsr and fldcw cost more than the rest of the switch and are nearly always no-ops, so
     * they run only when the control bits differ. The sticky status bits (0x3f) are not compared:
     * the ABI does not preserve them over a call, and every task that ever rounded has one set. */
    .macro SWITCH_RESTORE
    xorl (%rsp), %r8d
    testl $0xffc0, %r8d
    jne 1f
    cmpw 4(%rsp), %r9w
    jne 1f
2:
    addq $8, %rsp
    .cfi_adjust_cfa_offset -8
    popq %r12
    .cfi_adjust_cfa_offset -8
    .cfi_restore %r12
    popq %r13
    .cfi_adjust_cfa_offset -8
    .cfi_restore %r13
    popq %r14
    .cfi_adjust_cfa_offset -8
    .cfi_restore %r14
    popq %r15
    .cfi_adjust_cfa_offset -8
    .cfi_restore %r15
    popq %rbx
    .cfi_adjust_cfa_offset -8
    .cfi_restore %rbx
    popq %rbp
    .cfi_adjust_cfa_offset -8
    .cfi_restore %rbp
    movq %rcx, %rax
    /* `ret`, not a jump: tasks mostly leave from and come back to the same place in switch_out, so
     * the return predictor's entry is right, and those of the callers above it, which are mostly
     * alike, too. A jump would leave one entry too many and make every return above miss. */
    retq
    .cfi_adjust_cfa_offset 56
    .cfi_rel_offset %rbp, 48
    .cfi_rel_offset %rbx, 40
    .cfi_rel_offset %r15, 32
    .cfi_rel_offset %r14, 24
    .cfi_rel_offset %r13, 16
    .cfi_rel_offset %r12, 8
1:
    ldmxcsr (%rsp)
    fldcw 4(%rsp)
    jmp 2b
    .cfi_endproc
    .endm

    .macro FUNCTION name
    .globl \name
    .hidden \name
    .type \name, @function
    .p2align 5
\name:
    .endm

    FUNCTION wisp_switch
    SWITCH_SAVE
    wrfsbase %rdx
    SWITCH_RESTORE
    .size wisp_switch, .-wisp_switch

    FUNCTION wisp_switch_same_fs
    SWITCH_SAVE
    SWITCH_RESTORE
    .size wisp_switch_same_fs, .-wisp_switch_same_fs

    /* arch_prctl(ARCH_SET_FS = 0x1002, rdx). The kernel clobbers rcx and r11; r12 is ours to use,
     * as its value is already on the stack that we left. */
    FUNCTION wisp_switch_syscall
    SWITCH_SAVE
    movq %rcx, %r12
    movl $158, %eax
    movl $0x1002, %edi
    movq %rdx, %rsi
    syscall
    movq %r12, %rcx
    SWITCH_RESTORE
    .size wisp_switch_syscall, .-wisp_switch_syscall

    /* First code of a coroutine: entry(arg, user). `rip` is undefined here, so unwinders and
     * debuggers take this frame for the outermost one. The nop keeps "return address - 1" of a
     * context that has not run yet inside this function. */
    .p2align 5
    .cfi_startproc
    .cfi_undefined %rip
    .cfi_undefined %rbp
    nop
    .globl wisp_coroutine_start
    .hidden wisp_coroutine_start
    .type wisp_coroutine_start, @function
wisp_coroutine_start:
    endbr64
    movq %rax, %rdi
    movq %r13, %rsi
    callq *%r12
    ud2                                 /* an entry function never returns */
    .cfi_endproc
    .size wisp_coroutine_start, .-wisp_coroutine_start

    .section .note.GNU-stack, "", @progbits
