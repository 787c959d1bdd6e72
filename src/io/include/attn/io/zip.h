// Zip archives, the container of .keras and .npz.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <initializer_list>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "attn/io/atomic_file.h"
#include "attn/io/bytes.h"

namespace attn::io {

struct ZipMember {
  std::string name;
  std::int64_t size = 0;    ///< size of the contents in bytes
  std::int64_t stored = 0;  ///< size in the archive in bytes
  std::int64_t offset = 0;  ///< offset in bytes of the stored contents in the archive
  std::uint32_t crc = 0;
  bool deflated = false;
};

/// An archive in memory. The constructor checks everything but the members' contents. It throws Error (bad_input) for
/// an archive that two programs could read in two ways, or that grows out of proportion. Examples are unsafe, repeated
/// or non-UTF-8 names; encryption, links and methods other than stored and deflated; overlaps, gaps and surrounding
/// data; a local header that differs from the directory's.
class ZipReader {
 public:
  static constexpr std::size_t kMaxMembers = 10'000;

  /// `name` is the file's name for messages.
  ZipReader(Bytes file, std::string_view name);

  /// Returns the members in the directory's order. Names of folders end in '/'.
  [[nodiscard]] const std::vector<ZipMember>& members() const noexcept { return members_; }
  /// Returns the member of exactly this name, or null.
  [[nodiscard]] const ZipMember* find(std::string_view name) const noexcept;
  /// Returns the contents, checked against their CRC: a view of the archive if they are stored, otherwise unpacked.
  /// `member` is one of members(). Throws Error (bad_input) if they are damaged or larger than `limit`.
  [[nodiscard]] Bytes read(const ZipMember& member, std::int64_t limit) const;

 private:
  struct Directory {
    std::int64_t offset = 0;
    std::int64_t size = 0;
    std::uint64_t count = 0;
  };
  [[nodiscard]] Directory find_directory() const;
  void read_directory(const Directory& directory);
  void check_local_headers(std::int64_t end);

  Bytes file_;
  std::string place_;
  std::vector<ZipMember> members_;
  std::vector<std::uint64_t> header_offsets_;  // offsets of the local headers
  std::vector<std::uint16_t> flags_;
};

/// Writes an archive of stored members. Equal contents give equal bytes: every date is 1980-01-01.
class ZipWriter {
 public:
  explicit ZipWriter(AtomicFile& file) : file_(file) {}

  /// Adds a member as the concatenation of parts. Throws Error (bad_input) for a name that ZipReader would reject.
  void add(const std::string& name, std::initializer_list<std::span<const std::byte>> parts);
  /// Adds a member that `write` appends to the file, of less than `most` bytes. The file must have a hidden one.
  void add(const std::string& name, std::int64_t most, const std::function<void()>& write);
  /// Writes the directory. Nothing may be added afterwards.
  void finish();

 private:
  AtomicFile& file_;
  std::vector<ZipMember> members_;
  std::vector<std::int64_t> header_offsets_;
};

}  // namespace attn::io
