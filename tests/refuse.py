#!/usr/bin/env python3
"""Runs a command to which the kernel refuses system calls, as the seccomp profiles of container engines do.

    tests/refuse.py CALL=ERROR,... COMMAND...     CALL: a name below, a number, or numbers as 424-462
                                                  ERROR: EPERM, ENOSYS, ...

What the command starts is refused them too. Ends with 125 where there are no such filters.
Numbers: arch/x86/entry/syscalls/syscall_64.tbl and include/uapi/asm-generic/unistd.h of Linux; from 424 on they are the
same everywhere. The filter: seccomp(2).
"""
import ctypes
import errno
import os
import struct
import sys

NUMBERS = {  # x86-64, others
    "writev": (20, 66), "sendto": (44, 206), "getsockopt": (55, 209), "waitid": (247, 95), "ppoll": (271, 73),
    "accept4": (288, 242), "dup3": (292, 24), "preadv2": (327, 286), "pwritev2": (328, 287),
    "rt_sigqueueinfo": (129, 138), "setpriority": (141, 140), "sched_setaffinity": (203, 122), "get_robust_list": (274, 100),
    "rt_tgsigqueueinfo": (297, 240), "perf_event_open": (298, 241), "setns": (308, 268), "process_vm_readv": (310, 270),
    "process_vm_writev": (311, 271), "kcmp": (312, 272), "memfd_create": (319, 279), "bpf": (321, 280),
    "userfaultfd": (323, 282), "membarrier": (324, 283), "io_pgetevents": (333, 292), "rseq": (334, 293)}
LOAD_NUMBER, JUMP_EQUAL, RETURN = 0x20, 0x15, 0x06  # BPF_LD|W|ABS, BPF_JMP|JEQ|K, BPF_RET|K
ALLOW, ERRNO = 0x7fff0000, 0x00050000
PR_SET_NO_NEW_PRIVS, PR_SET_SECCOMP, MODE_FILTER = 38, 22, 2


def numbers(call):
    if call in NUMBERS:
        return [NUMBERS[call][os.uname().machine != "x86_64"]]
    first, _, last = call.partition("-")
    return range(int(first), int(last or first) + 1)


def refuse(wanted):
    """From here on, for this thread and what it starts; OSError where the kernel has no such filters."""
    code = [struct.pack("HBBI", LOAD_NUMBER, 0, 0, 0)]
    for call, _, error in (one.partition("=") for one in wanted.split(",")):
        for number in numbers(call):
            code += [struct.pack("HBBI", JUMP_EQUAL, 0, 1, number), struct.pack("HBBI", RETURN, 0, 0, ERRNO | getattr(errno, error))]
    code.append(struct.pack("HBBI", RETURN, 0, 0, ALLOW))
    text = ctypes.create_string_buffer(b"".join(code))
    program = struct.pack("HxxxxxxP", len(code), ctypes.addressof(text))
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 or libc.prctl(PR_SET_SECCOMP, MODE_FILTER, program, 0, 0) != 0:
        raise OSError(ctypes.get_errno(), "seccomp")


if __name__ == "__main__":
    if len(sys.argv) < 3:
        sys.exit(__doc__)
    try:
        refuse(sys.argv[1])
    except OSError as error:
        print(error, file=sys.stderr)
        sys.exit(125)
    os.execvp(sys.argv[2], sys.argv[2:])
