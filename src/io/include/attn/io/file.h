// Reading whole files.
#pragma once

#include <cstdint>
#include <string>

#include "attn/base/size.h"
#include "attn/io/bytes.h"

namespace attn::io {

/// Files of up to this number of bytes are read into memory. Larger ones are mapped, so that unused parts are never
/// loaded.
inline constexpr std::int64_t kMapFrom = std::int64_t{1} << 20;
/// Pipes and terminals, whose size is unknown in advance, are read up to this number of bytes.
inline constexpr std::int64_t kMaxStream = std::int64_t{1} << 30;

/// Returns the contents of a file; "-" is stdin. Throws Error (bad_input) if it cannot be read, is a directory or a
/// device, has more than `limit` bytes, or changes while it is read.
[[nodiscard]] Bytes read_file(const std::string& path, std::int64_t limit = kMaxSize);

/// Reads a file of a model's folder; `name` may have '/' in it. A symlink is followed inside the folder, and out of a
/// snapshot of Hugging Face's cache (models--…/snapshots/REVISION) to the cache's own models--…/blobs. Throws as
/// read_file does, and for a symlink that leads anywhere else, a pipe or a device, without waiting for a writer.
[[nodiscard]] Bytes read_file_in(const std::string& folder, const std::string& name, std::int64_t limit = kMaxSize);

/// Returns the path of a file that read_file_in accepts, for a reader that opens it itself. Throws as that does.
[[nodiscard]] std::string checked_file_in(const std::string& folder, const std::string& name);

/// Returns the contents of the file `name` in the folder of `path`, for names that come from a file and must not lead
/// elsewhere. Throws as read_file_in does, and for every symlink but those of Hugging Face's cache.
[[nodiscard]] Bytes read_sibling_file(const std::string& path, const std::string& name);

/// A mapped file that another process truncates raises SIGBUS on access to the lost part. This turns the signal into
/// one line on stderr and exit code 3. Called once, at the start of a program.
void exit_where_a_mapped_file_shrinks() noexcept;

}  // namespace attn::io
