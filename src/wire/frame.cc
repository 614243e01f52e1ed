// SPDX-License-Identifier: Apache-2.0
#include "wire/frame.h"

#include <algorithm>
#include <cstring>
#include <utility>

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

bool is_known(FrameType type) {
  return (type >= FrameType::kHello && type <= FrameType::kRankState) ||
         (type >= FrameType::kStackRequest && type <= FrameType::kArrivals);
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

Result<std::optional<Frame>> FrameReader::next(std::string_view& bytes) {
  const auto take = [&bytes](std::string& out, size_t wanted) {
    const size_t count = std::min(wanted, bytes.size());
    out.append(bytes.substr(0, count));
    bytes.remove_prefix(count);
    return wanted - count;
  };
  if (refused_.empty() && header_.size() < kHeaderSize) {
    if (take(header_, kHeaderSize - header_.size()) > 0) return std::nullopt;
    const auto length = get<uint32_t>(header_.data());
    const auto type = static_cast<FrameType>(static_cast<uint8_t>(header_[4]));
    if (length > kMaxPayload || !is_known(type)) {
      refused_ = header_ + std::string(bytes);
    } else {
      frame_.type = type;
      frame_.flags = static_cast<uint8_t>(header_[5]);
      frame_.node = get<uint16_t>(header_.data() + 6);
      frame_.id = get<uint32_t>(header_.data() + 8);
      frame_.payload.reserve(length);
      missing_ = length;
    }
  }
  if (!refused_.empty()) {
    return fail(Error{"protocol",
                      "the other side does not speak muster's "
                      "agent protocol",
                      "unexpected bytes",
                      {},
                      {}});
  }
  missing_ = take(frame_.payload, missing_);
  if (missing_ > 0) return std::nullopt;
  header_.clear();
  return std::exchange(frame_, {});
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
