#include "wire.h"

#include <bit>
#include <iterator>
#include <utility>

namespace attn::onnx {
namespace {

enum class Wire : std::uint8_t { varint = 0, delimited = 2, fixed32 = 5 };

void append_varint(std::string& out, std::uint64_t value) {
  for (; value >= 0x80; value >>= 7) out.push_back(static_cast<char>((value & 0x7f) | 0x80));
  out.push_back(static_cast<char>(value));
}

std::string key_of(int field, Wire wire) {
  std::string out;
  append_varint(out, (static_cast<std::uint64_t>(field) << 3) | static_cast<std::uint64_t>(wire));
  return out;
}

std::string head_of(int field, std::uint64_t size) {
  std::string out = key_of(field, Wire::delimited);
  append_varint(out, size);
  return out;
}

}  // namespace

void Message::own(std::string bytes) {
  owned_.push_back(std::move(bytes));  // elements of a deque keep their address
  refer(owned_.back());
}

void Message::refer(std::string_view bytes) {
  pieces_.push_back(bytes);
  size_ += bytes.size();
}

void Message::number(int field, std::int64_t value) {
  std::string out = key_of(field, Wire::varint);
  append_varint(out, static_cast<std::uint64_t>(value));
  own(std::move(out));
}

void Message::real(int field, float value) {
  std::string out = key_of(field, Wire::fixed32);
  const auto bits = std::bit_cast<std::uint32_t>(value);
  for (int shift = 0; shift < 32; shift += 8) out.push_back(static_cast<char>((bits >> shift) & 0xff));
  own(std::move(out));
}

void Message::text(int field, std::string_view value) { own(head_of(field, value.size()).append(value)); }

void Message::numbers(int field, std::span<const std::int64_t> values) {
  std::string packed;
  for (const std::int64_t value : values) append_varint(packed, static_cast<std::uint64_t>(value));
  text(field, packed);
}

void Message::message(int field, Message inner) {
  own(head_of(field, inner.size_));
  // Short strings contain their bytes, so the objects must keep their addresses. The elements of the inner deque are
  // therefore moved one by one, and the pieces point to the new addresses.
  std::size_t next = 0;
  for (const std::string_view piece : inner.pieces_) {
    const bool owned = next < inner.owned_.size() && inner.owned_[next].data() == piece.data();
    if (owned) {
      own(std::move(inner.owned_[next++]));
    } else {
      refer(piece);
    }
  }
}

void Message::bytes(int field, std::span<const std::byte> value) {
  own(head_of(field, value.size()));
  refer({reinterpret_cast<const char*>(value.data()), value.size()});
}

}  // namespace attn::onnx
