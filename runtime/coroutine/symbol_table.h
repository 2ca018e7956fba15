// Names that a loaded library has only in the symbol table of its file (.symtab), not among its
// dynamic symbols. Before glibc 2.34 the descriptors of the thread layout (_thread_db_*) lie in
// libpthread like that; debuggers read them the same way, so distributions leave that table in.
#pragma once

#include <cstddef>
#include <cstdint>

namespace wisp {

class SymbolTable {
 public:
  // Of the loaded library whose file name begins with `name` ("libpthread"). At start only: opens
  // and maps the file. Without one, or with a file that is not what it should be, find() finds
  // nothing.
  explicit SymbolTable(const char* name);
  ~SymbolTable();
  SymbolTable(const SymbolTable&) = delete;
  SymbolTable& operator=(const SymbolTable&) = delete;

  // Where the symbol is in this process, or null.
  void* find(const char* symbol) const;

 private:
  bool map_file(const char* path);
  bool locate();

  uintptr_t base_ = 0;  // load address
  const char* file_ = nullptr;
  size_t size_ = 0;
  size_t symbols_ = 0, count_ = 0;     // offset of the table, entries
  size_t names_ = 0, names_size_ = 0;  // offset and size of its strings
};

}  // namespace wisp
