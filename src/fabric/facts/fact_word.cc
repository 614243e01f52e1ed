// SPDX-License-Identifier: Apache-2.0
#include "fabric/facts/fact_word.h"

#include <algorithm>
#include <array>

#include "base/text.h"

namespace muster {

bool one_of(std::string_view word, std::initializer_list<const char*> words) {
  return std::any_of(words.begin(), words.end(),
                     [&](const char* known) { return word == known; });
}

bool is_layer(std::string_view word) {
  return one_of(word, {"ib", "eth", "unspecified"}) ||
         word.starts_with("infiniband") || word.starts_with("ethernet") ||
         word.starts_with("roce");
}

bool is_state(std::string_view word) {
  return one_of(word, {"up", "down", "init", "initializing", "armed", "linkup",
                       "polling", "disabled"}) ||
         word.find("active") != word.npos || word.starts_with("port_");
}

// "400", "400G", "400Gb/s"
bool is_rate(std::string_view word) {
  const size_t end = word.find_first_not_of("0123456789.");
  if (end == 0) return false;
  return end == word.npos || word[end] == 'g';
}

bool is_driver(std::string_view word) {
  return one_of(word, {"efa", "cxi", "irdma", "bnxt_re", "erdma", "ionic",
                       "mlx4", "mlx5", "hfi1", "rxe", "siw", "mana"});
}

// As the kernel, udev and Kubernetes' networks call them: "enp216s0", "eth2".
bool is_interface(std::string_view word) {
  constexpr std::array<std::string_view, 10> kStems = {
      "eth", "eno", "ens", "enp", "enP", "bond", "net", "hsn", "ib", "rdma"};
  const size_t digit = word.find_first_of("0123456789");
  return digit != word.npos && std::find(kStems.begin(), kStems.end(),
                                         word.substr(0, digit)) != kStems.end();
}

// "ConnectX-7", "BlueField-3": what a card is called decides nothing.
bool is_product(std::string_view word) {
  return word.starts_with("connectx") || word.starts_with("bluefield");
}

bool is_unit(std::string_view word) {
  return one_of(word, {"gb/s", "gbps", "gb/sec", "gbit/s", "gbe", "g"});
}

// A label that tools write before a value: "Rate:", "Link layer:", "inet".
bool is_label(std::string_view word) {
  return one_of(word, {"rate", "state", "speed", "link", "layer", "link_layer",
                       "physical", "type", "inet", "inet6", "scope", "global",
                       "host", "dynamic", "noprefixroute", "unknown"});
}

// "0002:00:02.0"
bool is_pci_address(std::string_view word) {
  return std::count(word.begin(), word.end(), ':') == 2 && word.size() == 12 &&
         word[10] == '.' &&
         word.find_first_not_of("0123456789abcdefABCDEF:.") == word.npos;
}

bool is_address(std::string_view word) {
  const bool digits = word.find_first_of("0123456789") != word.npos;
  return digits && word.find_first_of(".:") != word.npos &&
         word.find_first_not_of("0123456789abcdefABCDEF.:/[],-") == word.npos;
}

std::string_view without_end(std::string_view word, std::string_view marks) {
  while (word.size() > 1 && marks.find(word.back()) != marks.npos) {
    word.remove_suffix(1);
  }
  return word;
}

// "mlx5_0:1/IB" of NCCL's "[0]mlx5_0:1/IB".
std::string_view without_place(std::string_view word) {
  const size_t end = word.find(']');
  if (!word.starts_with('[') || end + 1 >= word.size()) return word;
  return parse_integer(word.substr(1, end - 1)) ? word.substr(end + 1) : word;
}

// "IB" of "IB/SHARP".
std::string_view layer_of(std::string_view word) {
  return word.substr(0, word.find('/'));
}

// "mlx5_0-7", "mlx5_0..7" and "mlx5_0..mlx5_7" -> "mlx5_[0-7]". Of adapters
// only: net1-0 is how some networks call an interface.
std::string with_brackets(std::string_view name) {
  const size_t dots = name.find("..");
  const size_t mark = dots != name.npos ? dots : name.rfind('-');
  if (mark == name.npos || name.find('[') != name.npos) {
    return std::string(name);
  }
  const auto left = name.substr(0, mark);
  auto right = name.substr(mark + (dots != name.npos ? 2 : 1));
  const size_t digits = left.find_last_not_of("0123456789") + 1;
  const auto stem = left.substr(0, digits);
  if (!stem.empty() && right.starts_with(stem)) {
    right.remove_prefix(stem.size());
  }
  const auto first = parse_integer(left.substr(digits));
  const auto last = parse_integer(right);
  if (stem.empty() || !first || !last || *first < 0 || *last <= *first) {
    return std::string(name);
  }
  return std::string(stem) + "[" + std::string(left.substr(digits)) + "-" +
         std::string(right) + "]";
}

tl::unexpected<Error> unreadable(const char* list, std::string_view text,
                                 std::string_view word, const char* form) {
  return fail({.code = "facts_invalid",
               .what = list,
               .why = "\"" + std::string(word.substr(0, 40)) + "\" in \"" +
                      std::string(text.substr(0, 60)) + "\" means nothing here",
               .where = {},
               .hint = form});
}

}  // namespace muster
