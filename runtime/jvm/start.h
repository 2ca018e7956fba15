// Start of Wisp in a process: what the constructor found out, for the rest of jvm/.
#pragma once
#include "jvm/options.h"

namespace wisp {

extern Options g_options;  // as read by the constructor; constant afterwards

}  // namespace wisp
