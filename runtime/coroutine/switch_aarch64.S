/* The context switch on AArch64 (AAPCS64). A suspended context is a stack pointer to this frame;
 * switch_frame in context.cpp mirrors it:
 *   0 x19..x28 | 80 x29 | 88 x30 | 96 d8..d15 | 160 fpcr | 168 unused      (176 bytes)
 * Arguments: x0 = save, x1 = resume, x2 = thread pointer, x3 = value to return over there.
 * Called only through switch_context() in context.h. `ret` and not `br`, as a return needs no
 * BTI landing pad in the caller.
 */
    .text
    .set FRAME, 176

    .macro SWITCH_SAVE
    .cfi_startproc
    hint #34                            /* bti c */
    sub sp, sp, #FRAME
    .cfi_adjust_cfa_offset FRAME
    stp x19, x20, [sp, #0]
    stp x21, x22, [sp, #16]
    stp x23, x24, [sp, #32]
    stp x25, x26, [sp, #48]
    stp x27, x28, [sp, #64]
    stp x29, x30, [sp, #80]
    .cfi_rel_offset x19, 0
    .cfi_rel_offset x20, 8
    .cfi_rel_offset x21, 16
    .cfi_rel_offset x22, 24
    .cfi_rel_offset x23, 32
    .cfi_rel_offset x24, 40
    .cfi_rel_offset x25, 48
    .cfi_rel_offset x26, 56
    .cfi_rel_offset x27, 64
    .cfi_rel_offset x28, 72
    .cfi_rel_offset x29, 80
    .cfi_rel_offset x30, 88
    stp d8, d9, [sp, #96]
    stp d10, d11, [sp, #112]
    stp d12, d13, [sp, #128]
    stp d14, d15, [sp, #144]
    mrs x5, fpcr
    str x5, [sp, #160]
    mov x4, sp
    str x4, [x0]
    ldr x4, [x1]
    mov sp, x4
    .endm

    /* Writing fpcr may flush the pipeline, reading it does not. */
    .macro SWITCH_RESTORE
    ldr x6, [sp, #160]
    cmp x5, x6
    b.ne 1f
2:
    ldp x19, x20, [sp, #0]
    ldp x21, x22, [sp, #16]
    ldp x23, x24, [sp, #32]
    ldp x25, x26, [sp, #48]
    ldp x27, x28, [sp, #64]
    ldp x29, x30, [sp, #80]
    ldp d8, d9, [sp, #96]
    ldp d10, d11, [sp, #112]
    ldp d12, d13, [sp, #128]
    ldp d14, d15, [sp, #144]
    mov x0, x3
    .cfi_remember_state
    .cfi_restore x19
    .cfi_restore x20
    .cfi_restore x21
    .cfi_restore x22
    .cfi_restore x23
    .cfi_restore x24
    .cfi_restore x25
    .cfi_restore x26
    .cfi_restore x27
    .cfi_restore x28
    .cfi_restore x29
    .cfi_restore x30
    add sp, sp, #FRAME
    .cfi_adjust_cfa_offset -FRAME
    ret
    .cfi_restore_state
1:
    msr fpcr, x6
    b 2b
    .cfi_endproc
    .endm

    .macro FUNCTION name
    .globl \name
    .hidden \name
    .type \name, %function
    .p2align 5
\name:
    .endm

    FUNCTION wisp_switch
    SWITCH_SAVE
    msr tpidr_el0, x2
    SWITCH_RESTORE
    .size wisp_switch, .-wisp_switch

    FUNCTION wisp_switch_same_fs
    SWITCH_SAVE
    SWITCH_RESTORE
    .size wisp_switch_same_fs, .-wisp_switch_same_fs

    /* First code of a coroutine: entry(arg, user). x30 is undefined here, so unwinders take this
     * frame for the outermost one; see the x86-64 file for the nop. */
    .p2align 5
    .cfi_startproc
    .cfi_undefined x30
    .cfi_undefined x29
    nop
    .globl wisp_coroutine_start
    .hidden wisp_coroutine_start
    .type wisp_coroutine_start, %function
wisp_coroutine_start:
    mov x1, x20
    blr x19
    brk #0x57                           /* an entry function never returns */
    .cfi_endproc
    .size wisp_coroutine_start, .-wisp_coroutine_start

    .section .note.GNU-stack, "", %progbits
