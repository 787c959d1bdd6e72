// Reads the parts of an ONNX file that tests need.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace attn::test {

/// A protocol buffer message, by field number.
struct ProtoMessage {
  std::map<std::uint64_t, std::vector<std::uint64_t>> numbers;
  std::map<std::uint64_t, std::vector<std::string>> texts;  ///< strings and messages

  /// The first value, or "" and 0.
  [[nodiscard]] std::string text(std::uint64_t field) const;
  [[nodiscard]] std::uint64_t number(std::uint64_t field) const;
  [[nodiscard]] std::vector<ProtoMessage> messages(std::uint64_t field) const;
};

/// Fails the test if the bytes are not a message.
[[nodiscard]] ProtoMessage read_proto(std::string_view bytes);

/// Field numbers of onnx.proto.
namespace field {
inline constexpr std::uint64_t kModelGraph = 7, kModelOpset = 8, kOpsetVersion = 2;
inline constexpr std::uint64_t kGraphNode = 1, kGraphInitializer = 5, kGraphInput = 11, kGraphOutput = 12;
inline constexpr std::uint64_t kNodeInput = 1, kNodeOutput = 2, kNodeName = 3, kNodeOp = 4;
inline constexpr std::uint64_t kTensorType = 2, kTensorName = 8, kTensorRaw = 9, kTensorExternal = 13;
}  // namespace field

/// The sizes of an input or output: numbers as text, or names.
[[nodiscard]] std::vector<std::string> shape_of(const ProtoMessage& value_info);

}  // namespace attn::test
