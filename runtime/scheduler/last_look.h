// LastLook: whether a worker looks into the event pump once more before it waits there. The wait
// finds what is there as well, at the price of going idle for it; a look in vain before each wait
// is a system call for nothing. With one connection to a server every look is in vain.
//
// Pure rules, without the scheduler; a worker's own.
#pragma once
#include <stdint.h>

namespace wisp {

class LastLook {
 public:
  // After so many in vain in a row it is left out so many times, then tried once.
  static constexpr uint8_t kInVain = 8, kLeftOut = 16;
  // A wait that took less has not slept: going idle and coming back alone takes 1 to 3 us.
  static constexpr uint64_t kNoSleepUs = 4;

  bool pays() {
    if (in_vain_ < kInVain) return true;
    if (++left_out_ <= kLeftOut) return false;
    left_out_ = 0;
    return true;
  }
  void found(bool anything) {
    if (anything)
      in_vain_ = 0;
    else if (in_vain_ < kInVain)
      ++in_vain_;
  }
  // By how long it was idle, after a look or without one.
  void waited(uint64_t us) {
    if (us < kNoSleepUs) in_vain_ = 0;
  }

 private:
  uint8_t in_vain_ = 0, left_out_ = 0;
};

}  // namespace wisp
