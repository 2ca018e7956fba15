// Implementation of elf_image.h. The file is somebody else's: each offset is checked before use.
#include "elf_image.h"

#include <elf.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>

namespace wisp {

struct ElfImage::Section {
  uint64_t offset;
  uint64_t size;
  uint64_t strings_offset;
  uint64_t strings_size;
  uint32_t count;  // sh_info
};

ElfImage::ElfImage(const std::string& path) {
  int file = open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
  if (file < 0) return;
  struct stat status;
  if (fstat(file, &status) == 0 && S_ISREG(status.st_mode) &&
      status.st_size >= static_cast<off_t>(sizeof(Elf64_Ehdr))) {
    size_ = static_cast<size_t>(status.st_size);
    void* map = mmap(nullptr, size_, PROT_READ, MAP_PRIVATE, file, 0);
    if (map != MAP_FAILED) base_ = static_cast<const uint8_t*>(map);
  }
  close(file);
  if (base_ == nullptr) return;
  const auto* header = reinterpret_cast<const Elf64_Ehdr*>(base_);
  if (memcmp(header->e_ident, ELFMAG, SELFMAG) == 0 && header->e_ident[EI_CLASS] == ELFCLASS64 &&
      header->e_ident[EI_DATA] == ELFDATA2LSB) {
    machine_ = header->e_machine;
  }
}

ElfImage::~ElfImage() {
  if (base_ != nullptr) munmap(const_cast<uint8_t*>(base_), size_);
}

const uint8_t* ElfImage::at(uint64_t offset, uint64_t length) const {
  return offset <= size_ && length <= size_ - offset ? base_ + offset : nullptr;
}

const char* ElfImage::string_at(uint64_t offset, uint64_t size, uint64_t index) const {
  if (index >= size || at(offset, size) == nullptr) return "";
  const char* text = reinterpret_cast<const char*>(base_ + offset + index);
  return memchr(text, '\0', size - index) != nullptr ? text : "";
}

std::string ElfImage::interpreter() const {
  if (!valid()) return {};
  const auto* header = reinterpret_cast<const Elf64_Ehdr*>(base_);
  for (int i = 0; i < header->e_phnum; i++) {
    const auto* program = reinterpret_cast<const Elf64_Phdr*>(
        at(header->e_phoff + i * sizeof(Elf64_Phdr), sizeof(Elf64_Phdr)));
    if (program == nullptr) break;
    if (program->p_type != PT_INTERP) continue;
    return string_at(program->p_offset, program->p_filesz, 0);
  }
  return {};
}

// By section headers: strip keeps those of the dynamic tables.
bool ElfImage::section(uint32_t type, Section* found) const {
  if (!valid()) return false;
  const auto* header = reinterpret_cast<const Elf64_Ehdr*>(base_);
  auto entry = [&](uint64_t index) {
    return reinterpret_cast<const Elf64_Shdr*>(
        at(header->e_shoff + index * sizeof(Elf64_Shdr), sizeof(Elf64_Shdr)));
  };
  for (int i = 0; i < header->e_shnum; i++) {
    const Elf64_Shdr* candidate = entry(i);
    if (candidate == nullptr) return false;
    if (candidate->sh_type != type) continue;
    const Elf64_Shdr* strings = entry(candidate->sh_link);
    if (strings == nullptr || at(candidate->sh_offset, candidate->sh_size) == nullptr) return false;
    *found = {candidate->sh_offset, candidate->sh_size, strings->sh_offset, strings->sh_size,
              candidate->sh_info};
    return true;
  }
  return false;
}

bool ElfImage::exports(std::string_view symbol) const {
  Section table;
  if (!section(SHT_DYNSYM, &table)) return false;
  const auto* symbols = reinterpret_cast<const Elf64_Sym*>(base_ + table.offset);
  for (uint64_t i = 0; i < table.size / sizeof(Elf64_Sym); i++) {
    if (symbols[i].st_shndx != SHN_UNDEF &&
        symbol == string_at(table.strings_offset, table.strings_size, symbols[i].st_name)) {
      return true;
    }
  }
  return false;
}

int ElfImage::newest_glibc() const {
  Section table;
  if (!section(SHT_GNU_verdef, &table)) return 0;
  int newest = 0;
  uint64_t offset = table.offset;
  for (uint32_t i = 0; i < table.count; i++) {
    const auto* definition =
        reinterpret_cast<const Elf64_Verdef*>(at(offset, sizeof(Elf64_Verdef)));
    if (definition == nullptr) break;
    const auto* name = reinterpret_cast<const Elf64_Verdaux*>(
        at(offset + definition->vd_aux, sizeof(Elf64_Verdaux)));
    if (name == nullptr) break;
    const char* text = string_at(table.strings_offset, table.strings_size, name->vda_name);
    if (strncmp(text, "GLIBC_2.", 8) == 0) {
      int version = 200 + atoi(text + 8);
      if (version > newest) newest = version;
    }
    if (definition->vd_next == 0) break;
    offset += definition->vd_next;
  }
  return newest;
}

bool ElfImage::contains(std::string_view bytes) const {
  return valid() && memmem(base_, size_, bytes.data(), bytes.size()) != nullptr;
}

uint16_t native_machine() {
#if defined(__x86_64__)
  return EM_X86_64;
#elif defined(__aarch64__)
  return EM_AARCH64;
#else
#error "Wisp knows x86-64 and aarch64"
#endif
}

const char* machine_name(uint16_t machine) {
  switch (machine) {
    case EM_X86_64:
      return "x86-64";
    case EM_AARCH64:
      return "aarch64";
    case EM_386:
      return "x86 (32 bit)";
    case EM_ARM:
      return "arm (32 bit)";
    case EM_RISCV:
      return "riscv";
    case EM_PPC64:
      return "ppc64";
    case EM_S390:
      return "s390";
    default:
      return "another machine";
  }
}

}  // namespace wisp
