// The programs are built as Debian builds its own: position-independent, with protected stacks and
// checked calls of the C library, read-only relocations that are bound at start, and landing pads
// for indirect branches.

#include <algorithm>
#include <array>
#include <cstring>
#include <filesystem>
#include <map>
#include <ostream>
#include <string>
#include <string_view>
#include <vector>

#include <elf.h>
#include <gtest/gtest.h>

#include "tests/integration/processes.h"
#include "tests/support/temporary_directory.h"

namespace proffer::hardening_test {
namespace {

using namespace test;

// The parts of an ELF file that say how it was built.
class Program {
 public:
  explicit Program(std::string bytes) : bytes_(std::move(bytes)), header_(at<Elf64_Ehdr>(0)) {
    for (size_t i = 0; i < header_.e_phnum; ++i) {
      segments_.push_back(at<Elf64_Phdr>(header_.e_phoff + i * sizeof(Elf64_Phdr)));
    }
    for (size_t i = 0; i < header_.e_shnum; ++i) {
      sections_.push_back(at<Elf64_Shdr>(header_.e_shoff + i * sizeof(Elf64_Shdr)));
    }
    for (const Elf64_Shdr& section : sections_) {
      if (section.sh_type == SHT_DYNAMIC) read_dynamic(section);
      if (section.sh_type == SHT_SYMTAB) read_symbols(section);
    }
  }

  bool is_position_independent() const {
    return header_.e_type == ET_DYN && (flags_1_ & DF_1_PIE) != 0;
  }
  bool is_bound_at_start() const { return (flags_1_ & DF_1_NOW) != 0; }
  bool has_segment(uint32_t type) const { return segment(type) != nullptr; }
  bool has_executable_stack() const {
    const Elf64_Phdr* stack = segment(PT_GNU_STACK);
    return stack == nullptr || (stack->p_flags & PF_X) != 0;
  }
  // The name is without the version of a library's symbol.
  bool has_symbol(std::string_view name) const { return symbols_.contains(std::string(name)); }
  // Functions of the C library that check the room that they write to, as in __memcpy_chk.
  bool has_checked_calls() const {
    return std::any_of(symbols_.begin(), symbols_.end(), [](const auto& symbol) {
      return symbol.first.starts_with("__") && symbol.first.ends_with("_chk");
    });
  }
  // Whether main begins with ENDBR64.
  bool has_landing_pads() const {
    const auto main = symbols_.find("main");
    if (main == symbols_.end()) return false;
    for (const Elf64_Phdr& part : segments_) {
      if (part.p_type != PT_LOAD || main->second < part.p_vaddr) continue;
      if (main->second - part.p_vaddr + 4 > part.p_filesz) continue;
      return text(part.p_offset + (main->second - part.p_vaddr), 4) == "\xf3\x0f\x1e\xfa";
    }
    return false;
  }

 private:
  std::string_view text(size_t offset, size_t size) const {
    return std::string_view(bytes_).substr(std::min(offset, bytes_.size()), size);
  }
  template <typename T>
  T at(size_t offset) const {
    T value{};
    const std::string_view found = text(offset, sizeof(T));
    std::memcpy(&value, found.data(), found.size());
    return value;
  }
  const Elf64_Phdr* segment(uint32_t type) const {
    const auto found = std::find_if(segments_.begin(), segments_.end(),
                                    [type](const auto& part) { return part.p_type == type; });
    return found == segments_.end() ? nullptr : &*found;
  }
  void read_dynamic(const Elf64_Shdr& section) {
    for (size_t i = 0; i < section.sh_size; i += sizeof(Elf64_Dyn)) {
      const auto entry = at<Elf64_Dyn>(section.sh_offset + i);
      if (entry.d_tag == DT_FLAGS_1) flags_1_ = entry.d_un.d_val;
    }
  }
  void read_symbols(const Elf64_Shdr& section) {
    const size_t names = sections_.at(section.sh_link).sh_offset;
    for (size_t i = 0; i < section.sh_size; i += sizeof(Elf64_Sym)) {
      const auto symbol = at<Elf64_Sym>(section.sh_offset + i);
      const std::string_view name(bytes_.c_str() + std::min(bytes_.size(), names + symbol.st_name));
      symbols_[std::string(name.substr(0, name.find('@')))] = symbol.st_value;
    }
  }

  std::string bytes_;
  Elf64_Ehdr header_;
  std::vector<Elf64_Phdr> segments_;
  std::vector<Elf64_Shdr> sections_;
  std::map<std::string, uint64_t> symbols_;
  uint64_t flags_1_ = 0;
};

std::vector<std::string> programs() {
  std::vector<std::string> found;
  for (const auto& entry : std::filesystem::directory_iterator(program(""))) {
    const std::string name = entry.path().filename();
    if (name.starts_with("proffer") && entry.is_regular_file()) found.push_back(name);
  }
  std::sort(found.begin(), found.end());
  return found;
}

class Hardening : public testing::TestWithParam<std::string> {};

TEST_P(Hardening, IsThatOfDebian) {
  const Program built(read_file(program(GetParam())));
  EXPECT_TRUE(built.is_position_independent());
  EXPECT_TRUE(built.is_bound_at_start());
  EXPECT_TRUE(built.has_segment(PT_GNU_RELRO));
  EXPECT_FALSE(built.has_executable_stack());
  EXPECT_TRUE(built.has_symbol("__stack_chk_fail"));
  EXPECT_TRUE(built.has_checked_calls());
#if defined(__x86_64__)
  EXPECT_TRUE(built.has_landing_pads());
#endif
}

INSTANTIATE_TEST_SUITE_P(Programs, Hardening, testing::ValuesIn(programs()), [](const auto& which) {
  std::string name = which.param;
  std::replace(name.begin(), name.end(), '-', '_');
  return name;
});

// A hardening that every program has without the flags of the build would prove nothing.
TEST(HardeningOfATest, IsMissedInAProgramWithoutIt) {
  const TemporaryDirectory scratch;
  const std::string source = scratch / "main.cc";
  write_file(source,
             "#include <cstring>\n"
             "int main(int count, char** words) {\n"
             "  char text[64];\n"
             "  std::strcpy(text, words[count - 1]);\n"
             "  return text[0];\n"
             "}\n");
  const std::string path = scratch / "plain";
  const Exit compiled = run({"c++", "-O2", "-no-pie", "-fno-stack-protector",
                             "-fcf-protection=none", "-U_FORTIFY_SOURCE", "-Wl,-z,norelro",
                             "-Wl,-z,lazy", "-Wl,-z,execstack", "-o", path, source});
  ASSERT_EQ(compiled.code, 0) << compiled.err;
  const Program built(read_file(path));
  EXPECT_FALSE(built.is_position_independent());
  EXPECT_FALSE(built.is_bound_at_start());
  EXPECT_FALSE(built.has_segment(PT_GNU_RELRO));
  EXPECT_TRUE(built.has_executable_stack());
  EXPECT_FALSE(built.has_symbol("__stack_chk_fail"));
  EXPECT_FALSE(built.has_checked_calls());
  EXPECT_FALSE(built.has_landing_pads());
}

}  // namespace
}  // namespace proffer::hardening_test
