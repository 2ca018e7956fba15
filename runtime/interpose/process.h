// Hooks between the process family and what owns the process's start and environment (jvm/).
#pragma once

namespace wisp {

// The environment for an exec; null = as given (jvm/start.cpp).
extern char* const* (*g_exec_environment)(const char* path, char* const envp[]);
// Called before the process ends by _exit, which runs no destructor.
extern void (*g_before_exit)();

// Gives every thread block the static TLS of modules loaded since (interpose/loader.cpp).
void late_modules_check();

// Once, by the library's constructor: children of fork run without Wisp. False: no memory.
bool process_start();

}  // namespace wisp
