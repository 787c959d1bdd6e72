#include <algorithm>
#include <cstdint>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "attn/base/error.h"
#include "attn/base/text.h"
#include "attn/io/zip.h"
#include "zip_format.h"

namespace attn::io {
namespace {

constexpr std::uint16_t kDate1980 = (1 << 5) | 1;  // year 0, month 1, day 1

/// Appends little-endian fields.
class Record {
 public:
  Record& u16(std::uint64_t value) { return number(value, 2); }
  Record& u32(std::uint64_t value) { return number(value, 4); }
  Record& u64(std::uint64_t value) { return number(value, 8); }
  Record& text(std::string_view value) {
    bytes_ += value;
    return *this;
  }
  [[nodiscard]] const std::string& str() const noexcept { return bytes_; }

 private:
  Record& number(std::uint64_t value, int size) {
    for (int i = 0; i < size; ++i) bytes_ += static_cast<char>((value >> (8 * i)) & 0xFF);
    return *this;
  }
  std::string bytes_;
};

std::uint64_t in_32_bits(std::int64_t value) {
  return std::min(static_cast<std::uint64_t>(value), std::uint64_t{kElsewhere32});
}

/// Throws Error (bad_input) if ZipReader would reject the name.
void check_name(const std::string& name, const AtomicFile& file) {
  if (const char* reason = why_not_name(name)) {
    throw bad_input("{}: cannot hold '{}': its name {}", printable(file.path()), printable(name), reason);
  }
  constexpr std::size_t kMostOfName = 0xFFFF;
  if (name.size() > kMostOfName) throw bad_input("{}: a name of {} bytes", printable(file.path()), name.size());
}

/// Returns the local header of a member. `wide`: sizes have 64 bits even if 32 bits would suffice.
std::string local_header(const ZipMember& member, bool wide) {
  Record extra;
  if (wide)
    extra.u16(kExtra64)
        .u16(16)
        .u64(static_cast<std::uint64_t>(member.size))
        .u64(static_cast<std::uint64_t>(member.size));
  const std::uint64_t size = wide ? kElsewhere32 : static_cast<std::uint64_t>(member.size);
  Record header;
  header.u32(kLocalHeader).u16(wide ? kVersion64 : 20).u16(kFlagUtf8).u16(kStored).u16(0).u16(kDate1980);
  header.u32(member.crc).u32(size).u32(size);
  header.u16(member.name.size()).u16(extra.str().size()).text(member.name).text(extra.str());
  return header.str();
}

/// Returns the CRC of the file's bytes from `at` on.
std::uint32_t crc_behind(const AtomicFile& file, std::int64_t at) {
  constexpr std::int64_t kBlock = std::int64_t{1} << 18;
  std::vector<std::byte> block(static_cast<std::size_t>(kBlock));
  std::uint32_t crc = 0;
  for (; at < file.size(); at += kBlock) {
    const auto part = std::span(block).first(static_cast<std::size_t>(std::min(kBlock, file.size() - at)));
    file.read_back(at, part);
    crc = crc_of(part, crc);
  }
  return crc;
}

}  // namespace

void ZipWriter::add(const std::string& name, std::initializer_list<std::span<const std::byte>> parts) {
  check_name(name, file_);
  ZipMember member;
  member.name = name;
  for (const auto part : parts) {
    member.crc = crc_of(part, member.crc);
    member.size += static_cast<std::int64_t>(part.size());
  }
  header_offsets_.push_back(file_.size());
  file_.write(local_header(member, member.size >= kElsewhere32));
  for (const auto part : parts) file_.write(part);
  members_.push_back(std::move(member));
}

/// The header is filled in after the contents, when their size and CRC are known.
void ZipWriter::add(const std::string& name, std::int64_t most, const std::function<void()>& write) {
  check_name(name, file_);
  ZipMember member;
  member.name = name;
  const bool wide = most >= kElsewhere32;
  const std::int64_t header = file_.size();
  file_.write(local_header(member, wide));
  const std::int64_t begin = file_.size();
  write();
  member.size = file_.size() - begin;
  if (member.size >= most) throw internal_error("{}: {} of {} bytes at most", printable(name), member.size, most);
  member.crc = crc_behind(file_, begin);
  const std::string known = local_header(member, wide);
  file_.rewrite(header, std::as_bytes(std::span(known)));
  header_offsets_.push_back(header);
  members_.push_back(std::move(member));
}

void ZipWriter::finish() {
  const std::int64_t start = file_.size();
  for (std::size_t i = 0; i < members_.size(); ++i) {
    const ZipMember& member = members_[i];
    const std::int64_t offset = header_offsets_[i];
    Record values;
    for (const std::int64_t value : {member.size, member.size, offset}) {
      if (value >= kElsewhere32) values.u64(static_cast<std::uint64_t>(value));
    }
    Record extra;
    if (!values.str().empty()) extra.u16(kExtra64).u16(values.str().size()).text(values.str());
    constexpr std::uint32_t kReadableByAll = 0100644u << 16;
    constexpr std::uint16_t kMadeByUnix = 3 << 8 | kVersion64;
    Record entry;
    entry.u32(kDirectoryEntry).u16(kMadeByUnix).u16(extra.str().empty() ? 20 : kVersion64).u16(kFlagUtf8).u16(kStored);
    entry.u16(0).u16(kDate1980).u32(member.crc).u32(in_32_bits(member.size)).u32(in_32_bits(member.size));
    entry.u16(member.name.size()).u16(extra.str().size()).u16(0).u16(0).u16(0).u32(kReadableByAll);
    entry.u32(in_32_bits(offset)).text(member.name).text(extra.str());
    file_.write(entry.str());
  }
  const std::int64_t end = file_.size();
  const std::size_t count = members_.size();
  if (count >= kElsewhere16 || end >= kElsewhere32) {
    Record record;
    record.u32(kDirectoryEnd64).u64(kDirectoryEnd64Size - 12).u16(kVersion64).u16(kVersion64).u32(0).u32(0);
    record.u64(count).u64(count).u64(static_cast<std::uint64_t>(end - start)).u64(static_cast<std::uint64_t>(start));
    record.u32(kLocator64).u32(0).u64(static_cast<std::uint64_t>(end)).u32(1);
    file_.write(record.str());
  }
  const std::size_t narrow_count = std::min<std::size_t>(count, kElsewhere16);
  Record record;
  record.u32(kDirectoryEnd).u16(0).u16(0).u16(narrow_count).u16(narrow_count).u32(in_32_bits(end - start));
  record.u32(in_32_bits(start)).u16(0);
  file_.write(record.str());
}

}  // namespace attn::io
