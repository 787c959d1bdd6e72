#include "reader.h"

#include <doctest/doctest.h>

namespace attn::test {
namespace {

std::uint64_t take_varint(std::string_view& bytes) {
  std::uint64_t value = 0;
  for (int shift = 0; shift < 64; shift += 7) {
    REQUIRE(!bytes.empty());
    const auto byte = static_cast<unsigned char>(bytes.front());
    bytes.remove_prefix(1);
    value |= static_cast<std::uint64_t>(byte & 0x7f) << shift;
    if (byte < 0x80) return value;
  }
  FAIL("a number of over 64 bits");
  return 0;
}

std::string_view take(std::string_view& bytes, std::uint64_t size) {
  REQUIRE(size <= bytes.size());
  const std::string_view taken = bytes.substr(0, size);
  bytes.remove_prefix(size);
  return taken;
}

}  // namespace

std::string ProtoMessage::text(std::uint64_t field) const {
  const auto found = texts.find(field);
  return found == texts.end() ? "" : found->second.front();
}

std::uint64_t ProtoMessage::number(std::uint64_t field) const {
  const auto found = numbers.find(field);
  return found == numbers.end() ? 0 : found->second.front();
}

std::vector<ProtoMessage> ProtoMessage::messages(std::uint64_t field) const {
  std::vector<ProtoMessage> out;
  if (const auto found = texts.find(field); found != texts.end())
    for (const std::string& bytes : found->second) out.push_back(read_proto(bytes));
  return out;
}

ProtoMessage read_proto(std::string_view bytes) {
  ProtoMessage out;
  while (!bytes.empty()) {
    const std::uint64_t key = take_varint(bytes);
    switch (key & 7) {
      case 0:
        out.numbers[key >> 3].push_back(take_varint(bytes));
        break;
      case 2: {
        const std::uint64_t size = take_varint(bytes);
        out.texts[key >> 3].emplace_back(take(bytes, size));
        break;
      }
      case 5:
        static_cast<void>(take(bytes, 4));
        break;
      default:
        FAIL("a field of kind " << (key & 7));
    }
  }
  return out;
}

std::vector<std::string> shape_of(const ProtoMessage& value_info) {
  std::vector<std::string> out;
  const ProtoMessage type = value_info.messages(2).at(0).messages(1).at(0);
  for (const ProtoMessage& shape : type.messages(2))
    for (const ProtoMessage& dim : shape.messages(1))
      out.push_back(dim.texts.contains(2) ? dim.text(2) : std::to_string(dim.number(1)));
  return out;
}

}  // namespace attn::test
