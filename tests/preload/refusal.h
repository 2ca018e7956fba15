// The program of a seccomp filter by which one system call fails with this error, as in a
// container. C and C++.
#pragma once
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>

#define REFUSAL(call, error)                                               \
  {                                                                        \
    BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)), \
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (unsigned)(call), 0, 1),       \
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | (unsigned)(error)),  \
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)                       \
  }
