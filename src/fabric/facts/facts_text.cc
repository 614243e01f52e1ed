// SPDX-License-Identifier: Apache-2.0
#include "fabric/facts/facts_text.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <set>

namespace muster {

namespace {

using Json = nlohmann::json;

constexpr int kMaxDepth = 32;
// Above that nobody wrote the file by hand.
constexpr size_t kWrittenByHand = 1 << 20;

// Whether brackets nest further than any facts do: the JSON library copies
// and frees nested values by recursion.
bool too_deep(std::string_view text) {
  int depth = 0;
  bool quoted = false;
  for (size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (quoted) {
      if (c == '\\') ++i;
      if (c == '"') quoted = false;
    } else if (c == '"') {
      quoted = true;
    } else if (c == '[' || c == '{') {
      if (++depth > kMaxDepth) return true;
    } else if (c == ']' || c == '}') {
      --depth;
    }
  }
  return false;
}

bool is_blank(char c) {
  return c == ' ' || c == '\t' || c == '\n' || c == '\r';
}

// Behind a comment that begins at `at`; `at` itself if none does.
size_t behind_comment(std::string_view text, size_t at) {
  const auto rest = text.substr(at);
  size_t end = text.npos;
  if (rest.starts_with("//") || rest.starts_with("#")) {
    end = text.find('\n', at);
  } else if (rest.starts_with("/*")) {
    end = text.find("*/", at);
    if (end != text.npos) end += 2;
  } else {
    return at;
  }
  return std::min(end, text.size());
}

size_t next_sign(std::string_view text, size_t at) {
  while (at < text.size()) {
    const size_t behind = behind_comment(text, at);
    if (behind == at && !is_blank(text[at])) break;
    at = behind == at ? at + 1 : behind;
  }
  return at;
}

// From behind the opening quotation mark to behind the closing one. The lines
// that the text had follow it, so that what comes later keeps its number.
size_t copy_text(std::string_view text, size_t at, std::string& out) {
  std::string lines;
  while (at < text.size()) {
    const char c = text[at++];
    if (c == '\\' && at < text.size()) {
      out += c;
      out += text[at++];
    } else if (c == '\n') {
      out += "\\n";
      lines += '\n';
    } else if (c == '\t') {
      out += "\\t";
    } else if (c != '\r') {
      out += c;
    }
    if (c == '"') break;
  }
  out += lines;
  return at;
}

bool stands_alone(std::string_view text, size_t at, std::string_view word) {
  const auto is_letter = [&](size_t i) {
    return i < text.size() && std::isalnum(static_cast<unsigned char>(text[i]));
  };
  return text.substr(at).starts_with(word) && !is_letter(at + word.size()) &&
         (at == 0 || !is_letter(at - 1));
}

// Why the parser stopped at the sign before `at`, as a person would see it.
std::string trouble_at(std::string_view text, size_t at) {
  const size_t first = next_sign(text, 0);
  if (first < text.size() && text[first] != '{' && text[first] != '[') {
    return "JSON begins with { or [, and this does not; YAML becomes JSON with "
           "`yq -o json`";
  }
  size_t sign = at > 0 ? at - 1 : 0;
  while (sign > 0 && std::isalpha(static_cast<unsigned char>(text[sign - 1]))) {
    --sign;
  }
  for (const char* word : {"NaN", "nan", "Infinity", "inf"}) {
    if (!stands_alone(text, sign, word)) continue;
    return std::string(word) +
           " is not a JSON number; leave an unknown field out";
  }
  for (const char* word : {"True", "False", "None"}) {
    if (!stands_alone(text, sign, word)) continue;
    return std::string(word) +
           " is Python's; JSON has true, false and null, in small letters";
  }
  if (sign < text.size() && text[sign] == '\'') {
    return "JSON has double quotation marks, and this is a single one";
  }
  size_t before = sign;
  while (before > 0 && is_blank(text[before - 1])) --before;
  const char last = before > 0 ? text[before - 1] : ' ';
  const bool value = last == '"' || last == '}' || last == ']' ||
                     std::isalnum(static_cast<unsigned char>(last));
  const char now = sign < text.size() ? text[sign] : ' ';
  const bool begins = now == '"' || now == '{' || now == '[' ||
                      std::isalnum(static_cast<unsigned char>(now));
  if (value && begins) {
    const bool second = now == '{' && last == '}';
    return second ? "a second object follows without a comma; several pods are "
                    "a list, [{…}, {…}]"
                  : "a comma, a colon or a quotation mark is missing before "
                    "this";
  }
  return "this is not JSON";
}

// The line and column of a place, as an editor counts.
std::pair<size_t, size_t> place_of(std::string_view text, size_t at) {
  const auto before = text.substr(0, at);
  const auto line = std::count(before.begin(), before.end(), '\n') + 1;
  const size_t start = before.rfind('\n');
  return {static_cast<size_t>(line),
          start == before.npos ? at : at - start - 1};
}

// Keys that an object has twice: of two values one would be lost unseen.
class Twice : public nlohmann::json_sax<Json> {
 public:
  std::vector<std::string> notes;

