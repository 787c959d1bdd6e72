#include <doctest/doctest.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include "attn/base/error.h"
#include "attn/shards/claims.h"
#include "attn/shards/ledger.h"
#include "attn/shards/work_list.h"
#include "status.h"

namespace attn::shards {
namespace {

namespace fs = std::filesystem;

class Folder {
 public:
  Folder() {
    std::string name = (fs::temp_directory_path() / "attn-shards-XXXXXX").string();
    path_ = ::mkdtemp(name.data());
  }
  ~Folder() { fs::remove_all(path_); }
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;
  [[nodiscard]] std::string operator/(const std::string& name) const { return path_ + "/" + name; }
  [[nodiscard]] std::string file(const std::string& name, const std::string& text = "x") const {
    fs::create_directories(fs::path(path_ + "/" + name).parent_path());
    std::ofstream(path_ + "/" + name) << text;
    return path_ + "/" + name;
  }

 private:
  std::string path_;
};

std::string stems(const std::vector<std::string>& words) {
  std::string out;
  for (const WorkItem& item : work_list(words)) out += item.stem + " ";
  return out;
}

std::string text_of(const std::string& path) {
  std::stringstream text;
  text << std::ifstream(path).rdbuf();
  return text.str();
}

TEST_CASE("work list: patterns, lists and paths give each file once, sorted") {
  const Folder in;
  for (const char* name : {"b.npz", "a.npz", "c.npy", "[d].npz"}) (void)in.file(name);
  const std::string list = in.file("list.txt", in / "c.npy" + "\r\n\n" + in / "a.npz" + "\n");
  CHECK(stems({in / "*.npz"}) == "[d] a b ");
  CHECK(stems({"@" + list}) == "a c ");
  CHECK(stems({in / "b.npz", in / "?.npz", "@" + list}) == "a b c ");
  CHECK(stems({in / "[d].npz"}) == "[d] ");
}

TEST_CASE("work list: no files, an empty list, and two files with one output are errors") {
  const Folder in;
  (void)in.file("x/a.npz");
  (void)in.file("y/a.npz");
  CHECK_THROWS_WITH_AS(stems({in / "*.npz"}), doctest::Contains("no file matches"), Error);
  CHECK_THROWS_WITH_AS(stems({"@" + in.file("list.txt", "\n")}), doctest::Contains("lists no files"), Error);
  CHECK_THROWS_WITH_AS(stems({in / "*/a.npz"}), doctest::Contains("would have one output, a"), Error);
  CHECK_THROWS_AS(stems({"@" + in / "nowhere.txt"}), Error);
}

TEST_CASE("ledger: an output is complete if it is whole and made from the same input, model and options") {
  const Folder in, out;
  const WorkItem item{in.file("a.npz"), "a"};
  const RunSettings recipe{"m", "o", "0.1"};
  const auto why = [&](const RunSettings& with) { return Ledger(out / "o", with).why_do(item); };
  CHECK(why(recipe) == "");
  {
    const Ledger ledger(out / "o/", recipe);
    CHECK(ledger.output_of(item) == out / "o/a.npz");
    ledger.begin(item);
    (void)out.file("o/a.npz", "numbers");
    CHECK(ledger.why_do(item) == "");  // written but not recorded, as after a kill
    ledger.finish(item, 3, 0.5);
    CHECK(!ledger.why_do(item));
    CHECK(ledger.is_new(item));
  }
  CHECK(!why(recipe));
  CHECK(why({"n", "o", "0.1"}) == "model");
  CHECK(why({"m", "p", "0.2"}) == "options, attn");
  (void)out.file("o/a.npz", "number");
  CHECK(why(recipe) == "output's size");
  (void)out.file("o/a.npz", "numbers");
  CHECK(!why(recipe));
  (void)in.file("a.npz", "more");
  CHECK(why(recipe) == "input");
  (void)out.file("o/.done/a.json", "{\"model\": \"m\"");  // truncated
  CHECK(why(recipe) == "");
}

TEST_CASE("ledger: lists show the results of all processes, and a failure counts until a later run retries it") {
  const Folder in, out;
  const std::vector<WorkItem> items = {{in.file("a.npz"), "a"}, {in.file("b.npz"), "b"}, {in.file("c.npz"), "c"}};
  {
    const Ledger one(out / "o", {"m", "o", "v"}), two(out / "o", {"m", "o", "v"});
    (void)out.file("o/a.npz");
    one.finish(items[0], 3, 0.5);
    two.fail(items[1], "no such 'array'");
    CHECK(one.has_failed(items[1]));
    CHECK(one.tally(items, 0).done == 1);
    CHECK(one.tally(items, 0).failed == 1);
    one.write_lists(items);
    CHECK(text_of(out / "o/failed.jsonl") == "{\"file\":\"" + items[1].input + "\",\"error\":\"no such 'array'\"}\n");
    CHECK(text_of(out / "o/manifest.jsonl").find("\"rows\":3") != std::string::npos);
  }
  const Ledger later(out / "o", {"m", "o", "v"});
  CHECK(!later.has_failed(items[1]));
  CHECK(later.tally(items, 1).failed == 0);
  (void)out.file("o/b.npz");
  later.finish(items[1], 1, 0.1);
  later.write_lists(items);
  CHECK(!fs::exists(out / "o/failed.jsonl"));
}

TEST_CASE("claims: one of several processes gets a file, and releases it") {
  const Folder out;
  const WorkItem item{"a.npz", "a"};
  Claims one(out / "o"), two(out / "o");
  CHECK(one.take(item));
  CHECK(!two.take(item));
  one.release();
  CHECK(two.take(item));
  CHECK(!one.take(item));
}

TEST_CASE("claims: another process takes over the claim of a dead local process at once") {
  const Folder out;
  const WorkItem item{"a.npz", "a"};
  const pid_t child = ::fork();
  if (child == 0) {
    make_folder(out / "o/.claims");
    std::ofstream(out / "o/.claims/a.0") << this_process() << "\n";
    ::_exit(0);
  }
  int status = 0;
  ::waitpid(child, &status, 0);
  REQUIRE(fs::exists(out / "o/.claims/a.0"));
  Claims one(out / "o"), two(out / "o");
  CHECK(one.take(item));
  CHECK(!two.take(item));
  one.release();
  CHECK(!fs::exists(out / "o/.claims/a.0"));
}

TEST_CASE("claims: a claim of another machine holds while it is renewed, and a minute longer") {
  const Folder out;
  const WorkItem item{"a.npz", "a"};
  make_folder(out / "o/.claims");
  std::ofstream(out / "o/.claims/a.0") << "elsewhere pid:[1] 1 1\n";
  Claims claims(out / "o");
  CHECK(!claims.take(item));
  fs::last_write_time(out / "o/.claims/a.0", fs::file_time_type::clock::now() - std::chrono::seconds(61));
  CHECK(claims.take(item));
}

}  // namespace
}  // namespace attn::shards
