// SPDX-License-Identifier: Apache-2.0
#include "diagnosis/book/xid_book.h"

#include <array>
#include <map>
#include <utility>

#include "base/text.h"
#include "diagnosis/book/builtin_rules.h"

namespace muster {

namespace {

constexpr std::array kFaults = {
    std::pair{std::string_view("program"), XidFault::kProgram},
    std::pair{std::string_view("hardware"), XidFault::kHardware},
    std::pair{std::string_view("driver"), XidFault::kDriver},
    std::pair{std::string_view("either"), XidFault::kEither}};

std::map<int, XidMeaning> read_table(std::string_view table) {
  std::map<int, XidMeaning> out;
  for (const std::string_view row : split(table, '\n')) {
    const auto fields = split(row, '\t');
    if (row.starts_with('#') || fields.size() != 5) continue;
    XidMeaning xid;
    xid.number = static_cast<int>(parse_integer(fields[0]).value_or(0));
    for (const auto& [word, fault] : kFaults) {
      if (fields[1] == word) xid.fault = fault;
    }
    xid.ends = fields[2] == "ends";
    xid.leave_out = fields[3] == "out";
    xid.text = fields[4];
    out.emplace(xid.number, xid);
  }
  return out;
}

}  // namespace

const XidMeaning* find_xid(int number) {
  static const std::map<int, XidMeaning> xids = read_table(builtin_xids());
  const auto found = xids.find(number);
  return found == xids.end() ? nullptr : &found->second;
}

bool is_of_machine(const XidMeaning& xid) {
  return xid.fault == XidFault::kHardware || xid.fault == XidFault::kDriver;
}

std::string whose_fault(const XidMeaning& xid) {
  const char* const node =
      xid.leave_out ? ", leave the node out" : ", the node may stay";
  switch (xid.fault) {
    case XidFault::kProgram:
      return "the program";
    case XidFault::kHardware:
      return std::string("hardware") + node;
    case XidFault::kDriver:
      return std::string("driver or hardware") + node;
    case XidFault::kEither:
      break;
  }
  return "the program, the driver or the hardware";
}

std::string xid_text(int number) {
  const std::string name = "Xid " + std::to_string(number);
  const XidMeaning* const xid = find_xid(number);
  return xid == nullptr ? name
                        : name + ": " + std::string(xid->text) +
                              " (fault: " + whose_fault(*xid) + ")";
}

}  // namespace muster
