// Archives that are ambiguous, refer to files outside, or grow.
#include "zip.h"

#include <doctest/doctest.h>

#include <filesystem>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "attempt.h"

namespace attn::test {
namespace {

using namespace std::string_literals;

const std::string kHeader = "{'descr': '<f4', 'fortran_order': False, 'shape': (2,), }\n";
const std::string kArray = npy(kHeader, "01234567");

Member member(const std::string& name = "a.npy") {
  Member made;
  made.name = name;
  made.data = kArray;
  return made;
}

/// A valid archive with two arrays, after `change`.
Archive changed(const std::function<void(Archive&)>& change) {
  Archive archive;
  archive.members = {member("a.npy"), member("b.npy")};
  change(archive);
  return archive;
}

Archive with_member(const std::function<void(Member&)>& change) {
  return changed([&](Archive& archive) { change(archive.members[1]); });
}

constexpr std::uint32_t kLink = 0120777u << 16;
constexpr std::uint32_t kPipe = 0010644u << 16;
constexpr std::uint32_t kDevice = 0020644u << 16;

}  // namespace

TEST_CASE("zip: a valid archive is read, so the other files are rejected only for their fault") {
  const Folder folder;
  CHECK(attempt({"weights", folder.file("good.npz", make(changed([](Archive&) {})))}).code == 0);
  CHECK(attempt({"weights", folder.file("zip64.npz", make(changed([](Archive& archive) { archive.zip64 = true; })))})
            .code == 0);
  CHECK(
      attempt({"weights", folder.file("deflated.npz", make(with_member([](Member& one) { one.method = 8; })))}).code ==
      0);
}

TEST_CASE("zip: archives that are damaged, ambiguous or leave their folder are rejected by name") {
  const std::string data(4096, '\0');
  const std::vector<std::pair<std::string, Archive>> cases = {
      {"twice", changed([](Archive& a) { a.members[1].name = "a.npy"; })},
      {"absolute", with_member([](Member& m) { m.name = "/etc/passwd"; })},
      {"up", with_member([](Member& m) { m.name = "../b.npy"; })},
      {"up in the middle", with_member([](Member& m) { m.name = "a/../../b.npy"; })},
      {"up at the end", with_member([](Member& m) { m.name = "a/.."; })},
      {"backslash", with_member([](Member& m) { m.name = "..\\b.npy"; })},
      {"drive", with_member([](Member& m) { m.name = "C:\\b.npy"; })},
      {"null", with_member([](Member& m) { m.name = "b.npy\0.txt"s; })},
      {"no name", with_member([](Member& m) { m.name = ""; })},
      {"no UTF-8", with_member([](Member& m) {
         m.name = "\xff.npy";
         m.flags = 1 << 11;
       })},
      {"UTF-8 not marked", with_member([](Member& m) { m.name = "\xc3\xa9.npy"; })},
      {"no array", with_member([](Member& m) { m.name = "b.txt"; })},
      {"folder with contents", with_member([](Member& m) { m.name = "b/"; })},
      {"link", with_member([](Member& m) { m.attributes = kLink; })},
      {"pipe", with_member([](Member& m) { m.attributes = kPipe; })},
      {"device", with_member([](Member& m) { m.attributes = kDevice; })},
      {"encrypted", with_member([](Member& m) { m.flags = 1; })},
      {"strong encryption", with_member([](Member& m) { m.flags = 1 << 6; })},
      {"patch", with_member([](Member& m) { m.flags = 1 << 5; })},
      {"masked header", with_member([](Member& m) { m.flags = 1 << 13; })},
      {"shrunk", with_member([](Member& m) { m.method = 1; })},
      {"imploded", with_member([](Member& m) { m.method = 6; })},
      {"deflate64", with_member([](Member& m) { m.method = 9; })},
      {"bzip2", with_member([](Member& m) { m.method = 12; })},
      {"lzma", with_member([](Member& m) { m.method = 14; })},
      {"zstd", with_member([](Member& m) { m.method = 93; })},
      {"xz", with_member([](Member& m) { m.method = 95; })},
      {"AE-x", with_member([](Member& m) { m.method = 99; })},
      {"wrong checksum", with_member([](Member& m) { m.crc = 1; })},
      {"wrong local checksum", with_member([](Member& m) { m.local_crc = 1; })},
      {"wrong local size", with_member([](Member& m) { m.local_size = 1; })},
      {"wrong local name", with_member([](Member& m) { m.local_name = "c.npy"; })},
      {"longer local name", with_member([](Member& m) { m.local_name = "bb.npy"; })},
      {"larger than stored", with_member([](Member& m) { m.size = 1000; })},
      {"smaller than stored", with_member([](Member& m) { m.size = 1; })},
      {"stored past the end", with_member([](Member& m) {
         m.stored = 1 << 20;
         m.size = 1 << 20;
       })},
      {"deflated to more", with_member([](Member& m) {
         m.method = 8;
         m.size = 200;
       })},
      {"deflated to less", with_member([](Member& m) {
         m.method = 8;
         m.size = 20;
       })},
      {"deflated to 4 GiB", with_member([](Member& m) {
         m.method = 8;
         m.size = 0xFFFFFFFE;
       })},
      {"deflated to nothing", with_member([](Member& m) {
         m.method = 8;
         m.size = 0;
       })},
      {"before the beginning", with_member([](Member& m) { m.offset = 1; })},
      {"past the end", with_member([](Member& m) { m.offset = 0x7FFFFFFF; })},
      {"where another is", with_member([](Member& m) { m.offset = 0; })},
      {"where another is, alone", with_member([](Member& m) {
         m.offset = 0;
         m.stored_elsewhere = true;
       })},
      {"in another", changed([](Archive& a) {
         Archive inner;
         inner.members = {member("b.npy")};
         a.members[0].data = make(inner);
         a.members[1].offset = 35;
         a.members[1].stored_elsewhere = true;
       })},
      {"zip64 size missing", with_member([](Member& m) { m.size = kElsewhere; })},
      {"zip64 too short", with_member([](Member& m) {
         m.size = kElsewhere;
         m.extra = number(1, 2) + number(4, 2) + number(0, 4);
       })},
      {"zip64 too long", with_member([](Member& m) { m.extra = number(1, 2) + number(8, 2) + number(0, 8); })},
      {"zip64 twice",
       with_member([](Member& m) { m.extra = number(1, 2) + number(0, 2) + number(1, 2) + number(0, 2); })},
      {"zip64 size of 2^63", with_member([](Member& m) {
         m.size = kElsewhere;
         m.extra = number(1, 2) + number(8, 2) + number(1ULL << 63, 8);
       })},
      {"zip64 size of 2^64-1", with_member([](Member& m) {
         m.size = kElsewhere;
         m.extra = number(1, 2) + number(8, 2) + number(~0ULL, 8);
       })},
      {"zip64 offset of 2^64-1", with_member([](Member& m) {
         m.offset = kElsewhere;
         m.extra = number(1, 2) + number(8, 2) + number(~0ULL, 8);
       })},
      {"extra past its end", with_member([](Member& m) { m.extra = number(7, 2) + number(100, 2) + "x"; })},
      {"extra of three bytes", with_member([](Member& m) { m.extra = "abc"; })},
      {"extra in the local header alone",
       with_member([](Member& m) { m.local_extra = number(7, 2) + number(100, 2); })},
      {"data before", changed([](Archive& a) { a.before = "MZ" + std::string(100, 'x'); })},
      {"shell before", changed([](Archive& a) { a.before = "#!/bin/sh\nexit\n"; })},
      {"a byte before the members", changed([](Archive& a) { a.before = "x"; })},
      {"data after", changed([](Archive& a) { a.after = "x"; })},
      {"zeros after", changed([](Archive& a) { a.after = std::string(1000, '\0'); })},
      {"an archive after", changed([](Archive& a) { a.after = make(Archive{}); })},
      {"a gap", changed([](Archive& a) { a.gap = "hidden"; })},
      {"a comment that is an end", changed([](Archive& a) { a.comment = make(Archive{}); })},
      {"a comment longer than the file", changed([](Archive& a) { a.comment_size = 1000; })},
      {"fewer members", changed([](Archive& a) { a.count = 1; })},
      {"more members", changed([](Archive& a) { a.count = 3; })},
      {"65,534 members", changed([](Archive& a) { a.count = 65534; })},
      {"two counts", changed([](Archive& a) { a.count_here = 1; })},
      {"a second disk", changed([](Archive& a) { a.disk = 1; })},
      {"a directory of another size", changed([](Archive& a) { a.directory_size = 10; })},
      {"a directory elsewhere", changed([](Archive& a) { a.directory_offset = 0; })},
      {"a directory past the end", changed([](Archive& a) { a.directory_offset = 0x7FFFFFFF; })},
      {"zip64 and another count", changed([](Archive& a) {
         a.zip64 = true;
         a.count64 = 3;
       })},
      {"zip64 and 2^64-1 members", changed([](Archive& a) {
         a.zip64 = true;
         a.count = 0xFFFF;
         a.count64 = ~0ULL;
       })},
      {"zip64 and another place", changed([](Archive& a) {
         a.zip64 = true;
         a.offset64 = 0;
       })},
      {"zip64 and 2^63", changed([](Archive& a) {
         a.zip64 = true;
         a.directory_offset = kElsewhere;
         a.offset64 = 1ULL << 63;
       })},
      {"zip64 missing", changed([](Archive& a) { a.directory_offset = kElsewhere; })},
  };
  const Folder folder;
  for (const auto& row : cases) {
    const auto& name = row.first;
    const auto& archive = row.second;
    CAPTURE(name);
    check_refused(attempt({"weights", folder.file("hostile.npz", make(archive))}), "hostile.npz");
    check_refused(attempt({"summary", folder.file("hostile.keras", make(archive))}), "hostile.keras");
  }
}

TEST_CASE("zip: bombs are rejected before they are unpacked") {
  const Folder folder;
  const std::string large = deflated(std::string(200 << 20, '\0'));
  REQUIRE(large.size() < (300 << 10));
  const auto raw = [&](std::uint32_t size, int members) {
    Archive archive;
    for (int i = 0; i < members; ++i) {
      Member one = member(std::to_string(i) + ".npy");
      one.data = large;  // uncompressed: the method is set below
      one.size = one.local_size = size;
      archive.members.push_back(one);
    }
    std::string file = make(archive);
    // Sets method 8 in every header without compressing.
    for (std::size_t at = file.find("PK\3\4"); at != std::string::npos; at = file.find("PK\3\4", at + 1))
      file[at + 8] = 8;
    for (std::size_t at = file.find("PK\1\2"); at != std::string::npos; at = file.find("PK\1\2", at + 1))
      file[at + 10] = 8;
    return file;
  };
  const std::vector<std::pair<std::string, std::string>> bombs = {
      {"200 MiB in 200 KiB", raw(200 << 20, 1)},        {"10 GiB in 10 MiB", raw(200 << 20, 50)},
      {"4 GiB that are not there", raw(0xFFFFFFFE, 1)}, {"many of them", raw(0xFFFFFFFE, 100)},
      {"a little too much", raw(17 << 20, 1)},
  };
  for (const auto& row : bombs) {
    const auto& name = row.first;
    const auto& file = row.second;
    CAPTURE(name);
    check_refused_bomb(attempt({"weights", folder.file("bomb.npz", file)}), "bomb.npz");
    check_refused_bomb(attempt({"summary", folder.file("bomb.keras", file)}), "bomb.keras");
  }
  // A nested archive is not an array.
  Archive outer;
  outer.members = {member("inner.npz")};
  outer.members[0].data = raw(200 << 20, 1);
  check_refused_bomb(attempt({"weights", folder.file("nested.npz", make(outer))}), "nested.npz");
}

TEST_CASE("file kinds: files of any size are rejected by their first and last bytes, without reading the rest") {
  const Folder folder;
  const auto huge = [&](std::string_view name, std::string_view begin) {
    const std::string path = folder.file(name, begin);
    std::filesystem::resize_file(path, std::uintmax_t{64} << 30);
    return path;
  };
  for (const char* command : {"summary", "weights"}) {
    CAPTURE(command);
    check_refused_bomb(attempt({command, huge("huge.keras", "PK\3\4")}), "huge.keras", "no directory at its end");
    check_refused_bomb(attempt({command, huge("huge.h5", "\x89HDF\r\n\x1a\n")}), "huge.h5");
    check_refused_bomb(attempt({command, huge("huge.npy", "\x93NUMPY")}), "huge.npy");
    check_refused_bomb(attempt({command, huge("huge.json", "{")}), "huge.json");
  }
}

TEST_CASE("zip: .keras archives without a config, with unsupported weights, or with invalid text are rejected") {
  const auto archive = [](std::vector<std::pair<std::string, std::string>> members) {
    Archive made;
    for (auto& [name, data] : members) {
      Member one;
      one.name = name;
      one.data = data;
      made.members.push_back(one);
    }
    return make(made);
  };
  const std::string config = model_of("ReLU", R"({"name": "r"})"), metadata = R"({"keras_version": "3.15.1"})";
  const Folder folder;
  CHECK(attempt({"summary", folder.file("good.keras", archive({{"metadata.json", metadata}, {"config.json", config}}))})
            .code == 0);
  const std::vector<std::string> files = {
      archive({}),
      archive({{"metadata.json", metadata}}),
      archive({{"config.json", config}}),
      archive({{"./config.json", config}, {"metadata.json", metadata}}),
      archive({{"CONFIG.JSON", config}, {"metadata.json", metadata}}),
      archive({{"config.json/", ""}, {"metadata.json", metadata}}),
      archive({{"config.json", ""}, {"metadata.json", metadata}}),
      archive({{"config.json", "\xff"}, {"metadata.json", metadata}}),
      archive({{"config.json", config}, {"metadata.json", "["}}),
      archive(
          {{"config.json", config}, {"metadata.json", "{\"keras_version\": \"3.15\", \"keras_version\": \"2.0\"}"}}),
      archive({{"config.json", config}, {"metadata.json", std::string(100'000, '[')}}),
      archive({{"config.json", config}, {"metadata.json", metadata}, {"model.weights.npz", "x"}}),
      archive({{"config.json", config},
               {"metadata.json", metadata},
               {"model.weights.json", R"({"weight_map": {"a": "../../etc/passwd"}})"}}),
      archive({{"config.json", model_of("Lambda", R"({"name": "l"})")}, {"metadata.json", metadata}}),
  };
  for (const std::string& file : files) {
    CAPTURE(file.substr(0, 200));
    check_refused(attempt({"summary", folder.file("hostile.keras", file)}), "hostile.keras");
  }
  const std::string not_weights =
      archive({{"config.json", config}, {"metadata.json", metadata}, {"model.weights.h5", "\x89HDF\r\n\x1a\n"}});
  check_refused(attempt({"run", folder.file("hostile.keras", not_weights)}), "hostile.keras");
}

}  // namespace attn::test
