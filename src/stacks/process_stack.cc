// SPDX-License-Identifier: Apache-2.0
#include "stacks/process_stack.h"

#include <algorithm>
#include <charconv>
#include <cstring>

#include "base/fd.h"
#include "base/text.h"

namespace muster {

namespace {

constexpr size_t kMaxMaps = 8 << 20;

std::optional<uint64_t> hex(std::string_view text) {
  if (text.empty() || text.size() > 16) return {};
  uint64_t value = 0;
  for (const char c : text) {
    const bool digit = c >= '0' && c <= '9';
    const bool letter = c >= 'a' && c <= 'f';
    if (!digit && !letter) return {};
    value = value * 16 + static_cast<uint64_t>(digit ? c - '0' : c - 'a' + 10);
  }
  return value;
}

const Mapping* mapping_of(const std::vector<Mapping>& maps, uint64_t pc) {
  for (const Mapping& m : maps) {
    if (pc >= m.begin && pc < m.end) return &m;
  }
  return nullptr;
}

// If a function keeps the usual frame pointer, and there are no better rules.
std::optional<CallRegisters> by_frame_pointer(const CallRegisters& registers,
                                              const ReadWord& read) {
  const uint64_t frame = registers.values[CallRegisters::kFramePointer];
  const auto next = read(frame);
  const auto pc = read(frame + 8);
  if (!next || !pc || frame < registers.sp()) return {};
  CallRegisters out = registers;
  out.values[CallRegisters::kFramePointer] = *next;
  out.values[CallRegisters::kStackPointer] = frame + 16;
  out.pc = *pc;
  return out;
}

// FNV-1a.
constexpr uint64_t kHashBegin = 0xcbf29ce484222325;

uint64_t hash_on(uint64_t hash, std::string_view bytes) {
  for (const char c : bytes) {
    hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3;
  }
  return hash;
}

std::string hex_text(uint64_t value) {
  char text[17];
  const auto end = std::to_chars(text, text + sizeof text, value, 16).ptr;
  return {text, end};
}

uint64_t hash_of_kept(const CallRegisters& registers) {
  uint64_t hash = kHashBegin;
  for (const size_t one : CallRegisters::kKept) {
    hash = (hash ^ registers.values[one]) * 0x100000001b3;
  }
  return hash;
}

}  // namespace

std::string stack_mark(const StackSnapshot& snapshot, const StackFrame& frame) {
  constexpr size_t kMost = 16 << 10;  // a copy ends at another place each time
  if (frame.sp < snapshot.stack_begin) return {};
  const uint64_t at = frame.sp - snapshot.stack_begin;
  if (at >= snapshot.stack.size()) return {};
  const auto bytes = std::string_view(snapshot.stack).substr(at, kMost);
  std::string mark = hex_text(hash_on(kHashBegin, bytes));
  if (frame.kept != 0) mark += "-" + hex_text(frame.kept);
  return mark;
}

bool same_mark(std::string_view one, std::string_view other) {
  const size_t end = one.find('-');
  if (end == std::string_view::npos) other = other.substr(0, other.find('-'));
  if (other.find('-') == std::string_view::npos) one = one.substr(0, end);
  return one == other;
}

std::vector<Mapping> parse_maps(const std::string& text) {
  std::vector<Mapping> maps;
  for (const std::string_view line : split(text, '\n')) {
    // 7f00-7f01 r-xp 00001000 08:01 1234   /lib/x
    const size_t dash = line.find('-');
    const size_t space = line.find(' ');
    if (dash == std::string_view::npos || space == std::string_view::npos ||
        dash > space || line.size() < space + 15 || line[space + 3] != 'x') {
      continue;
    }
    const auto begin = hex(line.substr(0, dash));
    const auto end = hex(line.substr(dash + 1, space - dash - 1));
    const size_t at = space + 6;
    const auto offset = hex(line.substr(at, line.find(' ', at) - at));
    if (!begin || !end || !offset || *end < *begin) continue;
    const size_t path = line.find_first_of("/[", at);
    maps.push_back({*begin, *end, *offset,
                    path == std::string_view::npos
                        ? std::string()
                        : std::string(line.substr(path))});
  }
  return maps;
}

const ElfFile* StackReader::file_of(const Mapping& mapping, int pid,
                                    const std::string& root) {
  const auto known = files_.find(mapping.path);
  if (known != files_.end()) return known->second.get();
  std::unique_ptr<ElfFile> kept;
  if (mapping.path == "[vdso]") {
    if (auto own = ElfFile::own_vdso()) {
      kept = std::make_unique<ElfFile>(std::move(*own));
    }
  } else {
    // Deleted or in another mount namespace: the process still has it.
    const std::string seen_by_it = "/proc/" + std::to_string(pid) + "/root";
    for (const std::string& place : {std::string(), seen_by_it}) {
      if (kept != nullptr) break;
      if (auto file = ElfFile::open(root + place + mapping.path)) {
        kept = std::make_unique<ElfFile>(std::move(*file));
      }
    }
  }
  return files_.emplace(mapping.path, std::move(kept)).first->second.get();
}

std::vector<StackFrame> StackReader::frames(const StackSnapshot& snapshot,
                                            const std::string& root) {
  std::vector<StackFrame> out;
  const auto text = read_file(
      root + "/proc/" + std::to_string(snapshot.pid) + "/maps", kMaxMaps);
  if (!text) return out;
  const std::vector<Mapping> maps = parse_maps(*text);
  const ReadWord read = [&](uint64_t address) -> std::optional<uint64_t> {
    const uint64_t within = address - snapshot.stack_begin;
    if (address < snapshot.stack_begin || within > snapshot.stack.size() ||
        snapshot.stack.size() - within < 8) {
      return {};
    }
    uint64_t value = 0;
    std::memcpy(&value, snapshot.stack.data() + within, 8);
    return value;
  };
  CallRegisters registers = snapshot.registers;
  bool exact = true;  // the registers that calls keep are the frame's own
  while (out.size() < kMaxFrames && registers.pc != 0) {
    // A return address may belong to the next function: look before it.
    const uint64_t pc = registers.pc - (out.empty() ? 0 : 1);
    const Mapping* mapping = mapping_of(maps, pc);
    if (mapping == nullptr) break;
    StackFrame frame{registers.pc, "",
                     mapping->path.substr(mapping->path.rfind('/') + 1),
                     registers.sp(), exact ? hash_of_kept(registers) : 0};
    std::optional<CallRegisters> next;
    const ElfFile* file =
        mapping->path.empty() ? nullptr : file_of(*mapping, snapshot.pid, root);
    const auto address =
        file == nullptr
            ? std::nullopt
            : file->address_of(pc - mapping->begin + mapping->offset);
    if (address) {
      frame.function = file->function_at(*address);
      next = caller_of(*file, *address, registers, read);
    }
    out.push_back(std::move(frame));
    if (out.back().function == "main") break;
    exact = exact && next;
    if (!next) next = by_frame_pointer(registers, read);
    // The stack grows down: a caller's frame must be above.
    if (!next || (next->sp() <= registers.sp() && out.size() > 1)) break;
    registers = *next;
  }
  return out;
}

}  // namespace muster
