// Libraries that the process has loaded already.
#pragma once

struct dl_phdr_info;

namespace wisp {

// A handle of the first one that `wanted` picks, or null. It is never given back: a JVM and its
// libraries are not unloaded. Any thread, outside any RuntimeEntry.
void* loaded_library(bool (*wanted)(const dl_phdr_info& info, const void* what), const void* what);

// By the name of its file, without folders.
void* loaded_library_named(const char* file);

}  // namespace wisp
