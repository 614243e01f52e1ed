// SPDX-License-Identifier: Apache-2.0
// Reading kernel files of a system that may be hostile or broken: never
// blocks on a FIFO, never reads more than 64 KiB of a file or 4096 names of a
// directory, never follows a loop.
#pragma once

#include <optional>
#include <string>
#include <vector>

namespace muster {

struct SysText {
  std::string text;  // trimmed
  int error = 0;     // errno; EFBIG if the file is too large
  explicit operator bool() const { return error == 0; }
};

SysText read_sys(const std::string& path);
// nullopt if unreadable or no number. Decimal, or hexadecimal after "0x".
std::optional<int64_t> read_sys_number(const std::string& path);
// Sorted; nullopt if the directory cannot be listed.
std::optional<std::vector<std::string>> list_sys(const std::string& path);
bool sys_exists(const std::string& path);
// The last part of a link's target; "" if the path is not a link.
std::string link_name(const std::string& path);
// "pci0000:15/…/0000:1a:00.0" for a path that leads into ROOT/sys/devices.
std::string device_path(const std::string& path);

}  // namespace muster
