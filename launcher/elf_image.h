// Reads from an ELF file what decides whether a program can be given a preloaded library: its
// machine, its dynamic linker, what it exports and, for a C library, how new it is. Never loads or
// runs the file; a malformed one is an unreadable one.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace wisp {

class ElfImage {
 public:
  explicit ElfImage(const std::string& path);
  ~ElfImage();
  ElfImage(const ElfImage&) = delete;
  ElfImage& operator=(const ElfImage&) = delete;

  bool valid() const { return machine_ != 0; }  // a 64-bit little-endian ELF file
  uint16_t machine() const { return machine_; }
  std::string interpreter() const;  // empty: static
  bool exports(std::string_view symbol) const;
  int newest_glibc() const;  // 2.36 -> 236; 0 when it defines no GLIBC_ versions
  bool contains(std::string_view bytes) const;

 private:
  const uint8_t* at(uint64_t offset, uint64_t length) const;
  const char* string_at(uint64_t section_offset, uint64_t section_size, uint64_t index) const;
  struct Section;
  bool section(uint32_t type, Section* found) const;

  const uint8_t* base_ = nullptr;
  size_t size_ = 0;
  uint16_t machine_ = 0;
};

uint16_t native_machine();
const char* machine_name(uint16_t machine);

}  // namespace wisp
