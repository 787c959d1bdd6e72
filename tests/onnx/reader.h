// An ONNX file read back, as far as tests look into it.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace attn::test {

/// A message of protocol buffers, by the numbers of its fields.
struct ProtoMessage {
  std::map<std::uint64_t, std::vector<std::uint64_t>> numbers;
  std::map<std::uint64_t, std::vector<std::string>> texts;  ///< and messages

  /// The first, or "" and 0.
  [[nodiscard]] std::string text(std::uint64_t field) const;
  [[nodiscard]] std::uint64_t number(std::uint64_t field) const;
  [[nodiscard]] std::vector<ProtoMessage> messages(std::uint64_t field) const;
};

/// Fails the test where the bytes are no message.
[[nodiscard]] ProtoMessage read_proto(std::string_view bytes);

/// onnx.proto's fields.
namespace field {
inline constexpr std::uint64_t kModelGraph = 7, kModelOpset = 8, kOpsetVersion = 2;
inline constexpr std::uint64_t kGraphNode = 1, kGraphInitializer = 5, kGraphInput = 11, kGraphOutput = 12;
inline constexpr std::uint64_t kNodeInput = 1, kNodeOutput = 2, kNodeName = 3, kNodeOp = 4;
inline constexpr std::uint64_t kTensorType = 2, kTensorName = 8, kTensorRaw = 9, kTensorExternal = 13;
}  // namespace field

/// The sizes of an input or output: numbers as text, or names.
[[nodiscard]] std::vector<std::string> shape_of(const ProtoMessage& value_info);

}  // namespace attn::test
