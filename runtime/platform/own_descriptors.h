// The runtime's own descriptors among those of the program, which shall neither close them nor get
// their numbers: what is written to such a number later would go to a file of the program's.
#pragma once

namespace wisp {

// For the process's life, or until it is taken out. At most 16; one more is not protected.
void own_descriptor_add(int fd);
void own_descriptor_remove(int fd);
// Any of first..last. Any thread, signal handlers included.
bool own_descriptor_in(int first, int last);

}  // namespace wisp
