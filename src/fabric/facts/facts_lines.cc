// SPDX-License-Identifier: Apache-2.0
#include "fabric/facts/facts_lines.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "base/text.h"

namespace muster {

namespace {

using Json = nlohmann::json;

struct Node {
  std::string name;  // empty: an element of a list
  size_t line = 1;
  std::vector<Node> children;
};

// Counts the lines that the parser has taken.
struct Counted {
  using iterator_category = std::input_iterator_tag;
  using value_type = char;
  using difference_type = std::ptrdiff_t;
  using pointer = const char*;
  using reference = const char&;

  const char* at;
  size_t* line;

  reference operator*() const { return *at; }
  Counted& operator++() {
    if (*at++ == '\n') ++*line;
    return *this;
  }
  Counted operator++(int) {
    Counted before = *this;
    ++*this;
    return before;
  }
  bool operator==(const Counted& other) const { return at == other.at; }
};

// The lines of keys, and of lists' elements that are lists or objects.
class Lines : public nlohmann::json_sax<Json> {
 public:
  explicit Lines(const size_t& line) : line_(line) { open_ = {&root_}; }
  const Node& root() const { return root_; }

  bool null() override { return leaf(); }
  bool boolean(bool) override { return leaf(); }
  bool number_integer(number_integer_t) override { return leaf(); }
  bool number_unsigned(number_unsigned_t) override { return leaf(); }
  bool number_float(number_float_t, const string_t&) override { return leaf(); }
  bool string(string_t&) override { return leaf(); }
  bool binary(binary_t&) override { return leaf(); }
  bool key(string_t& name) override {
    name_ = name;
    key_line_ = line_;
    return true;
  }
  bool start_object(size_t) override { return start(); }
  bool start_array(size_t) override { return start(); }
  bool end_object() override { return end(); }
  bool end_array() override { return end(); }
  bool parse_error(size_t, const std::string&,
                   const nlohmann::detail::exception&) override {
    return false;
  }

 private:
  Node& add() {
    const bool keyed = key_line_ != 0;
    auto& siblings = open_.back()->children;
    siblings.push_back({name_, keyed ? key_line_ : line_, {}});
    name_.clear();
    key_line_ = 0;
    return siblings.back();
  }
  bool leaf() {
    if (started_) add();
    return true;
  }
  // A parent's list of children does not grow while one of them is open.
  bool start() {
    if (started_) open_.push_back(&add());
    started_ = true;
    return true;
  }
  bool end() {
    if (open_.size() > 1) open_.pop_back();
    return true;
  }

  const size_t& line_;
  size_t key_line_ = 0;  // 0: the next value is an element
  bool started_ = false;
  std::string name_;
  Node root_;
  std::vector<Node*> open_;
};

const Node* child_called(const Node& node, std::string_view name) {
  for (const Node& child : node.children) {
    if (child.name == name) return &child;
  }
  return nullptr;
}

// Objects by name count by their names, as the reader sorts them.
const Node* child_at(const Node& node, size_t index) {
  if (node.children.empty()) return nullptr;
  std::vector<const Node*> in_order;
  for (const Node& child : node.children) in_order.push_back(&child);
  std::stable_sort(in_order.begin(), in_order.end(),
                   [](auto* a, auto* b) { return a->name < b->name; });
  return in_order[std::min(index, in_order.size() - 1)];
}

}  // namespace

size_t line_of_field(std::string_view text, std::string_view path) {
  size_t line = 1;
  Lines lines(line);
  Json::sax_parse(Counted{text.data(), &line},
                  Counted{text.data() + text.size(), &line}, &lines);
  const Node* now = &lines.root();
  for (const auto part : split(path, '.')) {
    const size_t bracket = part.find('[');
    const auto name = part.substr(0, bracket);
    // A file may be a list of pods, or one pod alone.
    const bool pods = now == &lines.root() && name == "pods";
    const Node* next = child_called(*now, name);
    if (next == nullptr && !pods) break;
    if (next != nullptr) now = next;
    if (bracket == part.npos) continue;
    if (next == nullptr && child_called(*now, "") == nullptr) continue;
    const auto index =
        parse_integer(part.substr(bracket + 1, part.find(']') - bracket - 1));
    const Node* element =
        child_at(*now, static_cast<size_t>(index.value_or(0)));
    if (element == nullptr) break;
    now = element;
  }
  return now->line;
}

size_t line_of_quoted(std::string_view text, std::string_view message) {
  size_t longest = 0;
  size_t line = 0;
  const auto parts = split(message, '"');
  for (size_t i = 1; i + 1 < parts.size(); ++i) {
    const size_t at = text.find(parts[i]);
    if (parts[i].size() <= longest || at == text.npos) continue;
    longest = parts[i].size();
    const auto before = text.substr(0, at);
    line =
        1 + static_cast<size_t>(std::count(before.begin(), before.end(), '\n'));
  }
  return longest > 2 ? line : 0;
}

}  // namespace muster
