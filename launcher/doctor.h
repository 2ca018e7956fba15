// `wisp doctor`: what of this machine can carry Wisp, with the reason and the cure where not.
#pragma once

namespace wisp {

// 0: nothing is in the way and at least one JDK can be converted; 1 otherwise.
int run_doctor(bool json);

}  // namespace wisp
