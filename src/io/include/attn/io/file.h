// Reading whole files.
#pragma once

#include <cstdint>
#include <string>

#include "attn/base/size.h"
#include "attn/io/bytes.h"

namespace attn::io {

/// Files up to this size are read into memory; larger ones are mapped, so that what is not used is never loaded.
inline constexpr std::int64_t kMapFrom = std::int64_t{1} << 20;
/// Pipes and terminals, whose size nobody knows beforehand, are read up to this size.
inline constexpr std::int64_t kMaxStream = std::int64_t{1} << 30;

/// The contents of a file; "-" is stdin. Throws Error (bad_input) where it cannot be read, is a directory or a device,
/// holds more than `limit` bytes, or changes while it is read.
[[nodiscard]] Bytes read_file(const std::string& path, std::int64_t limit = kMaxSize);

/// The contents of the file `name` in the folder of `path`: of a name that a file holds, which may not lead anywhere
/// else. Throws as read_file does, and where the name is a symbolic link.
[[nodiscard]] Bytes read_file_beside(const std::string& path, const std::string& name);

/// A mapped file that another process cuts short raises SIGBUS where the lost part is touched. This turns the signal
/// into one line on stderr and exit code 3. For a program to call once, at its start.
void exit_where_a_mapped_file_shrinks() noexcept;

}  // namespace attn::io
