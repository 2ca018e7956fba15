// What a ring must be able to do, for io/ring.cpp and for `wisp doctor`, which tells beforehand.
#pragma once
#include <linux/io_uring.h>
#include <stdint.h>

namespace wisp::io {

// Worker threads that belong to the process and an offset of -1: Linux 5.12.
constexpr uint32_t kRingFeatures = IORING_FEAT_SINGLE_MMAP | IORING_FEAT_NODROP |
                                   IORING_FEAT_RW_CUR_POS | IORING_FEAT_NATIVE_WORKERS;

}  // namespace wisp::io
