#include "attn/io/atomic_folder.h"

#include <fstream>

#include "support.h"

namespace attn::io {
namespace {

std::string contents_of(const std::string& path) { return std::string(read_file(path).text()); }

TEST_CASE("atomic folder: the target appears only when it is complete") {
  const TemporaryFolder around;
  {
    AtomicFolder folder(around / "new");
    folder.write("config.json", "{}");
    folder.write("assets/tokenizer/merges.txt", "a b\n");
    CHECK(!std::filesystem::exists(around / "new"));
    folder.commit();
  }
  CHECK(around.names() == std::vector<std::string>{"new"});
  CHECK(contents_of(around / "new/config.json") == "{}");
  CHECK(contents_of(around / "new/assets/tokenizer/merges.txt") == "a b\n");
}

TEST_CASE("atomic folder: a folder without a commit is removed with its contents") {
  const TemporaryFolder around;
  {
    AtomicFolder folder(around / "new/");
    folder.write("a/b/c", "x");
  }
  CHECK(around.names().empty());
}

TEST_CASE("atomic folder: the next writer removes what a killed one left, and nothing of an active one") {
  const TemporaryFolder around;
  std::filesystem::create_directory(around / ".new.abcdefghijkl.tmp");
  std::ofstream(around / ".new.abcdefghijkl.tmp/config.json") << "{}";
  std::filesystem::create_directory(around / ".new.more.tmp");
  {
    AtomicFolder one(around / "new");
    one.write("x", "1");
    CHECK(!std::filesystem::exists(around / ".new.abcdefghijkl.tmp"));
    AtomicFolder other(around / "new");
    other.write("x", "2");
    CHECK(around.names().size() == 3);
    one.commit();
  }
  CHECK(around.names() == std::vector<std::string>{".new.more.tmp", "new"});
  CHECK(contents_of(around / "new/x") == "1");
}

TEST_CASE("atomic folder: an existing target is rejected and kept, unless it is an empty folder") {
  const TemporaryFolder around;
  std::ofstream(around / "file") << "mine";
  std::filesystem::create_directory(around / "full");
  std::ofstream(around / "full/file") << "mine";
  std::filesystem::create_directory(around / "empty");
  for (const char* name : {"file", "full", "full/file"}) {
    CAPTURE(name);
    CHECK(refusal([&] { AtomicFolder folder(around / name); }).find("left unchanged") != std::string::npos);
  }
  for (const std::string& path : {std::string(), std::string("/"), around / ".."})
    CHECK(refusal([&] { AtomicFolder folder(path); }).find("not the name of a new folder") != std::string::npos);
  CHECK(refusal([&] { AtomicFolder folder(around / "no/such"); }).find("cannot be written") != std::string::npos);
  AtomicFolder folder(around / "empty");
  folder.write("x", "y");
  folder.commit();
  CHECK(contents_of(around / "empty/x") == "y");
}

TEST_CASE("atomic folder: a target that appears meanwhile is kept") {
  const TemporaryFolder around;
  AtomicFolder folder(around / "new");
  folder.write("x", "y");
  std::filesystem::create_directory(around / "new");
  std::ofstream(around / "new/file") << "mine";
  CHECK(refusal([&] { folder.commit(); }).find("cannot be written") != std::string::npos);
  CHECK(contents_of(around / "new/file") == "mine");
}

TEST_CASE("atomic folder: a program that ends can remove what it has begun, with all that is in it") {
  const TemporaryFolder around;
  {
    AtomicFolder begun(around / "model");
    begun.write("config.json", "{}");
    for (int i = 0; i < 100; ++i) begun.write("assets/tokenizer/" + std::string(40, 'x') + std::to_string(i), "words");
    AtomicFile open(begun.file("assets/open.txt"));
    CHECK(around.names().size() == 1);
    remove_temporaries();
    CHECK(around.names().empty());
  }
  AtomicFolder whole(around / "model");
  whole.write("config.json", "{}");
  whole.commit();
  remove_temporaries();
  CHECK(contents_of(around / "model/config.json") == "{}");
}

}  // namespace
}  // namespace attn::io
