// Files that a companion decodes, as seen from attn.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

#include "attn/io/bytes.h"
#include "companion/companion_process.h"

namespace attn::io {

/// A companion that decodes files of one kind, and the limits of its work.
struct FileDecoder {
  Companion companion;
  const char* file;           ///< a file of the kind, for messages: "an image file"
  const char* library;        ///< the library that its version begins with: "libjpeg"
  std::int64_t most_bytes;    ///< the maximum size of a file
  std::int64_t milliseconds;  ///< the processor time for a file
};

/// Returns the version of the libraries. Throws Error (bad_input) if the companion cannot be run.
[[nodiscard]] std::string decoder_version(const FileDecoder& decoder);

/// Lets the companion decode a file. `take` reads its answer, and gets the file's name for messages. Throws Error
/// (bad_input) for an empty file, one above the limit, and one that the companion rejects.
void decode_file(const FileDecoder& decoder, const Bytes& file, std::string_view name,
                 const std::function<void(Channel& channel, const std::string& place)>& take);

/// Receives the tag of the next record of an answer. Throws Error (bad_input) with the reason if the companion rejected
/// the file.
[[nodiscard]] std::uint8_t answer_tag(Channel& channel, const std::string& place);

/// Throws ChannelBroken if an answer is not valid: a malicious file may have taken over the companion.
void expect_valid(bool is_valid);

}  // namespace attn::io
