// Where tasks come from and go to (task_create and task_recycle, scheduler.h). A dead task keeps
// its stack and thread block for the next one of the same stack size (malloc's thread cache and
// warm pages live there); the pool is bounded, beyond that stack and block are freed. WispTask
// structs themselves are never freed.
#pragma once

namespace wisp {

// SysMonitor: the stacks of dead tasks that are kept give back what deep calls have left.
void pool_drop_deep();

}  // namespace wisp
