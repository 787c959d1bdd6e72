// Logs for TensorBoard.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "attn/io/descriptor.h"

namespace attn::io {

/// A file of scalars over steps in TFRecord format (length, bytes, and a masked CRC-32C of each), whose records are
/// tensorflow.Event messages. Each scalar is flushed immediately.
class EventFile {
 public:
  /// Creates a file in the folder, and the folder if necessary. Throws Error (bad_input).
  explicit EventFile(const std::string& folder);

  void add(std::string_view tag, std::int64_t step, double value);

 private:
  void record(const std::string& event);

  std::string path_;
  Descriptor file_;
};

/// Returns the CRC-32C of the bytes, with Castagnoli's polynomial.
[[nodiscard]] std::uint32_t crc32c(std::string_view bytes) noexcept;

}  // namespace attn::io
