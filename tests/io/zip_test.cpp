#include "attn/io/zip.h"

#include <zlib.h>

#include <utility>

#include "attn/base/size.h"
#include "attn/io/npz.h"
#include "support.h"

namespace attn::io {
namespace {

std::string number(std::uint64_t value, int size) {
  std::string text;
  for (int i = 0; i < size; ++i) text += static_cast<char>((value >> (8 * i)) & 0xFF);
  return text;
}

std::string deflated(std::string_view text) {
  z_stream stream{};
  REQUIRE(deflateInit2(&stream, 9, Z_DEFLATED, -MAX_WBITS, 8, Z_DEFAULT_STRATEGY) == Z_OK);
  std::string packed(deflateBound(&stream, text.size()), '\0');
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(text.data()));
  stream.avail_in = static_cast<uInt>(text.size());
  stream.next_out = reinterpret_cast<Bytef*>(packed.data());
  stream.avail_out = static_cast<uInt>(packed.size());
  REQUIRE(deflate(&stream, Z_FINISH) == Z_STREAM_END);
  packed.resize(stream.total_out);
  deflateEnd(&stream);
  return packed;
}

/// One member with configurable fields; the defaults make a valid archive.
struct Part {
  std::string name = "a";
  std::string contents = "hello";
  std::uint16_t method = 0;
  std::uint16_t flags = 0;
  std::uint32_t attributes = 0;
  std::string directory_extra = {};
  std::string local_extra = {};
  std::int64_t size = -1;          // unpacked size; negative: the size of the contents
  std::int64_t local_size = -1;    // size in the local header; negative: `size`
  std::string local_name = {};     // name in the local header; empty: `name`
  std::int64_t offset = -1;        // offset of the local header in the directory; negative: the true one
  std::string_view unpacked = {};  // data for the checksum; empty: the contents
};

std::string archive_of(const std::vector<Part>& parts, const std::string& before = "", const std::string& between = "",
                       const std::string& comment = "") {
  std::string text = before;
  std::string directory;
  for (const Part& part : parts) {
    const auto size =
        static_cast<std::uint64_t>(part.size >= 0 ? part.size : static_cast<std::int64_t>(part.contents.size()));
    const std::string_view whole = part.unpacked.empty() ? std::string_view(part.contents) : part.unpacked;
    const auto crc = crc32_z(0, reinterpret_cast<const Bytef*>(whole.data()), whole.size());
    const std::uint64_t offset = part.offset >= 0 ? static_cast<std::uint64_t>(part.offset) : text.size();
    const std::string shared = number(20, 2) + number(part.flags, 2) + number(part.method, 2) + number(0, 4);
    const std::string& local_name = part.local_name.empty() ? part.name : part.local_name;
    text += "PK\3\4" + shared + number(crc, 4) + number(part.contents.size(), 4) +
            number(part.local_size >= 0 ? static_cast<std::uint64_t>(part.local_size) : size, 4) +
            number(local_name.size(), 2) + number(part.local_extra.size(), 2) + local_name + part.local_extra +
            part.contents;
    directory += "PK\1\2" + number(3 << 8 | 20, 2) + shared + number(crc, 4) + number(part.contents.size(), 4) +
                 number(size, 4) + number(part.name.size(), 2) + number(part.directory_extra.size(), 2) + number(0, 6) +
                 number(part.attributes, 4) + number(offset, 4) + part.name + part.directory_extra;
  }
  text += between;
  return text + directory + "PK\5\6" + number(0, 4) + number(parts.size(), 2) + number(parts.size(), 2) +
         number(directory.size(), 4) + number(text.size(), 4) + number(comment.size(), 2) + comment;
}

std::string refusal_of(const std::string& archive) {
  return refusal([&] {
    const ZipReader reader(bytes_of_text(archive), "x.zip");
    for (const ZipMember& member : reader.members()) static_cast<void>(reader.read(member, kMaxSize));
  });
}

bool refused_for(const std::string& archive, std::string_view reason) {
  const std::string message = refusal_of(archive);
  CAPTURE(message);
  return message.starts_with("x.zip: ") && message.find(reason) != std::string::npos;
}

Part packed_part(const std::string& contents) {
  Part part{.name = "a", .contents = deflated(contents), .method = 8};
  part.size = static_cast<std::int64_t>(contents.size());
  return part;
}

TEST_CASE("zip: stored members are views, and deflated ones are unpacked") {
  const std::string text = "hello hello hello hello";
  Part packed = packed_part(text);
  packed.name = "folder/b";
  packed.unpacked = text;
  const Bytes file = bytes_of_text(archive_of({Part{}, packed, Part{.name = "folder/", .contents = ""}}));
  const ZipReader reader(file, "x.zip");
  REQUIRE(reader.members().size() == 3);
  const Bytes stored = reader.read(*reader.find("a"), kMaxSize);
  CHECK(stored.text() == "hello");
  CHECK(stored.data().get() == file.data().get() + 31);
  CHECK(reader.read(*reader.find("folder/b"), kMaxSize).text() == text);
  CHECK(reader.find("b") == nullptr);
  CHECK(reader.find("A") == nullptr);
  CHECK(refusal([&] { static_cast<void>(reader.read(*reader.find("a"), 4)); }).find("at most 4") != std::string::npos);
}

TEST_CASE("zip: an empty archive and one with a comment are read") {
  CHECK(ZipReader(bytes_of_text(archive_of({})), "").members().empty());
  CHECK(ZipReader(bytes_of_text(archive_of({Part{}}, "", "", "a comment")), "").members().size() == 1);
}

TEST_CASE("zip: bytes before, between and after members are rejected") {
  CHECK(refused_for(archive_of({Part{}}, "x"), "overlap or leave a gap"));
  CHECK(refused_for(archive_of({Part{}}, "", "x"), "1 bytes before its directory"));
  CHECK(refused_for(archive_of({Part{}}) + "x", "bytes after"));
  CHECK(refused_for(archive_of({}, "x"), "1 bytes before its directory"));
}

TEST_CASE("zip: members that overlap, repeat or contradict the directory are rejected") {
  CHECK(refused_for(archive_of({Part{}, Part{}}), "occurs twice"));
  CHECK(refused_for(archive_of({Part{}, Part{.name = "b", .offset = 0}}), "overlap"));
  CHECK(refused_for(archive_of({Part{.local_name = "b"}}), "disagree"));
  CHECK(refused_for(archive_of({Part{.local_size = 6}}), "disagree"));
  CHECK(refused_for(archive_of({Part{.offset = 1 << 30}}), "overlap or leave a gap"));
}

TEST_CASE("zip: names that leave the folder or cannot be printed are rejected") {
  CHECK(refused_for(archive_of({Part{.name = ""}}), "is empty"));
  CHECK(refused_for(archive_of({Part{.name = "/etc/passwd"}}), "absolute"));
  CHECK(refused_for(archive_of({Part{.name = "a/../../b"}}), "leaves"));
  CHECK(refused_for(archive_of({Part{.name = ".."}}), "leaves"));
  CHECK(refused_for(archive_of({Part{.name = "a\\b"}}), "backslash"));
  CHECK(refused_for(archive_of({Part{.name = std::string("a\0b", 3)}}), "null"));
  CHECK(refused_for(archive_of({Part{.name = "\xff", .flags = 1 << 11}}), "not UTF-8"));
  CHECK(refused_for(archive_of({Part{.name = "\u00e9"}}), "not marked as UTF-8"));
  CHECK(is_accepted([] { ZipReader(bytes_of_text(archive_of({Part{.name = "\u00e9", .flags = 1 << 11}})), ""); }));
  CHECK(is_accepted([] { ZipReader(bytes_of_text(archive_of({Part{.name = "..a/b:0"}})), ""); }));
}

TEST_CASE("zip: encryption, links, other methods and unknown features are rejected") {
  CHECK(refused_for(archive_of({Part{.flags = 1}}), "encrypted"));
  CHECK(refused_for(archive_of({Part{.flags = 1 << 5}}), "not supported"));
  CHECK(refused_for(archive_of({Part{.method = 12}}), "method 12"));
  CHECK(refused_for(archive_of({Part{.attributes = 0120777u << 16}}), "a link or device"));
  CHECK(refused_for(archive_of({Part{.name = "a/"}}), "a folder with contents"));
  CHECK(refused_for(archive_of({Part{.directory_extra = number(1, 2) + number(8, 2) + number(5, 8)}}), "wrong size"));
  CHECK(refused_for(archive_of({Part{.directory_extra = number(1, 2) + number(8, 2)}}), "8 more bytes"));
}

TEST_CASE("zip: damaged contents are detected by checksum, size and end") {
  CHECK(refused_for(archive_of({Part{.unpacked = "other"}}), "checksum"));
  const std::string text(1000, 'x');
  Part part = packed_part(text);
  part.unpacked = text;
  CHECK(is_accepted([&] { ZipReader(bytes_of_text(archive_of({part})), ""); }));
  Part shorter = part;
  shorter.size = 999;
  CHECK(refused_for(archive_of({shorter}), "damaged"));
  Part longer = part;
  longer.size = 1001;
  CHECK(refused_for(archive_of({longer}), "damaged"));
  Part more = part;
  more.contents += "x";
  CHECK(refused_for(archive_of({more}), "damaged"));
  Part noise = part;
  noise.contents = std::string(20, '\xff');
  CHECK(refused_for(archive_of({noise}), "damaged"));
}

TEST_CASE("zip: data with an excessive compression ratio is rejected before it is unpacked") {
  Part bomb = packed_part(std::string(20 << 20, '\0'));
  CHECK(refused_for(archive_of({bomb}), "bomb"));
  // A false size of a small member allocates no memory either.
  Part liar = packed_part("x");
  liar.size = 16 << 20;
  CHECK(refused_for(archive_of({liar}), "its size is wrong"));
  std::vector<Part> many;
  for (int i = 0; i < 100; ++i) {
    many.push_back(packed_part(std::string(1 << 20, '\0')));
    many.back().name = std::to_string(i);
  }
  CHECK(refused_for(archive_of(many), "bomb"));
}

TEST_CASE("zip: an excessive number of members is rejected") {
  std::vector<Part> many;
  for (std::size_t i = 0; i <= ZipReader::kMaxMembers; ++i) many.push_back({.name = std::to_string(i), .contents = ""});
  CHECK(refused_for(archive_of(many), "at most 10000"));
  many.pop_back();
  CHECK(is_accepted([&] { ZipReader(bytes_of_text(archive_of(many)), ""); }));
}

TEST_CASE("zip: 64-bit sizes are read if needed, and must agree") {
  const std::string text = "hello";
  const std::string extra = number(1, 2) + number(16, 2) + number(5, 8) + number(5, 8);
  const std::string local = "PK\3\4" + number(45, 2) + number(0, 2) + number(0, 2) + number(0, 4) +
                            number(crc32_z(0, reinterpret_cast<const Bytef*>("hello"), 5), 4) + std::string(8, '\xff') +
                            number(1, 2) + number(extra.size(), 2) + "a" + extra + text;
  const std::string wide_offset = number(1, 2) + number(8, 2) + number(0, 8);
  const std::string directory = "PK\1\2" + number(45, 2) + number(45, 2) + number(0, 2) + number(0, 2) + number(0, 4) +
                                number(crc32_z(0, reinterpret_cast<const Bytef*>("hello"), 5), 4) + number(5, 4) +
                                number(5, 4) + number(1, 2) + number(wide_offset.size(), 2) + number(0, 6) +
                                number(0, 4) + std::string(4, '\xff') + "a" + wide_offset;
  const auto ended = [&](std::uint64_t count, std::uint64_t size, std::uint64_t offset, std::uint64_t narrow_count) {
    return local + directory + "PK\6\6" + number(44, 8) + number(45, 2) + number(45, 2) + number(0, 8) +
           number(count, 8) + number(count, 8) + number(size, 8) + number(offset, 8) + "PK\6\7" + number(0, 4) +
           number(local.size() + directory.size(), 8) + number(1, 4) + "PK\5\6" + number(0, 4) +
           number(narrow_count, 2) + number(narrow_count, 2) + std::string(8, '\xff') + number(0, 2);
  };
  const Bytes file = bytes_of_text(ended(1, directory.size(), local.size(), 0xFFFF));
  const ZipReader reader(file, "x.zip");
  CHECK(reader.read(*reader.find("a"), kMaxSize).text() == text);
  CHECK(is_accepted([&] { ZipReader(bytes_of_text(ended(1, directory.size(), local.size(), 1)), ""); }));
  CHECK(refused_for(ended(1, directory.size(), local.size(), 2), "disagree"));
  CHECK(refused_for(ended(std::uint64_t{1} << 63, directory.size(), local.size(), 0xFFFF), "at most 10000"));
  CHECK(refused_for(ended(1, std::uint64_t(-1), local.size(), 0xFFFF), "a directory size"));
  CHECK(refused_for(ended(1, directory.size(), local.size() + 1, 0xFFFF), "does not end where it should"));
}

TEST_CASE("zip: written archives read back, and equal contents give equal bytes") {
  const TemporaryFolder folder;
  for (const char* name : {"a.zip", "b.zip"}) {
    AtomicFile file(folder / name);
    ZipWriter writer(file);
    const std::string half = "hello";
    const auto bytes = std::as_bytes(std::span(half));
    writer.add("\u00e9/one", {bytes, bytes});
    writer.add("two", {});
    CHECK(refusal([&] { writer.add("../three", {bytes}); }).find("leaves") != std::string::npos);
    writer.finish();
    file.commit();
  }
  const Bytes file = read_file(folder / "a.zip");
  CHECK(file.text() == read_file(folder / "b.zip").text());
  const ZipReader reader(file, "a.zip");
  CHECK(reader.read(*reader.find("\u00e9/one"), kMaxSize).text() == "hellohello");
  CHECK(reader.read(*reader.find("two"), kMaxSize).text().empty());
}

TEST_CASE("zip: a member written without a known size equals one with it, in 64 bits if it may be large") {
  const TemporaryFolder folder;
  const std::string text = "hello";
  const auto written = [&](const std::string& name, std::int64_t most) {
    AtomicFile file(folder / name);
    ZipWriter writer(file);
    if (most == 0) {
      writer.add("one", {std::as_bytes(std::span(text))});
    } else {
      writer.add("one", most, [&] { file.write(text); });
    }
    writer.add("two", {std::as_bytes(std::span(text))});
    writer.finish();
    file.commit();
    return read_file(folder / name);
  };
  CHECK(written("late.zip", 100).text() == written("given.zip", 0).text());
  const Bytes wide = written("wide.zip", std::int64_t{1} << 33);
  const ZipReader reader(wide, "wide.zip");
  CHECK(reader.read(*reader.find("one"), kMaxSize).text() == text);
  CHECK(reader.read(*reader.find("two"), kMaxSize).text() == text);
}

TEST_CASE("zip: an archive with more than 65535 members stores their number in 64 bits") {
  const TemporaryFolder folder;
  AtomicFile file(folder / "a.zip");
  ZipWriter writer(file);
  for (int i = 0; i < 70'000; ++i) writer.add(std::to_string(i), {});
  writer.finish();
  file.commit();
  CHECK(refusal([&] { ZipReader(read_file(folder / "a.zip"), "a.zip"); }) ==
        "a.zip: a zip archive of 70000 members; at most 10000 are accepted");
}

TEST_CASE("npz: NumPy's stored, deflated and streamed files are read") {
  for (const char* name : {"stored.npz", "deflated.npz"}) {
    const std::vector<NamedTensor> tensors = parse_npz(data_file(name), name);
    CHECK(tensors.size() == 12);
    for (const DType dtype : kAllTypes) {
      if (dtype != DType::bfloat16) check_counts(named(tensors, name_of(dtype)), dtype, {2, 3});
    }
  }
  const std::vector<NamedTensor> streamed = parse_npz(data_file("streamed.npz"), "streamed.npz");
  check_counts(named(streamed, "a"), DType::float32, {2, 3});
  check_counts(named(streamed, "b"), DType::float32, {2, 3});
}

TEST_CASE("npz: members that are not arrays are rejected by name") {
  const auto parse = [](const std::string& archive) {
    return refusal([&] { return parse_npz(bytes_of_text(archive), "x.npz"); });
  };
  CHECK(parse(archive_of({Part{}})) == "x.npz: a: not an array; a .npz archive holds .npy members only");
  CHECK(parse(archive_of({Part{.name = "a.npy"}})).starts_with("x.npz: a.npy: "));
}

TEST_CASE("npz: written arrays read back equal and in order") {
  const TemporaryFolder folder;
  std::vector<NamedTensor> tensors;
  for (const DType dtype : kAllTypes) {
    tensors.push_back({"layers/" + std::string(name_of(dtype)) + ":0", counting(dtype, {2, 3})});
  }
  AtomicFile file(folder / "a.npz");
  write_npz(file, tensors);
  file.commit();
  const std::vector<NamedTensor> again = parse_npz(read_file(folder / "a.npz"), "a.npz");
  REQUIRE(again.size() == tensors.size());
  for (std::size_t i = 0; i < tensors.size(); ++i) {
    const DType dtype = tensors[i].tensor.dtype();
    CHECK(again[i].name == tensors[i].name);
    check_counts(again[i].tensor, dtype == DType::bfloat16 ? DType::float32 : dtype, {2, 3});
  }
}

TEST_CASE("npz: duplicate and invalid names are rejected on writing") {
  const TemporaryFolder folder;
  AtomicFile file(folder / "a.npz");
  const Tensor tensor = counting(DType::float32, {1});
  CHECK(refusal([&] {
          write_npz(file, std::vector<NamedTensor>{{"a", tensor}, {"a", tensor}});
        }).find("two arrays") != std::string::npos);
  CHECK(refusal([&] {
          write_npz(file, std::vector<NamedTensor>{{"../a", tensor}});
        }).find("leaves") != std::string::npos);
}

TEST_CASE("npz: every prefix is rejected, and a flipped bit is rejected unless it has no effect") {
  const auto parse = [](const Bytes& file) { return parse_npz(file, "x"); };
  for (const char* name : {"streamed.npz", "deflated.npz"}) {
    CAPTURE(name);
    const Bytes file = data_file(name);
    check_prefixes_are_refused(file.text(), parse);
    const std::vector<NamedTensor> before = parse_npz(file, "x");
    // Dates, versions, attributes and the like are not read: under a fifth of these headers. The arrays never change.
    const int accepted = count_accepted_flips(file.text(), file.text().size(), [&](const Bytes& flipped) {
      const std::vector<NamedTensor> after = parse_npz(flipped, "x");
      for (std::size_t i = 0; i < after.size(); ++i) {
        CHECK(after[i].tensor.shape() == before[i].tensor.shape());
        for (std::int64_t j = 0; j < after[i].tensor.size(); ++j) {
          CHECK(after[i].tensor.at(j) == before[i].tensor.at(j));
        }
      }
    });
    CHECK(accepted < static_cast<int>(file.text().size() * 8 / 5));
  }
}

}  // namespace
}  // namespace attn::io
