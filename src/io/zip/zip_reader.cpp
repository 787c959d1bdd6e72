#include <zlib.h>

#include <algorithm>
#include <limits>
#include <memory>
#include <numeric>
#include <optional>
#include <utility>

#include "attn/base/error.h"
#include "attn/base/size.h"
#include "attn/base/tensor.h"
#include "attn/base/text.h"
#include "attn/io/zip.h"
#include "bomb.h"
#include "byte_reader.h"
#include "zip_format.h"

namespace attn::io {
namespace {

constexpr std::uint32_t kDataDescriptor = 0x08074b50;
constexpr std::int64_t kDirectoryEndSize = 22;
constexpr std::int64_t kLocator64Size = 20;

constexpr std::uint16_t kFlagDescriptor = 1 << 3;
constexpr std::uint16_t kFlagsDeflate = 0b110;  // compression level hints
constexpr std::uint16_t kKnownFlags = kFlagDescriptor | kFlagUtf8 | kFlagsDeflate;

constexpr std::uint16_t kDeflated = 8;
constexpr std::uint16_t kMostVersion = 63;

struct Sizes {
  std::uint64_t size = 0;
  std::uint64_t stored = 0;
  std::uint64_t offset = 0;
};

/// Reads the 32-bit fields that are at their maximum from the zip64 extra field (APPNOTE 4.5.3), which holds only
/// those, in this order. `offset` is absent in a local header.
bool complete_from_extra(std::string_view extra, std::string_view place, std::initializer_list<std::uint64_t*> fields) {
  ByteReader reader(std::as_bytes(std::span(extra)), std::string(place));
  bool found = false;
  while (reader.remaining() > 0) {
    const std::uint16_t kind = reader.u16();
    const std::uint16_t size = reader.u16();
    const std::string_view body = reader.text(size);
    if (kind != kExtra64) continue;
    if (found) throw bad_input("{}: two zip64 fields for one member", place);
    found = true;
    ByteReader values(std::as_bytes(std::span(body)), std::string(place));
    for (std::uint64_t* field : fields) {
      if (*field == kElsewhere32) *field = values.u64();
    }
    if (values.remaining() != 0) throw bad_input("{}: a zip64 field of the wrong size", place);
  }
  return found;
}

/// Checks a size from the archive and returns it as a signed number; `limit` is the archive's end or kMaxSize.
std::int64_t believable(std::uint64_t value, std::int64_t limit, std::string_view what, const std::string& place) {
  if (value > static_cast<std::uint64_t>(limit)) {
    throw bad_input("{}: {} of {}, where at most {} is possible", place, what, value, limit);
  }
  return static_cast<std::int64_t>(value);
}

}  // namespace

ZipReader::ZipReader(Bytes file, std::string_view name) : file_(std::move(file)), place_(printable(name)) {
  const Directory directory = find_directory();
  read_directory(directory);
  check_local_headers(directory.offset);
}

const ZipMember* ZipReader::find(std::string_view name) const noexcept {
  const auto found =
      std::find_if(members_.begin(), members_.end(), [&](const ZipMember& member) { return member.name == name; });
  return found == members_.end() ? nullptr : &*found;
}

ZipReader::Directory ZipReader::find_directory() const {
  const std::int64_t size = file_.size();
  if (size < kDirectoryEndSize) throw bad_input("{}: not a zip archive", place_);
  // The end record has a comment of up to 64 KiB: the last signature whose comment ends at the end of the file counts.
  const std::int64_t earliest = std::max<std::int64_t>(0, size - kDirectoryEndSize - 0xFFFF);
  static constexpr std::string_view kSignature("PK\5\6", 4);
  const std::string_view tail = file_.text().substr(static_cast<std::size_t>(earliest));
  const std::size_t in_tail = tail.rfind(kSignature, static_cast<std::size_t>(size - kDirectoryEndSize - earliest));
  if (in_tail == std::string_view::npos) {
    throw bad_input("{}: not a zip archive, or cut short: it has no directory at its end", place_);
  }

  const std::int64_t at = earliest + static_cast<std::int64_t>(in_tail);
  ByteReader reader(file_.span(), place_);
  reader.seek(at + 4);
  const std::uint16_t disk = reader.u16();
  const std::uint16_t first_disk = reader.u16();
  const std::uint16_t count_here = reader.u16();
  const std::uint16_t count = reader.u16();
  const std::uint32_t directory_size = reader.u32();
  const std::uint32_t offset = reader.u32();
  const std::uint16_t comment = reader.u16();
  if (reader.remaining() != comment) throw bad_input("{}: bytes after the zip archive's end", place_);
  if (disk != 0 || first_disk != 0 || count_here != count) {
    throw bad_input("{}: a zip archive in several parts", place_);
  }
  std::int64_t end = at;
  std::uint64_t count64 = count;
  std::uint64_t size64 = directory_size;
  std::uint64_t offset64 = offset;

  const std::int64_t locator = end - kLocator64Size;
  const bool has_locator = locator >= 0 && file_.text().substr(static_cast<std::size_t>(locator)).starts_with("PK\6\7");
  if (has_locator) {
    reader.seek(locator + 4);
    const std::uint32_t locator_disk = reader.u32();
    const std::int64_t record = believable(reader.u64(), locator, "an offset of the zip64 directory end", place_);
    const std::uint32_t disks = reader.u32();
    if (locator_disk != 0 || disks > 1) throw bad_input("{}: a zip archive in several parts", place_);
    reader.seek(record);
    if (reader.u32() != kDirectoryEnd64) throw bad_input("{}: its zip64 locator points outside the file", place_);
    const std::uint64_t record_size = reader.u64();
    if (record + kDirectoryEnd64Size != locator || record_size != kDirectoryEnd64Size - 12) {
      throw bad_input("{}: a zip64 directory end of the wrong size", place_);
    }
    reader.take(4);  // versions
    const bool one_part = reader.u32() == 0 && reader.u32() == 0;
    const std::uint64_t here = reader.u64();
    const auto agrees = [](std::uint64_t narrow, std::uint64_t most, std::uint64_t wide) {
      return narrow == most || narrow == wide;
    };
    const std::uint64_t wide_count = reader.u64();
    const std::uint64_t wide_size = reader.u64();
    const std::uint64_t wide_offset = reader.u64();
    if (!one_part || here != wide_count) throw bad_input("{}: a zip archive in several parts", place_);
    if (!agrees(count64, kElsewhere16, wide_count) || !agrees(size64, kElsewhere32, wide_size) ||
        !agrees(offset64, kElsewhere32, wide_offset)) {
      throw bad_input("{}: its two directory ends disagree", place_);
    }
    count64 = wide_count;
    size64 = wide_size;
    offset64 = wide_offset;
    end = record;
  }

  if (count64 > kMaxMembers) {
    throw bad_input("{}: a zip archive of {} members; at most {} are accepted", place_, count64, kMaxMembers);
  }
  Directory directory;
  directory.count = count64;
  directory.size = believable(size64, end, "a directory size", place_);
  directory.offset = believable(offset64, end, "a directory offset", place_);
  if (directory.offset + directory.size != end) {
    throw bad_input("{}: its directory does not end where it should; is there data before or after the zip archive?",
                    place_);
  }
  return directory;
}

void ZipReader::read_directory(const Directory& directory) {
  ByteReader reader(file_.slice(0, directory.offset + directory.size).span(), place_);
  reader.seek(directory.offset);
  std::int64_t total = 0;
  for (std::uint64_t i = 0; i < directory.count; ++i) {
    if (reader.u32() != kDirectoryEntry) throw bad_input("{}: entry {} of its directory is damaged", place_, i);
    const std::uint16_t made_by = reader.u16();
    const std::uint16_t needed = reader.u16();
    const std::uint16_t flags = reader.u16();
    const std::uint16_t method = reader.u16();
    reader.take(4);  // time and date
    ZipMember member;
    member.crc = reader.u32();
    Sizes sizes;
    sizes.stored = reader.u32();
    sizes.size = reader.u32();
    const std::uint16_t name_size = reader.u16();
    const std::uint16_t extra_size = reader.u16();
    const std::uint16_t comment_size = reader.u16();
    const std::uint16_t disk = reader.u16();
    reader.take(2);  // internal attributes
    const std::uint32_t attributes = reader.u32();
    sizes.offset = reader.u32();
    member.name = reader.text(name_size);
    const std::string place = fmt::format("{}: {}", place_, printable(member.name));
    complete_from_extra(reader.text(extra_size), place, {&sizes.size, &sizes.stored, &sizes.offset});
    reader.take(comment_size);

    if (const char* reason = why_not_name(member.name)) throw bad_input("{}: a member's name {}", place, reason);
    const bool ascii = std::all_of(member.name.begin(), member.name.end(), [](char c) { return c > 0; });
    if (!ascii && (flags & kFlagUtf8) == 0) throw bad_input("{}: a member's name is not marked as UTF-8", place);
    if ((flags & 1) != 0) throw bad_input("{}: is encrypted", place);
    if ((flags & ~kKnownFlags) != 0 || needed > kMostVersion || disk != 0) {
      throw bad_input("{}: needs a zip feature that is not supported (flags {:#x}, version {})", place, flags, needed);
    }
    if (method != kStored && method != kDeflated) {
      throw bad_input("{}: packed with method {}; only stored and deflated members can be read", place, method);
    }
    constexpr std::uint32_t kFileType = 0170000;
    constexpr std::uint32_t kRegular = 0100000;
    constexpr std::uint32_t kFolder = 0040000;
    constexpr int kUnix = 3;
    const std::uint32_t type = (attributes >> 16) & kFileType;
    if (made_by >> 8 == kUnix && type != 0 && type != kRegular && type != kFolder) {
      throw bad_input("{}: a link or device, not a file", place);
    }
    member.deflated = method == kDeflated;
    member.size = believable(sizes.size, kMaxSize, "a size", place);
    member.stored = believable(sizes.stored, directory.offset, "a stored size", place);
    if (!member.deflated && member.size != member.stored) throw bad_input("{}: stored in another size", place);
    if (member.name.ends_with('/') && member.size != 0) throw bad_input("{}: a folder with contents", place);
    if (is_bomb(member.size, member.stored)) {
      throw bad_input("{}: {} bytes would become {}; refused as a bomb", place, member.stored, member.size);
    }
    const auto sum = checked_add(total, member.size);
    if (!sum) throw bad_input("{}: larger than any memory when unpacked", place_);
    total = *sum;
    members_.push_back(std::move(member));
    header_offsets_.push_back(sizes.offset);
    flags_.push_back(flags);
  }
  if (reader.remaining() != 0)
    throw bad_input("{}: its directory holds more than its {} entries", place_, directory.count);
  if (is_bomb(total, file_.size())) {
    throw bad_input("{}: {} bytes would become {}; refused as a bomb", place_, file_.size(), total);
  }
  std::vector<std::string_view> names;
  for (const ZipMember& member : members_) names.push_back(member.name);
  std::sort(names.begin(), names.end());
  const auto twice = std::adjacent_find(names.begin(), names.end());
  if (twice != names.end()) throw bad_input("{}: the member {} occurs twice", place_, printable(*twice));
}

/// The local headers, their contents and the directory must be contiguous.
void ZipReader::check_local_headers(std::int64_t end) {
  std::vector<std::size_t> order(members_.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::sort(order.begin(), order.end(),
            [&](std::size_t a, std::size_t b) { return header_offsets_[a] < header_offsets_[b]; });
  ByteReader reader(file_.slice(0, end).span(), place_);
  for (const std::size_t i : order) {
    ZipMember& member = members_[i];
    const std::string place = fmt::format("{}: {}", place_, printable(member.name));
    if (header_offsets_[i] != static_cast<std::uint64_t>(reader.offset())) {
      throw bad_input("{}: begins at byte {}, where byte {} was expected: members overlap or leave a gap", place,
                      header_offsets_[i], reader.offset());
    }
    if (reader.u32() != kLocalHeader) throw bad_input("{}: its header is damaged", place);
    reader.take(2);  // version needed
    const std::uint16_t flags = reader.u16();
    const std::uint16_t method = reader.u16();
    reader.take(4);  // time and date
    const std::uint32_t crc = reader.u32();
    Sizes sizes;
    sizes.stored = reader.u32();
    sizes.size = reader.u32();
    const std::uint16_t name_size = reader.u16();
    const std::uint16_t extra_size = reader.u16();
    const std::string_view name = reader.text(name_size);
    const bool wide = complete_from_extra(reader.text(extra_size), place, {&sizes.size, &sizes.stored});

    const bool later = (flags & kFlagDescriptor) != 0;  // the sizes follow the contents
    const auto same = [later](std::uint64_t local, std::uint64_t central) {
      return local == central || (later && local == 0);
    };
    const bool agrees = flags == flags_[i] && method == (member.deflated ? kDeflated : kStored) &&
                        name == member.name && same(crc, member.crc) &&
                        same(sizes.size, static_cast<std::uint64_t>(member.size)) &&
                        same(sizes.stored, static_cast<std::uint64_t>(member.stored));
    if (!agrees) throw bad_input("{}: its header and the directory disagree", place);

    member.offset = reader.offset();
    reader.take(member.stored);
    if (!later) continue;
    // APPNOTE 4.3.9: the signature is optional.
    std::uint32_t first = reader.u32();
    if (first == kDataDescriptor) first = reader.u32();
    const std::uint64_t stored = wide ? reader.u64() : reader.u32();
    const std::uint64_t size = wide ? reader.u64() : reader.u32();
    if (first != member.crc || stored != static_cast<std::uint64_t>(member.stored) ||
        size != static_cast<std::uint64_t>(member.size)) {
      throw bad_input("{}: what follows its contents and the directory disagree", place);
    }
  }
  if (reader.remaining() != 0) throw bad_input("{}: {} bytes before its directory", place_, reader.remaining());
}

Bytes ZipReader::read(const ZipMember& member, std::int64_t limit) const {
  const std::string place = fmt::format("{}: {}", place_, printable(member.name));
  if (member.size > limit) throw bad_input("{}: {} bytes; at most {} are accepted here", place, member.size, limit);
  const Bytes stored = file_.slice(member.offset, member.stored);
  Bytes contents = stored;
  if (member.deflated) {
    // Deflate's maximum ratio: a larger claim is rejected without allocating memory.
    constexpr std::int64_t kMostGrowth = 1033;
    if (member.size / kMostGrowth > member.stored) throw bad_input("{}: its size is wrong", place);
    contents = Bytes(allocate_bytes(member.size), member.size);
    z_stream stream{};
    constexpr int kNoWrapper = -MAX_WBITS;
    if (inflateInit2(&stream, kNoWrapper) != Z_OK) throw Error(ExitCode::no_memory, place + ": no memory to unpack");
    const std::unique_ptr<z_stream, decltype(&inflateEnd)> guard(&stream, &inflateEnd);
    constexpr std::int64_t kMost = std::int64_t{1} << 30;  // zlib counts in 32 bits
    const std::byte* in = stored.data().get();
    std::byte* out = contents.data().get();
    std::int64_t in_left = stored.size();
    std::int64_t out_left = contents.size();
    int state = Z_OK;
    while (state == Z_OK) {
      const std::int64_t in_now = std::min(in_left, kMost);
      const std::int64_t out_now = std::min(out_left, kMost);
      stream.next_in = reinterpret_cast<Bytef*>(const_cast<std::byte*>(in));
      stream.avail_in = static_cast<uInt>(in_now);
      stream.next_out = reinterpret_cast<Bytef*>(out);
      stream.avail_out = static_cast<uInt>(out_now);
      state = inflate(&stream, Z_NO_FLUSH);
      in += in_now - stream.avail_in;
      in_left -= in_now - stream.avail_in;
      out += out_now - stream.avail_out;
      out_left -= out_now - stream.avail_out;
    }
    if (state != Z_STREAM_END || in_left != 0 || out_left != 0) throw bad_input("{}: its contents are damaged", place);
  }
  if (crc_of(contents.span()) != member.crc) {
    throw bad_input("{}: its contents are damaged: the checksum differs", place);
  }
  return contents;
}

}  // namespace attn::io
