// Logs that TensorBoard reads.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "attn/io/descriptor.h"

namespace attn::io {

/// A file of scalars over steps: records as TFRecord has them (length, bytes, and a masked CRC-32C of each), whose
/// bytes are tensorflow.Event messages. Each scalar is written out at once.
class EventFile {
 public:
  /// A new file in the folder, which is made where it is not there. Throws Error (bad_input).
  explicit EventFile(const std::string& folder);

  void add(std::string_view tag, std::int64_t step, double value);

 private:
  void record(const std::string& event);

  std::string path_;
  Descriptor file_;
};

/// CRC-32C, of Castagnoli's polynomial.
[[nodiscard]] std::uint32_t crc32c(std::string_view bytes) noexcept;

}  // namespace attn::io
