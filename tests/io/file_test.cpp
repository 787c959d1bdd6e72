#include "attn/io/file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <fstream>
#include <memory>
#include <thread>

#include "attn/io/atomic_file.h"
#include "support.h"

namespace attn::io {
namespace {

void write_text(const std::string& path, std::string_view text) { std::ofstream(path) << text; }

std::string text_of(const std::string& path) { return std::string(read_file(path).text()); }

TEST_CASE("file: a file is read completely, and stays readable through its descriptor") {
  const TemporaryFolder folder;
  write_text(folder / "a", "hello");
  const Bytes bytes = read_file(folder / "a");
  CHECK(bytes.text() == "hello");
  CHECK(bytes.slice(1, 3).text() == "ell");
  REQUIRE(bytes.slice(1, 3).backing());
  std::array<char, 3> again{};
  CHECK(::pread(bytes.backing()->fd, again.data(), 3, bytes.slice(1, 3).backing()->offset) == 3);
  CHECK(std::string_view(again.data(), 3) == "ell");
  write_text(folder / "empty", "");
  CHECK(read_file(folder / "empty").size() == 0);
}

TEST_CASE("file: an unreadable file is an error with the reason") {
  const TemporaryFolder folder;
  CHECK(refusal([&] { return read_file(folder / "none"); }) == (folder / "none") + ": no such file");
  CHECK(refusal([&] { return read_file(folder / "."); }).ends_with("a directory, not a file"));
  CHECK(refusal([] { return read_file("/dev/zero"); }) == "/dev/zero: a device, not a file");
  CHECK(refusal([&] { return read_file(folder / "x\x1b[2J"); }).find('\x1b') == std::string::npos);
  write_text(folder / "a", "hello");
  CHECK(refusal([&] { return read_file(folder / "a", 4); }).find("larger than the 4 bytes") != std::string::npos);
  CHECK(read_file(folder / "a", 5).size() == 5);
}

TEST_CASE("file: a large file is mapped, and writing to the mapping keeps the file unchanged") {
  const TemporaryFolder folder;
  const std::string path = folder / "large";
  write_text(path, "hello");
  std::filesystem::resize_file(path, static_cast<std::uintmax_t>(kMapFrom));
  const Bytes bytes = read_file(path);
  CHECK(bytes.size() == kMapFrom);
  CHECK(bytes.text().substr(0, 6) == std::string_view("hello\0", 6));
  bytes.data().get()[0] = std::byte{'H'};
  CHECK(read_file(path).text().front() == 'h');
}

TEST_CASE("file: a pipe is read to its end") {
  const TemporaryFolder folder;
  const std::string path = folder / "pipe";
  REQUIRE(::mkfifo(path.c_str(), 0600) == 0);
  const std::string sent(300'000, 'x');
  std::thread writer([&] { write_text(path, sent); });
  const Bytes bytes = read_file(path);
  writer.join();
  CHECK(bytes.text() == sent);
  CHECK(!bytes.backing());
}

TEST_CASE("file: a truncated mapped file ends the program with exit code 3 and no partial output") {
  const TemporaryFolder folder;
  const std::string path = folder / "large";
  write_text(path, "hello");
  std::filesystem::resize_file(path, static_cast<std::uintmax_t>(kMapFrom));
  const pid_t child = ::fork();
  if (child == 0) {
    const int nowhere = ::open("/dev/null", O_WRONLY);
    ::dup2(nowhere, STDERR_FILENO);
    exit_where_a_mapped_file_shrinks();
    const Bytes bytes = read_file(path);
    AtomicFile begun(folder / "output");
    if (::truncate(path.c_str(), 0) != 0) ::_exit(1);
    ::_exit(bytes.span()[static_cast<std::size_t>(kMapFrom) - 1] == std::byte{0} ? 0 : 1);
  }
  int status = 0;
  REQUIRE(::waitpid(child, &status, 0) == child);
  REQUIRE(WIFEXITED(status));
  CHECK(WEXITSTATUS(status) == 3);
  CHECK(folder.names() == std::vector<std::string>{"large"});  // nothing of the unfinished output
}

TEST_CASE("file: a file in the same folder is read by name, but not through links or other folders") {
  const TemporaryFolder folder;
  const std::string index = folder / "index.json";
  write_text(folder / "a", "hello");
  CHECK(read_sibling_file(index, "a").text() == "hello");
  CHECK(refusal([&] { return read_sibling_file(index, "none"); }) == (folder / "none") + ": no such file");
  std::filesystem::create_symlink("a", folder / "link");
  CHECK(refusal([&] { return read_sibling_file(index, "link"); }).find("a symbolic link, which is not followed") !=
        std::string::npos);
  std::filesystem::create_directory(folder / "inner");
  CHECK(refusal([&] { return read_sibling_file(index, "inner"); }).ends_with("a directory, not a file"));
  CHECK(refusal([&] { return read_sibling_file(folder / "inner/index.json", "../a"); }).find("cannot be opened") !=
        std::string::npos);
  CHECK(refusal([&] { return read_sibling_file(folder / "none/index.json", "a"); }).find("cannot be opened") !=
        std::string::npos);
}

TEST_CASE("file: symlinks are followed only inside a model's folder and to blobs of Hugging Face's cache") {
  const TemporaryFolder folder;
  const std::string model = folder / "models--a/snapshots/1", blobs = folder / "models--a/blobs";
  for (const std::string& path : {model + "/assets", blobs, folder / "models--b/blobs", folder / "plain"})
    std::filesystem::create_directories(path);
  for (const std::string& path : {model + "/own", blobs + "/blob", folder / "models--b/blobs/other", folder / "secret"})
    write_text(path, path);
  std::filesystem::create_symlink("own", model + "/inside");
  std::filesystem::create_symlink("../../blobs/blob", model + "/cached");
  std::filesystem::create_symlink("../../../blobs/blob", model + "/assets/cached");
  std::filesystem::create_symlink("../../../secret", model + "/outside");
  std::filesystem::create_symlink("../../../models--b/blobs/other", model + "/of_another");
  std::filesystem::create_symlink("nothing", model + "/dangling");
  CHECK(read_file_in(model, "inside").text() == model + "/own");
  CHECK(read_file_in(model, "cached").text() == blobs + "/blob");
  CHECK(read_file_in(model, "assets/cached").text() == blobs + "/blob");
  CHECK(read_sibling_file(model + "/index.json", "cached").text() == blobs + "/blob");
  CHECK(checked_file_in(model, "cached") == model + "/cached");
  for (const std::string name : {"outside", "of_another"}) {
    CAPTURE(name);
    for (const std::string& why :
         {refusal([&] { return read_file_in(model, name); }), refusal([&] { return checked_file_in(model, name); }),
          refusal([&] { return read_sibling_file(model + "/index.json", name); })})
      CHECK(why == model + "/" + name + ": a symbolic link, which is not followed here; put the file itself there");
  }
  CHECK(refusal([&] { return read_file_in(model, "dangling"); }).ends_with("no such file"));
  CHECK(refusal([&] { return read_file_in(model, "../../../secret"); }).find("not followed") != std::string::npos);
  // Links to blobs are followed in the cache only.
  std::filesystem::create_symlink("../models--a/blobs/blob", folder / "plain/link");
  CHECK(refusal([&] { return read_file_in(folder / "plain", "link"); }).find("not followed") != std::string::npos);
}

TEST_CASE("file: a pipe, a device or a folder in place of a model's file is rejected without waiting") {
  const TemporaryFolder folder;
  REQUIRE(::mkfifo((folder / "pipe").c_str(), 0600) == 0);
  std::filesystem::create_directory(folder / "inner");
  for (const std::string name : {"pipe", "inner"}) {
    CAPTURE(name);
    CHECK(refusal([&] { return read_file_in(folder / ".", name); }).ends_with("not a file"));
    CHECK(refusal([&] { return checked_file_in(folder / ".", name); }).ends_with("not a file"));
    CHECK(refusal([&] { return read_sibling_file(folder / "index.json", name); }).ends_with("not a file"));
  }
  CHECK(refusal([] { return read_file_in("/dev", "null"); }).ends_with("not a file"));
}

TEST_CASE("file: a pipe with more data than accepted is rejected before its end") {
  const TemporaryFolder folder;
  const std::string path = folder / "pipe";
  REQUIRE(::mkfifo(path.c_str(), 0600) == 0);
  const int both = ::open(path.c_str(), O_RDWR | O_CLOEXEC);  // kept open for writing, so that readers see no end
  REQUIRE(::write(both, "hello", 5) == 5);
  CHECK(refusal([&] { return read_file(path, 4); }).find("larger than the 4 bytes") != std::string::npos);
  ::close(both);
}

TEST_CASE("bytes: a large slice of a mapped file releases its memory and can be read again") {
  const TemporaryFolder folder;
  const std::string path = folder / "large";
  write_text(path, "hello");
  std::filesystem::resize_file(path, static_cast<std::uintmax_t>(kMapFrom));
  const Bytes bytes = read_file(path);
  for (int turn = 0; turn < 2; ++turn) CHECK(bytes.slice(0, kMapFrom / 2).text().starts_with("hello"));
}

TEST_CASE("bytes: a slice must be inside the bytes") {
  const Bytes bytes = bytes_of_text("hello");
  CHECK(bytes.slice(5, 0).size() == 0);
  CHECK_THROWS_AS(static_cast<void>(bytes.slice(5, 1)), Error);
  CHECK_THROWS_AS(static_cast<void>(bytes.slice(-1, 1)), Error);
  CHECK_THROWS_AS(static_cast<void>(bytes.slice(1, -1)), Error);
}

TEST_CASE("atomic file: the target appears only on commit") {
  const TemporaryFolder folder;
  {
    AtomicFile file(folder / "a");
    const std::int64_t before = AtomicFile::bytes_written();
    file.write("hel");
    file.write("lo");
    CHECK(AtomicFile::bytes_written() == before + 5);
    CHECK(!std::filesystem::exists(folder / "a"));
    file.commit();
    CHECK(text_of(folder / "a") == "hello");
  }
  CHECK(folder.names() == std::vector<std::string>{"a"});
}

TEST_CASE("atomic file: a file without a commit leaves the target unchanged and nothing behind") {
  const TemporaryFolder folder;
  write_text(folder / "a", "old");
  {
    AtomicFile file(folder / "a");
    file.write("new");
  }
  CHECK(text_of(folder / "a") == "old");
  CHECK(folder.names() == std::vector<std::string>{"a"});
}

TEST_CASE("atomic file: files of a killed writer are removed, those of an active one are not") {
  const TemporaryFolder folder;
  AtomicFile living(folder / "a");
  living.write("living");
  const pid_t child = ::fork();
  if (child == 0) {
    AtomicFile killed(folder / "a");
    killed.write("killed");
    ::_exit(0);
  }
  REQUIRE(::waitpid(child, nullptr, 0) == child);
  CHECK(folder.names().size() == 2);
  {
    AtomicFile next(folder / "a");
    CHECK(folder.names().size() == 2);
    next.commit();
  }
  living.commit();
  CHECK(text_of(folder / "a") == "living");
  CHECK(folder.names() == std::vector<std::string>{"a"});
}

TEST_CASE("atomic file: a program that ends can remove the files of its own writers, and only those") {
  const TemporaryFolder folder;
  write_text(folder / "b", "old");
  {
    AtomicFile first(folder / "a"), second(folder / "b");
    first.write("begun");
    CHECK(folder.names().size() == 3);
    remove_temporaries();
    CHECK(folder.names() == std::vector<std::string>{"b"});
    CHECK(refusal([&] { first.commit(); }).ends_with("No such file or directory"));
  }
  // More files at once than are tracked. The second round shows that committed files free their places.
  for (int round = 0; round < 2; ++round) {
    std::vector<std::unique_ptr<AtomicFile>> files;
    for (int i = 0; i < 12; ++i) files.push_back(std::make_unique<AtomicFile>(folder / std::to_string(i)));
    for (const auto& file : files) file->commit();
    remove_temporaries();
    CHECK(folder.names().size() == 13);
  }
  CHECK(text_of(folder / "b") == "old");
}

TEST_CASE("atomic file: the mode of a replaced file and a symlink to it are kept") {
  const TemporaryFolder folder;
  write_text(folder / "a", "old");
  REQUIRE(::chmod((folder / "a").c_str(), 0640) == 0);
  std::filesystem::create_symlink("b", folder / "dangling");
  AtomicFile created(folder / "dangling");
  created.write("made");
  created.commit();
  CHECK(text_of(folder / "b") == "made");
  CHECK(std::filesystem::is_symlink(folder / "dangling"));
  std::filesystem::create_symlink("a", folder / "link");
  AtomicFile file(folder / "link");
  file.write("new");
  file.commit();
  CHECK(std::filesystem::is_symlink(folder / "link"));
  CHECK(text_of(folder / "a") == "new");
  struct stat status {};
  REQUIRE(::stat((folder / "a").c_str(), &status) == 0);
  CHECK((status.st_mode & 0777) == 0640);
}

TEST_CASE("atomic file: a target that cannot be written is rejected before anything is written") {
  const TemporaryFolder folder;
  CHECK(refusal([&] { AtomicFile file(folder / "."); }).ends_with("a directory, not a file"));
  CHECK(refusal([&] { AtomicFile file(folder / "none/a"); }).ends_with("No such file or directory"));
  CHECK(refusal([] { AtomicFile file("/proc/attn"); }).starts_with("/proc/attn: cannot be written"));
  CHECK(refusal([] { AtomicFile file(""); }) == "an output file without a name");
}

TEST_CASE("atomic file: a full disk is an error") {
  CHECK(refusal([] {
          AtomicFile file("/dev/full");
          file.write("x");
          file.commit();
        }) == "/dev/full: cannot be written: No space left on device");
}

TEST_CASE("atomic file: a pipe and an open descriptor are written directly") {
  std::array<int, 2> ends{};
  REQUIRE(::pipe(ends.data()) == 0);
  for (const char* folder : {"/dev/fd/", "/proc/self/fd/"}) {
    AtomicFile file(folder + std::to_string(ends[1]));
    file.write("hello");
    file.commit();
    std::array<char, 5> got{};
    CHECK(::read(ends[0], got.data(), got.size()) == 5);
    CHECK(std::string_view(got.data(), 5) == "hello");
  }
  ::close(ends[0]);
  ::close(ends[1]);
}

TEST_CASE("atomic file: one of many concurrent writers wins with a complete file") {
  const TemporaryFolder folder;
  constexpr int kWriters = 8;
  std::vector<std::thread> writers;
  for (int i = 0; i < kWriters; ++i) {
    writers.emplace_back([&folder, i] {
      for (int turn = 0; turn < 10; ++turn) {
        AtomicFile file(folder / "a");
        for (int part = 0; part < 100; ++part) file.write(std::string(1000, static_cast<char>('a' + i)));
        file.commit();
      }
    });
  }
  for (std::thread& writer : writers) writer.join();
  const std::string text = text_of(folder / "a");
  CHECK(text == std::string(100'000, text.front()));
  CHECK(folder.names() == std::vector<std::string>{"a"});
}

}  // namespace
}  // namespace attn::io
