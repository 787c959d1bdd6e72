// Writes the wire format of protocol buffers: https://protobuf.dev/programming-guides/encoding/.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace attn::onnx {

/// A message as a list of pieces. Data added by reference is not copied and must outlive it.
class Message {
 public:
  Message() = default;
  Message(Message&&) = default;
  Message& operator=(Message&&) = default;
  Message(const Message&) = delete;
  Message& operator=(const Message&) = delete;
  ~Message() = default;

  void number(int field, std::int64_t value);
  void real(int field, float value);
  void text(int field, std::string_view value);
  void numbers(int field, std::span<const std::int64_t> values);  ///< packed repeated field
  void message(int field, Message inner);
  /// Added by reference.
  void bytes(int field, std::span<const std::byte> value);

  [[nodiscard]] std::uint64_t size() const noexcept { return size_; }
  /// Returns the pieces, in the order of writing.
  [[nodiscard]] const std::vector<std::string_view>& pieces() const noexcept { return pieces_; }

 private:
  void own(std::string bytes);
  void refer(std::string_view bytes);

  std::deque<std::string> owned_;
  std::vector<std::string_view> pieces_;
  std::uint64_t size_ = 0;
};

}  // namespace attn::onnx
