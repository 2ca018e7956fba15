// Reads an ELF file's .symtab; see the header. Every offset is checked against the file's size.
#include "coroutine/symbol_table.h"

#include <elf.h>
#include <fcntl.h>
#include <link.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstring>

namespace wisp {

namespace {

struct Loaded {
  const char* name;
  const char* path;
  uintptr_t base;
};

int look_at(dl_phdr_info* info, size_t, void* argument) {
  auto* wanted = static_cast<Loaded*>(argument);
  const char* slash = info->dlpi_name != nullptr ? std::strrchr(info->dlpi_name, '/') : nullptr;
  if (slash == nullptr || std::strncmp(slash + 1, wanted->name, std::strlen(wanted->name)) != 0)
    return 0;
  wanted->path = info->dlpi_name;
  wanted->base = info->dlpi_addr;
  return 1;
}

}  // namespace

SymbolTable::SymbolTable(const char* name) {
  Loaded library{name, nullptr, 0};
  if (dl_iterate_phdr(look_at, &library) == 0) return;
  base_ = library.base;
  if (map_file(library.path) && !locate()) count_ = 0;
}

SymbolTable::~SymbolTable() {
  if (file_ != nullptr) munmap(const_cast<char*>(file_), size_);
}

bool SymbolTable::map_file(const char* path) {
  int fd = open(path, O_RDONLY | O_CLOEXEC);
  if (fd < 0) return false;
  off_t size = lseek(fd, 0, SEEK_END);  // fstat is a symbol of glibc 2.33
  void* memory = MAP_FAILED;
  if (size > static_cast<off_t>(sizeof(ElfW(Ehdr)))) {
    size_ = static_cast<size_t>(size);
    memory = mmap(nullptr, size_, PROT_READ, MAP_PRIVATE, fd, 0);
  }
  close(fd);
  if (memory == MAP_FAILED) return false;
  file_ = static_cast<const char*>(memory);
  return true;
}

bool SymbolTable::locate() {
  auto* header = reinterpret_cast<const ElfW(Ehdr)*>(file_);
  auto inside = [this](size_t offset, size_t bytes) {
    return offset <= size_ && bytes <= size_ - offset;
  };
  if (std::memcmp(header->e_ident, ELFMAG, SELFMAG) != 0 ||
      header->e_shentsize != sizeof(ElfW(Shdr)) || header->e_shoff % alignof(ElfW(Shdr)) != 0 ||
      !inside(header->e_shoff, header->e_shnum * sizeof(ElfW(Shdr))))
    return false;
  auto* sections = reinterpret_cast<const ElfW(Shdr)*>(file_ + header->e_shoff);
  for (size_t i = 0; i < header->e_shnum; i++) {
    const ElfW(Shdr)& table = sections[i];
    if (table.sh_type != SHT_SYMTAB) continue;
    if (table.sh_link >= header->e_shnum || table.sh_offset % alignof(ElfW(Sym)) != 0 ||
        !inside(table.sh_offset, table.sh_size))
      return false;
    const ElfW(Shdr)& names = sections[table.sh_link];
    if (names.sh_type != SHT_STRTAB || names.sh_size == 0 ||
        !inside(names.sh_offset, names.sh_size) ||
        file_[names.sh_offset + names.sh_size - 1] != '\0')
      return false;
    symbols_ = table.sh_offset;
    count_ = table.sh_size / sizeof(ElfW(Sym));
    names_ = names.sh_offset;
    names_size_ = names.sh_size;
    return true;
  }
  return false;
}

void* SymbolTable::find(const char* symbol) const {
  auto* symbols = reinterpret_cast<const ElfW(Sym)*>(file_ + symbols_);
  for (size_t i = 0; i < count_; i++) {
    if (symbols[i].st_shndx == SHN_UNDEF || symbols[i].st_name >= names_size_) continue;
    if (std::strcmp(file_ + names_ + symbols[i].st_name, symbol) == 0)
      return reinterpret_cast<void*>(base_ + symbols[i].st_value);
  }
  return nullptr;
}

}  // namespace wisp
