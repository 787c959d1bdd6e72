#include "zip.h"

#include <doctest/doctest.h>
#include <zlib.h>

namespace attn::test {
namespace {

std::uint32_t crc_of(std::string_view data) {
  return static_cast<std::uint32_t>(crc32_z(0, reinterpret_cast<const Bytef*>(data.data()), data.size()));
}

}  // namespace

std::string number(std::uint64_t value, int bytes) {
  std::string out;
  for (int i = 0; i < bytes; ++i) out += static_cast<char>(value >> (8 * i) & 0xFF);
  return out;
}

std::string deflated(std::string_view data) {
  z_stream stream{};
  constexpr int kNoWrapper = -MAX_WBITS;
  REQUIRE(deflateInit2(&stream, Z_BEST_COMPRESSION, Z_DEFLATED, kNoWrapper, 9, Z_DEFAULT_STRATEGY) == Z_OK);
  std::string out(deflateBound(&stream, data.size()), '\0');
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(data.data()));
  stream.avail_in = static_cast<uInt>(data.size());
  stream.next_out = reinterpret_cast<Bytef*>(out.data());
  stream.avail_out = static_cast<uInt>(out.size());
  REQUIRE(deflate(&stream, Z_FINISH) == Z_STREAM_END);
  out.resize(stream.total_out);
  out.shrink_to_fit();  // memory that this process holds at the fork counts for the child
  deflateEnd(&stream);
  return out;
}

std::string npy(std::string_view header, std::string_view elements) {
  return "\x93NUMPY" + std::string("\1\0", 2) + number(header.size(), 2) + std::string(header) + std::string(elements);
}

std::string make(const Archive& archive) {
  std::string out = archive.before, directory;
  for (const Member& member : archive.members) {
    const std::string body = member.method == 8 ? deflated(member.data) : member.data;
    const std::uint32_t crc = member.crc.value_or(crc_of(member.data));
    const auto size = member.size.value_or(static_cast<std::uint32_t>(member.data.size()));
    const auto stored = member.stored.value_or(static_cast<std::uint32_t>(body.size()));
    const auto offset = member.offset.value_or(static_cast<std::uint32_t>(out.size()));
    if (!member.stored_elsewhere) {
      const std::string name = member.local_name.value_or(member.name);
      out += "PK\3\4" + number(20, 2) + number(member.flags, 2) + number(member.method, 2) + number(0x210000, 4) +
             number(member.local_crc.value_or(crc), 4) + number(stored, 4) +
             number(member.local_size.value_or(size), 4) + number(name.size(), 2) +
             number(member.local_extra.size(), 2) + name + member.local_extra + body;
    }
    directory += "PK\1\2" + number(0x0314, 2) + number(20, 2) + number(member.flags, 2) + number(member.method, 2) +
                 number(0x210000, 4) + number(crc, 4) + number(stored, 4) + number(size, 4) +
                 number(member.name.size(), 2) + number(member.extra.size(), 2) + number(0, 2) + number(0, 2) +
                 number(0, 2) + number(member.attributes, 4) + number(offset, 4) + member.name + member.extra;
  }
  out += archive.gap;
  const std::uint64_t begin = out.size(), count = archive.members.size();
  out += directory;
  if (archive.zip64) {
    const std::uint64_t record = out.size();
    out += "PK\6\6" + number(44, 8) + number(45, 2) + number(45, 2) + number(0, 4) + number(0, 4) +
           number(archive.count64.value_or(count), 8) + number(archive.count64.value_or(count), 8) +
           number(directory.size(), 8) + number(archive.offset64.value_or(begin), 8);
    out += "PK\6\7" + number(0, 4) + number(record, 8) + number(1, 4);
  }
  out += "PK\5\6" + number(archive.disk.value_or(0), 2) + number(0, 2) +
         number(archive.count_here.value_or(archive.count.value_or(static_cast<std::uint16_t>(count))), 2) +
         number(archive.count.value_or(static_cast<std::uint16_t>(count)), 2) +
         number(archive.directory_size.value_or(static_cast<std::uint32_t>(directory.size())), 4) +
         number(archive.directory_offset.value_or(static_cast<std::uint32_t>(begin)), 4) +
         number(archive.comment_size.value_or(static_cast<std::uint16_t>(archive.comment.size())), 2) + archive.comment;
  return out + archive.after;
}

}  // namespace attn::test
