// SPDX-License-Identifier: Apache-2.0
// Plain values to JSON objects and back, field by field, so that one list of
// fields per type serves both directions. Bytes survive exactly: a string that
// is not UTF-8 becomes {"base64": "..."}. Environments are arrays of pairs,
// which keeps order and names that are not UTF-8.
// Refuses: numbers that do not fit, wrong types, exceptions. nlohmann/json is
// seen by json_fields.cc only. Pure.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "base/spawn.h"

namespace muster {

class JsonWriter {
 public:
  JsonWriter();
  ~JsonWriter();
  JsonWriter(JsonWriter&&) noexcept;
  JsonWriter& operator=(JsonWriter&&) = delete;

  // Like field(); the reader requires the field.
  template <class Value>
  void required(const char* name, const Value& value) {
    field(name, value);
  }
  // Like field(); the reader makes the text printable.
  template <class Value>
  void shown(const char* name, const Value& value) {
    field(name, value);
  }
  // Like field(); the reader accepts an object too, as its text.
  void text_or_json(const char* name, const std::string& value) {
    field(name, value);
  }
  // Text of a JSON object becomes that object; any other stays text.
  void object_text(const char* name, const std::string& value);
  void field(const char* name, bool value);
  void field(const char* name, int value);
  void field(const char* name, int64_t value);
  void field(const char* name, uint32_t value);
  void field(const char* name, uint64_t value);
  void field(const char* name, double value);  // NaN, infinity: null
  void field(const char* name, const std::string& value);
  void field(const char* name, const std::vector<int>& values);
  void field(const char* name, const std::vector<std::string>& values);
  void field(const char* name, const Environment& values);
  void field(const char* name,
             const std::map<std::string, std::string>& values);
  // `visit(writer, item)` lists the fields of one item.
  template <class Item, class Visit>
  void objects(const char* name, const std::vector<Item>& items, Visit visit) {
    start_list(name);
    for (const Item& item : items) {
      JsonWriter writer;
      visit(writer, item);
      append_object(name, writer);
    }
  }
  template <class Item, class Visit>
  void object(const char* name, const Item& item, Visit visit) {
    JsonWriter writer;
    visit(writer, item);
    put_object(name, writer);
  }

  [[nodiscard]] std::string text() const;  // on one line

 private:
  void start_list(const char* name);
  void append_object(const char* name, const JsonWriter& item);
  void put_object(const char* name, const JsonWriter& item);

  std::unique_ptr<nlohmann::ordered_json> json_;
};

// Keeps the first mistake; after it, values stay as they were. A field that is
// absent or null keeps the value that the caller's object has.
class JsonReader {
 public:
  // `what` names the expected value in errors: "message Hello".
  JsonReader(std::string_view text, std::string what);
  ~JsonReader();
  JsonReader(JsonReader&&) noexcept;
  JsonReader& operator=(JsonReader&&) = delete;

  template <class Value>
  void required(const char* name, Value& value) {
    if (!has(name)) missing(name);
    field(name, value);
  }
  // Text of a peer that is only for messages and terminals: one printable line
  // (base/printable.h) of at most 4 KiB, each.
  void shown(const char* name, std::string& value);
  void shown(const char* name, std::vector<std::string>& values);
  // Text, or a JSON object as its text.
  void text_or_json(const char* name, std::string& value);
  void object_text(const char* name, std::string& value) {
    text_or_json(name, value);
  }
  void field(const char* name, bool& value);
  void field(const char* name, int& value);
  void field(const char* name, int64_t& value);
  void field(const char* name, uint32_t& value);
  void field(const char* name, uint64_t& value);
  void field(const char* name, double& value);
  void field(const char* name, std::string& value);
  void field(const char* name, std::vector<int>& values);
  void field(const char* name, std::vector<std::string>& values);
  void field(const char* name, Environment& values);
  void field(const char* name, std::map<std::string, std::string>& values);
  template <class Item, class Visit>
  void objects(const char* name, std::vector<Item>& items, Visit visit) {
    const int count = list_size(name);
    for (int i = 0; i < count; ++i) {
      JsonReader reader = element(name, i);
      Item item;
      visit(reader, item);
      adopt_error(reader);
      items.push_back(std::move(item));
    }
  }
  template <class Item, class Visit>
  void object(const char* name, Item& item, Visit visit) {
    if (!has(name)) return;
    JsonReader reader = member(name);
    visit(reader, item);
    adopt_error(reader);
  }

  // Records a mistake that only the caller can detect, e.g. an unknown word.
  void reject(const char* name, std::string_view expected);
  // Error code "protocol".
  [[nodiscard]] Status status() const;

 private:
  JsonReader(std::string what, std::unique_ptr<nlohmann::json> json);
  [[nodiscard]] bool has(const char* name) const;
  [[nodiscard]] const nlohmann::json* find(const char* name) const;
  void missing(const char* name);
  int list_size(const char* name);
  JsonReader element(const char* name, int index);
  JsonReader member(const char* name);
  void adopt_error(const JsonReader& other);

  std::string what_;
  std::string mistake_;  // empty: none so far
  std::unique_ptr<nlohmann::json> json_;
};

}  // namespace muster
