// Builds the first frame of a coroutine and picks the switch entry for this machine.
// Invariant: SwitchFrame matches, byte for byte, what switch_<arch>.S pushes.
#include "coroutine/context.h"

#include <sys/auxv.h>

#include <cstddef>
#include <cstring>

namespace wisp {

extern "C" __attribute__((visibility("hidden"))) void wisp_coroutine_start();

bool fs_by_instruction = false;

namespace {

#if defined(__x86_64__)
struct SwitchFrame {
  uint32_t mxcsr;
  uint32_t x87_control;
  uintptr_t r12, r13, r14, r15, rbx, rbp;
  uintptr_t return_address;
};
static_assert(offsetof(SwitchFrame, return_address) == 56);

void fill(SwitchFrame* frame, uintptr_t entry, uintptr_t user) {
  uint16_t x87_control;
  asm volatile("stmxcsr %0" : "=m"(frame->mxcsr));
  asm volatile("fnstcw %0" : "=m"(x87_control));
  frame->x87_control = x87_control;
  frame->r12 = entry;
  frame->r13 = user;
  frame->return_address = reinterpret_cast<uintptr_t>(&wisp_coroutine_start);
}
#elif defined(__aarch64__)
struct SwitchFrame {
  uintptr_t x19_to_x28[10];
  uintptr_t x29, x30;
  uint64_t d8_to_d15[8];
  uint64_t fpcr;
  uint64_t unused;
};
static_assert(offsetof(SwitchFrame, fpcr) == 160 && sizeof(SwitchFrame) == 176);

void fill(SwitchFrame* frame, uintptr_t entry, uintptr_t user) {
  asm volatile("mrs %0, fpcr" : "=r"(frame->fpcr));
  frame->x19_to_x28[0] = entry;
  frame->x19_to_x28[1] = user;
  frame->x30 = reinterpret_cast<uintptr_t>(&wisp_coroutine_start);
}
#endif

}  // namespace

void context_setup() {
#if defined(__x86_64__)
  constexpr unsigned long kHwcap2Fsgsbase = 1ul << 1;
  fs_by_instruction = (getauxval(AT_HWCAP2) & kHwcap2Fsgsbase) != 0;
#endif
}

void context_init(Context* context, void* stack_top,
                  void (*entry)(void* arg_of_first_switch, void* user), void* user) {
  // Two zero words above the frame end the chain for tools that follow frame pointers.
  uintptr_t top = (reinterpret_cast<uintptr_t>(stack_top) & ~uintptr_t{15}) - 16;
  std::memset(reinterpret_cast<void*>(top), 0, 16);
  auto* frame = reinterpret_cast<SwitchFrame*>(top - sizeof(SwitchFrame));
  std::memset(static_cast<void*>(frame), 0, sizeof *frame);
  fill(frame, reinterpret_cast<uintptr_t>(entry), reinterpret_cast<uintptr_t>(user));
  context->sp = frame;
}

}  // namespace wisp
