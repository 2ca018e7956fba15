// registers_changed(step, argument, pattern): fills every callee-saved register with a value
// derived from `pattern`, calls step(argument), and returns how many of them came back changed.
#pragma once

extern "C" long registers_changed(void (*step)(void*), void* argument, unsigned long pattern);

#if defined(__x86_64__)
asm(R"(
    .text
    .macro CHECK register
    incq %rdx
    cmpq %rdx, \register
    setne %cl
    movzbl %cl, %ecx
    addl %ecx, %eax
    .endm
    .type registers_changed, @function
registers_changed:
    pushq %rbp; pushq %rbx; pushq %r12; pushq %r13; pushq %r14; pushq %r15
    pushq %rdx
    leaq 1(%rdx), %rbx; leaq 2(%rdx), %rbp; leaq 3(%rdx), %r12
    leaq 4(%rdx), %r13; leaq 5(%rdx), %r14; leaq 6(%rdx), %r15
    movq %rdi, %rax
    movq %rsi, %rdi
    callq *%rax
    popq %rdx
    xorl %eax, %eax
    CHECK %rbx
    CHECK %rbp
    CHECK %r12
    CHECK %r13
    CHECK %r14
    CHECK %r15
    popq %r15; popq %r14; popq %r13; popq %r12; popq %rbx; popq %rbp
    ret
    .size registers_changed, .-registers_changed
)");
#elif defined(__aarch64__)
asm(R"(
    .text
    .macro CHECK register
    add x9, x9, #1
    cmp \register, x9
    cinc x0, x0, ne
    .endm
    .macro CHECKD register
    add x9, x9, #1
    fmov x10, \register
    cmp x10, x9
    cinc x0, x0, ne
    .endm
    .macro SET register
    add x9, x9, #1
    mov \register, x9
    .endm
    .macro SETD register
    add x9, x9, #1
    fmov \register, x9
    .endm
    .type registers_changed, %function
registers_changed:
    stp x29, x30, [sp, #-176]!
    stp x19, x20, [sp, #16]
    stp x21, x22, [sp, #32]
    stp x23, x24, [sp, #48]
    stp x25, x26, [sp, #64]
    stp x27, x28, [sp, #80]
    stp d8, d9, [sp, #96]
    stp d10, d11, [sp, #112]
    stp d12, d13, [sp, #128]
    stp d14, d15, [sp, #144]
    str x2, [sp, #160]
    mov x9, x2
    .irp n, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28
    SET x\n
    .endr
    .irp n, 8, 9, 10, 11, 12, 13, 14, 15
    SETD d\n
    .endr
    mov x9, x0
    mov x0, x1
    blr x9
    ldr x9, [sp, #160]
    mov x0, #0
    .irp n, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28
    CHECK x\n
    .endr
    .irp n, 8, 9, 10, 11, 12, 13, 14, 15
    CHECKD d\n
    .endr
    ldp x19, x20, [sp, #16]
    ldp x21, x22, [sp, #32]
    ldp x23, x24, [sp, #48]
    ldp x25, x26, [sp, #64]
    ldp x27, x28, [sp, #80]
    ldp d8, d9, [sp, #96]
    ldp d10, d11, [sp, #112]
    ldp d12, d13, [sp, #128]
    ldp d14, d15, [sp, #144]
    ldp x29, x30, [sp], #176
    ret
    .size registers_changed, .-registers_changed
)");
#endif