  bool null() override { return true; }
  bool boolean(bool) override { return true; }
  bool number_integer(number_integer_t) override { return true; }
  bool number_unsigned(number_unsigned_t) override { return true; }
  bool number_float(number_float_t, const string_t&) override { return true; }
  bool string(string_t&) override { return true; }
  bool binary(binary_t&) override { return true; }
  bool key(string_t& name) override {
    const bool again = !open_.back().insert(name).second;
    if (again && notes.size() < 8) {
      notes.push_back("\"" + name.substr(0, 40) +
                      "\" stands twice in one object; the last one counts");
    }
    return true;
  }
  bool start_object(size_t) override {
    open_.emplace_back();
    return true;
  }
  bool end_object() override {
    open_.pop_back();
    return true;
  }
  bool start_array(size_t) override { return true; }
  bool end_array() override { return true; }
  bool parse_error(size_t, const std::string&,
                   const nlohmann::detail::exception&) override {
    return false;
  }

 private:
  std::vector<std::set<std::string>> open_;
};

}  // namespace

tl::unexpected<Error> invalid_facts(const std::string& where, std::string why) {
  return fail({.code = "facts_invalid",
               .what = "cannot read the facts",
               .why = std::move(why),
               .where = where,
               .hint = "the format is in docs/facts-schema.md"});
}

std::string strict_json(std::string_view text) {
  std::string out;
  for (size_t at = 0; at < text.size();) {
    const size_t behind = behind_comment(text, at);
    if (behind != at) {
      const auto comment = text.substr(at, behind - at);
      out.append(
          static_cast<size_t>(std::count(comment.begin(), comment.end(), '\n')),
          '\n');
      at = behind;
      continue;
    }
    const char c = text[at++];
    if (c == '"') {
      out += c;
      at = copy_text(text, at, out);
      continue;
    }
    const size_t next = c == ',' ? next_sign(text, at) : text.size();
    const bool last =
        next < text.size() && (text[next] == ']' || text[next] == '}');
    out += last ? ' ' : c;
  }
  return out;
}

Result<Json> parse_facts_text(std::string_view text, const std::string& where,
                              FactsText& out) {
  if (too_deep(text)) return invalid_facts(where, "nested more than 32 deep");
  out.text = text;
  Json json = Json::parse(out.text, nullptr, false);
  if (json.is_discarded()) {
    const std::string strict = strict_json(text);
    if (too_deep(strict))
      return invalid_facts(where, "nested more than 32 deep");
    json = Json::parse(strict, nullptr, false);
    if (!json.is_discarded()) out.text = strict;
  }
  if (!json.is_discarded()) {
    Twice twice;
    if (out.text.size() <= kWrittenByHand) Json::sax_parse(out.text, &twice);
    out.notes = std::move(twice.notes);
    return json;
  }
  try {
    return Json::parse(out.text);
  } catch (const Json::out_of_range&) {  // 1e400
    return invalid_facts(where, "a number in it is too large");
  } catch (const Json::parse_error& error) {
    size_t at = std::min(error.byte, text.size());
    // At the end of the file the place is behind the last sign.
    const bool line_end =
        at > 0 && error.byte <= text.size() && text[at - 1] == '\n';
    if (line_end) --at;
    const auto [line, column] = place_of(text, at);
    const std::string place = where + ":" + std::to_string(line);
    if (error.byte > text.size()) {
      return invalid_facts(
          place,
          "it ends here, and a bracket, a brace or a quotation mark "
          "is still open");
    }
    const std::string why =
        line_end
            ? "the line ends within a text, whose quotation mark is missing"
            : trouble_at(text, at);
    return invalid_facts(place,
                         why + " (character " + std::to_string(column) + ")");
  }
}

}  // namespace muster
