// SPDX-License-Identifier: Apache-2.0
#include "wire/frame.h"

#include <cstring>

#include "wire/rank_event.h"
#include "wire/stack_messages.h"

namespace muster::wire {

namespace {

template <class T>
void put(std::string& out, T value) {
  for (int shift = (static_cast<int>(sizeof(T)) - 1) * 8; shift >= 0;
       shift -= 8) {
    out.push_back(static_cast<char>(value >> shift & 0xff));
  }
}

template <class T>
T get(const char* bytes) {
  T value = 0;
  for (size_t i = 0; i < sizeof(T); ++i) {
    value = static_cast<T>(value << 8 | static_cast<unsigned char>(bytes[i]));
  }
  return value;
}

// Those of stack_messages.h and rank_event.h have numbers of their own.
bool known_type(uint8_t type) {
  return type <= kLastFrameType ||
         type == static_cast<uint8_t>(kStackRequest) ||
         type == static_cast<uint8_t>(kStackReply) ||
         type == static_cast<uint8_t>(kRankEvent);
}

}  // namespace

void encode(FrameType type, uint8_t flags, uint16_t node, uint32_t id,
            std::string_view payload, std::string& out) {
  out.reserve(out.size() + kHeaderSize + payload.size());
  put<uint32_t>(out, static_cast<uint32_t>(payload.size()));
  out.push_back(static_cast<char>(type));
  out.push_back(static_cast<char>(flags));
  put<uint16_t>(out, node);
  put<uint32_t>(out, id);
  out.append(payload);
}

void encode(const Frame& frame, std::string& out) {
  encode(frame.type, frame.flags, frame.node, frame.id, frame.payload, out);
}

void FrameReader::append(std::string_view bytes) {
  if (consumed_ > 0 && consumed_ == buffer_.size()) {
    buffer_.clear();
    consumed_ = 0;
  } else if (consumed_ > (64 << 10)) {
    buffer_.erase(0, consumed_);
    consumed_ = 0;
  }
  buffer_.append(bytes);
}

std::string_view FrameReader::buffered() const {
  return std::string_view(buffer_).substr(consumed_);
}

Result<std::optional<Frame>> FrameReader::next() {
  const std::string_view rest = buffered();
  if (rest.size() < kHeaderSize) return std::nullopt;
  const auto length = get<uint32_t>(rest.data());
  const auto type = static_cast<uint8_t>(rest[4]);
  if (length > kMaxPayload || type == 0 || !known_type(type)) {
    return fail(Error{"protocol",
                      "the other side does not speak muster's "
                      "agent protocol",
                      "unexpected bytes",
                      {},
                      {}});
  }
  if (rest.size() < kHeaderSize + length) return std::nullopt;
  Frame frame;
  frame.type = static_cast<FrameType>(type);
  frame.flags = static_cast<uint8_t>(rest[5]);
  frame.node = get<uint16_t>(rest.data() + 6);
  frame.id = get<uint32_t>(rest.data() + 8);
  frame.payload.assign(rest.substr(kHeaderSize, length));
  consumed_ += kHeaderSize + length;
  return frame;
}

std::string output_payload(int64_t time_ns, std::string_view bytes) {
  std::string out;
  out.reserve(8 + bytes.size());
  put<uint64_t>(out, static_cast<uint64_t>(time_ns));
  out.append(bytes);
  return out;
}

std::optional<OutputView> parse_output(std::string_view payload) {
  if (payload.size() < 8) return std::nullopt;
  return OutputView{static_cast<int64_t>(get<uint64_t>(payload.data())),
                    payload.substr(8)};
}

std::string u32_payload(uint32_t value) {
  std::string out;
  put<uint32_t>(out, value);
  return out;
}

std::optional<uint32_t> parse_u32(std::string_view payload) {
  if (payload.size() != 4) return std::nullopt;
  return get<uint32_t>(payload.data());
}

}  // namespace muster::wire
