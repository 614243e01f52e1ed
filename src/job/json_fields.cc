// SPDX-License-Identifier: Apache-2.0
// The only place of this library that sees nlohmann/json. Parses with
// exceptions off and checks types before it takes a value. Pure.
#include "job/json_fields.h"

#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>
#include <optional>
#include <utility>

#include "base/printable.h"
#include "job/base64.h"

namespace muster {

namespace {

constexpr size_t kMostShown = 4096;

using nlohmann::json;
using nlohmann::ordered_json;

template <class Json>
Json encode(const std::string& bytes) {
  if (is_utf8(bytes)) return Json(bytes);
  return Json{{"base64", base64_encode(bytes)}};
}

std::optional<std::string> decode(const json& value) {
  if (value.is_string()) return value.get_ref<const std::string&>();
  if (!value.is_object()) return std::nullopt;
  const auto found = value.find("base64");
  if (found == value.end() || !found->is_string()) return std::nullopt;
  return base64_decode(found->get_ref<const std::string&>());
}

template <class Pairs>
ordered_json encode_pairs(const Pairs& pairs) {
  ordered_json list = ordered_json::array();
  for (const auto& [name, value] : pairs) {
    ordered_json pair = ordered_json::array();
    pair.push_back(encode<ordered_json>(name));
    pair.push_back(encode<ordered_json>(value));
    list.push_back(std::move(pair));
  }
  return list;
}

std::optional<Environment> decode_pairs(const json& value) {
  if (!value.is_array()) return std::nullopt;
  Environment pairs;
  for (const json& pair : value) {
    if (!pair.is_array() || pair.size() != 2) return std::nullopt;
    std::optional<std::string> name = decode(pair[0]);
    std::optional<std::string> text = decode(pair[1]);
    if (!name || !text) return std::nullopt;
    pairs.emplace_back(*std::move(name), *std::move(text));
  }
  return pairs;
}

template <class Integer>
std::optional<Integer> decode_integer(const json& value) {
  using Limits = std::numeric_limits<Integer>;
  if (value.is_number_unsigned()) {
    const auto number = value.get<uint64_t>();
    if (number > static_cast<uint64_t>(Limits::max())) return std::nullopt;
    return static_cast<Integer>(number);
  }
  if (!value.is_number_integer()) return std::nullopt;
  const auto number = value.get<int64_t>();  // negative, or it were unsigned
  if (!Limits::is_signed || number < static_cast<int64_t>(Limits::min())) {
    return std::nullopt;
  }
  return static_cast<Integer>(number);
}

}  // namespace

JsonWriter::JsonWriter()
    : json_(std::make_unique<ordered_json>(ordered_json::object())) {}
JsonWriter::~JsonWriter() = default;
JsonWriter::JsonWriter(JsonWriter&&) noexcept = default;

void JsonWriter::field(const char* name, bool value) { (*json_)[name] = value; }
void JsonWriter::field(const char* name, int value) { (*json_)[name] = value; }
void JsonWriter::field(const char* name, int64_t value) {
  (*json_)[name] = value;
}
void JsonWriter::field(const char* name, uint32_t value) {
  (*json_)[name] = value;
}
void JsonWriter::field(const char* name, uint64_t value) {
  (*json_)[name] = value;
}
void JsonWriter::field(const char* name, double value) {
  (*json_)[name] = std::isfinite(value) ? ordered_json(value) : ordered_json();
}
void JsonWriter::field(const char* name, const std::string& value) {
  (*json_)[name] = encode<ordered_json>(value);
}
void JsonWriter::object_text(const char* name, const std::string& value) {
  ordered_json parsed = ordered_json::parse(value, nullptr, false);
  if (!parsed.is_object()) return field(name, value);
  (*json_)[name] = std::move(parsed);
}
void JsonWriter::field(const char* name, const std::vector<int>& values) {
  (*json_)[name] = values;
}
void JsonWriter::field(const char* name,
                       const std::vector<std::string>& values) {
  ordered_json list = ordered_json::array();
  for (const std::string& value : values) {
    list.push_back(encode<ordered_json>(value));
  }
  (*json_)[name] = std::move(list);
}
void JsonWriter::field(const char* name, const Environment& values) {
  (*json_)[name] = encode_pairs(values);
}
void JsonWriter::field(const char* name,
                       const std::map<std::string, std::string>& values) {
  (*json_)[name] = encode_pairs(values);
}

void JsonWriter::start_list(const char* name) {
  (*json_)[name] = ordered_json::array();
}
void JsonWriter::append_object(const char* name, const JsonWriter& item) {
  (*json_)[name].push_back(*item.json_);
}
void JsonWriter::put_object(const char* name, const JsonWriter& item) {
  (*json_)[name] = *item.json_;
}

std::string JsonWriter::text() const { return json_->dump(); }

JsonReader::JsonReader(std::string_view text, std::string what)
    : what_(std::move(what)),
      json_(std::make_unique<json>(json::parse(text, nullptr, false))) {
  if (!json_->is_object()) mistake_ = "the text is not a JSON object";
}
JsonReader::JsonReader(std::string what, std::unique_ptr<json> value)
    : what_(std::move(what)), json_(std::move(value)) {
  if (!json_->is_object()) mistake_ = "an element is not a JSON object";
}
JsonReader::~JsonReader() = default;

void JsonReader::shown(const char* name, std::string& value) {
  field(name, value);
  value = printable_line(value, kMostShown);
}
void JsonReader::shown(const char* name, std::vector<std::string>& values) {
  field(name, values);
  for (std::string& value : values) value = printable_line(value, kMostShown);
}
JsonReader::JsonReader(JsonReader&&) noexcept = default;

const json* JsonReader::find(const char* name) const {
  if (!mistake_.empty()) return nullptr;
  const auto found = json_->find(name);
  return found == json_->end() || found->is_null() ? nullptr : &*found;
}

bool JsonReader::has(const char* name) const { return find(name) != nullptr; }

void JsonReader::missing(const char* name) {
  if (mistake_.empty()) mistake_ = std::string("field ") + name + " is missing";
}

void JsonReader::reject(const char* name, std::string_view expected) {
  if (!mistake_.empty()) return;
  mistake_ = std::string("field ") + name + " is not " + std::string(expected);
}

void JsonReader::field(const char* name, bool& value) {
  const json* found = find(name);
  if (found == nullptr) return;
  if (!found->is_boolean()) return reject(name, "true or false");
  value = found->get<bool>();
}

namespace {

// Takes the decoded value, or says that there is none.
template <class Value, class Decoded>
bool take(std::optional<Decoded> decoded, Value& value) {
  if (!decoded) return false;
  value = Value(std::make_move_iterator(decoded->begin()),
                std::make_move_iterator(decoded->end()));
  return true;
}

}  // namespace

void JsonReader::field(const char* name, int& value) {
  const json* found = find(name);
  if (found == nullptr) return;
  const auto number = decode_integer<int>(*found);
  if (!number) return reject(name, "a 32-bit integer");
  value = *number;
}
void JsonReader::field(const char* name, int64_t& value) {
  const json* found = find(name);
  if (found == nullptr) return;
  const auto number = decode_integer<int64_t>(*found);
  if (!number) return reject(name, "a 64-bit integer");
  value = *number;
}
void JsonReader::field(const char* name, uint32_t& value) {
  const json* found = find(name);
  if (found == nullptr) return;
  const auto number = decode_integer<uint32_t>(*found);
  if (!number) return reject(name, "an unsigned 32-bit integer");
  value = *number;
}
void JsonReader::field(const char* name, uint64_t& value) {
  const json* found = find(name);
  if (found == nullptr) return;
  const auto number = decode_integer<uint64_t>(*found);
  if (!number) return reject(name, "an unsigned 64-bit integer");
  value = *number;
}
void JsonReader::field(const char* name, double& value) {
  const json* found = find(name);
  if (found == nullptr) return;
  if (!found->is_number()) return reject(name, "a number");
  value = found->get<double>();
}
void JsonReader::field(const char* name, std::string& value) {
  const json* found = find(name);
  if (found == nullptr) return;
  std::optional<std::string> text = decode(*found);
  if (!text) return reject(name, "a string");
  value = *std::move(text);
}

void JsonReader::text_or_json(const char* name, std::string& value) {
  const nlohmann::json* found = find(name);
  if (found == nullptr) return;
  if (std::optional<std::string> text = decode(*found)) {
    value = *std::move(text);
  } else if (found->is_object()) {
    value = found->dump();
  } else {
    reject(name, "a string or an object");
  }
}

void JsonReader::field(const char* name, std::vector<int>& values) {
  const json* found = find(name);
  if (found == nullptr) return;
  if (!found->is_array()) return reject(name, "a list of integers");
  std::vector<int> numbers;
  for (const json& element : *found) {
    const auto number = decode_integer<int>(element);
    if (!number) return reject(name, "a list of integers");
    numbers.push_back(*number);
  }
  values = std::move(numbers);
}

void JsonReader::field(const char* name, std::vector<std::string>& values) {
  const json* found = find(name);
  if (found == nullptr) return;
  if (!found->is_array()) return reject(name, "a list of strings");
  std::vector<std::string> texts;
  for (const json& element : *found) {
    std::optional<std::string> text = decode(element);
    if (!text) return reject(name, "a list of strings");
    texts.push_back(*std::move(text));
  }
  values = std::move(texts);
}

void JsonReader::field(const char* name, Environment& values) {
  const json* found = find(name);
  if (found == nullptr) return;
  if (!take(decode_pairs(*found), values)) {
    reject(name, "a list of [name, value] pairs");
  }
}
void JsonReader::field(const char* name,
                       std::map<std::string, std::string>& values) {
  const json* found = find(name);
  if (found == nullptr) return;
  if (!take(decode_pairs(*found), values)) {
    reject(name, "a list of [name, value] pairs");
  }
}

int JsonReader::list_size(const char* name) {
  const json* found = find(name);
  if (found == nullptr) return 0;
  if (!found->is_array()) {
    reject(name, "a list");
    return 0;
  }
  return static_cast<int>(found->size());
}

// Both move, as each is read once: a copy would recurse into nested values.
JsonReader JsonReader::element(const char* name, int index) {
  // `name` is there: list_size() has looked, unless a mistake came since.
  json& list = (*json_)[name];
  return {what_ + "." + name,
          std::make_unique<json>(std::move(list[static_cast<size_t>(index)]))};
}

JsonReader JsonReader::member(const char* name) {
  return {what_ + "." + name,
          std::make_unique<json>(std::move((*json_)[name]))};
}

void JsonReader::adopt_error(const JsonReader& other) {
  if (!mistake_.empty() || other.mistake_.empty()) return;
  mistake_ = other.mistake_;
  what_ = other.what_;
}

Status JsonReader::status() const {
  if (mistake_.empty()) return {};
  return fail(
      Error{"protocol", "could not understand the " + what_, mistake_, {}, {}});
}

}  // namespace muster
