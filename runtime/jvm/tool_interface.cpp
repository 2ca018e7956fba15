// See tool_interface.h.
#include "jvm/tool_interface.h"

namespace wisp {

jvmtiEnv* tool_interface(JavaVM* vm, const jvmtiCapabilities& wanted,
                         const jvmtiEventCallbacks& callbacks) {
  void* made = nullptr;
  if (vm->GetEnv(&made, JVMTI_VERSION_1_1) != JNI_OK) return nullptr;
  auto* tools = static_cast<jvmtiEnv*>(made);
  if (tools->AddCapabilities(&wanted) == JVMTI_ERROR_NONE &&
      tools->SetEventCallbacks(&callbacks, sizeof callbacks) == JVMTI_ERROR_NONE)
    return tools;
  tools->DisposeEnvironment();
  return nullptr;
}

}  // namespace wisp
