#include "slave/shell/device_program.h"

#include <cerrno>
#include <cstddef>
#include <cstring>

#include <fcntl.h>
#include <linux/bpf.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "common/text.h"
#include "net/fd.h"

namespace proffer::agent {
namespace {

bpf_insn instruction(uint8_t code, uint8_t to, uint8_t from, int64_t offset, int64_t value) {
  bpf_insn made = {};
  made.code = code;
  made.dst_reg = static_cast<uint8_t>(to & 0xf);
  made.src_reg = static_cast<uint8_t>(from & 0xf);
  made.off = static_cast<int16_t>(offset);
  made.imm = static_cast<int32_t>(value);
  return made;
}

// R1 is the context. Returns 0 to deny and 1 to permit.
std::vector<bpf_insn> program_for(int64_t major, const std::vector<int64_t>& minors) {
  const auto load = [](uint8_t to, size_t offset) {
    return instruction(BPF_LDX | BPF_MEM | BPF_W, to, BPF_REG_1, static_cast<int64_t>(offset), 0);
  };
  const auto count = static_cast<int64_t>(minors.size());
  std::vector<bpf_insn> program = {
      load(BPF_REG_2, offsetof(bpf_cgroup_dev_ctx, access_type)),
      instruction(BPF_ALU | BPF_AND | BPF_K, BPF_REG_2, 0, 0, 0xffff),
      // To the end, which permits, behind the rest of these and a comparison for each minor.
      instruction(BPF_JMP | BPF_JNE | BPF_K, BPF_REG_2, 0, 3 + count, BPF_DEVCG_DEV_CHAR),
      load(BPF_REG_2, offsetof(bpf_cgroup_dev_ctx, major)),
      instruction(BPF_JMP | BPF_JNE | BPF_K, BPF_REG_2, 0, 1 + count, major),
      load(BPF_REG_2, offsetof(bpf_cgroup_dev_ctx, minor))};
  for (int64_t i = 0; i < count; ++i) {
    program.push_back(instruction(BPF_JMP | BPF_JEQ | BPF_K, BPF_REG_2, 0, 1 + count - i,
                                  minors[static_cast<size_t>(i)]));
  }
  // The kernel refuses instructions that are never reached.
  for (const int64_t answer : {1, 0}) {
    if (answer == 0 && count == 0) break;
    program.push_back(instruction(BPF_ALU64 | BPF_MOV | BPF_K, BPF_REG_0, 0, 0, answer));
    program.push_back(instruction(BPF_JMP | BPF_EXIT, 0, 0, 0, 0));
  }
  return program;
}

long bpf(bpf_cmd command, bpf_attr& attributes) {
  return syscall(SYS_bpf, command, &attributes, sizeof attributes);
}

Error refused(const std::string& folder) {
  const std::string message =
      text("devices cannot be denied to ", folder, ": ", std::strerror(errno));
  return errno == ENOSYS || errno == EPERM || errno == EINVAL ? Error::unsupported(message)
                                                              : Error::unavailable(message);
}

}  // namespace

Result<void> deny_devices(const std::string& folder, int64_t major,
                          const std::vector<int64_t>& minors) {
  const Fd group(open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (group.get() < 0) return refused(folder);
  const std::vector<bpf_insn> program = program_for(major, minors);
  bpf_attr load = {};
  load.prog_type = BPF_PROG_TYPE_CGROUP_DEVICE;
  load.insns = reinterpret_cast<uint64_t>(program.data());
  load.insn_cnt = static_cast<uint32_t>(program.size());
  load.license = reinterpret_cast<uint64_t>("Apache-2.0");
  const Fd loaded(static_cast<int>(bpf(BPF_PROG_LOAD, load)));
  if (loaded.get() < 0) return refused(folder);
  bpf_attr attach = {};
  attach.target_fd = static_cast<uint32_t>(group.get());
  attach.attach_bpf_fd = static_cast<uint32_t>(loaded.get());
  attach.attach_type = BPF_CGROUP_DEVICE;
  if (bpf(BPF_PROG_ATTACH, attach) != 0) return refused(folder);
  return {};
}

}  // namespace proffer::agent
