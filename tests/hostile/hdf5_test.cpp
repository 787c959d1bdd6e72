// HDF5 files with external links, growing data or unexpected objects (hdf5/generate.py), and files that crash the
// library.
#include "attn/io/hdf5.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <set>
#include <string>
#include <vector>

#include "../places.h"
#include "attempt.h"
#include "attn/base/error.h"
#include "attn/io/file.h"

namespace attn::test {
namespace {

namespace fs = std::filesystem;

std::vector<fs::path> hostile_files() {
  std::vector<fs::path> files;
  for (const auto& entry : fs::directory_iterator(in_repository("tests/hostile/hdf5")))
    if (entry.path().extension() == ".h5") files.push_back(entry.path());
  std::sort(files.begin(), files.end());
  return files;
}

std::string contents(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

}  // namespace

TEST_CASE("hdf5: references to other files, growing data and arrays without numbers are rejected by name") {
  // Objects that weights never use are harmless on their own: these files contain a model or nothing.
  const std::set<std::string> models = {"model_config_number.h5", "model_config_list.h5", "model_config_lambda.h5",
                                        "model_config.h5", "empty.h5"};
  const std::vector<fs::path> files = hostile_files();
  REQUIRE(files.size() >= 60);
  int number = 0;
  for (const fs::path& path : files) {
    const std::string name = path.filename();
    CAPTURE(name);
    // Opened as a model, the content is not a config, or is rejected.
    check_refused(attempt({"summary", path}), name);
    if (models.contains(name)) continue;
    const Attempt weights = attempt({"weights", path});
    check_refused(weights, name);
    if (name.starts_with("bomb")) check_refused_bomb(weights, name);
    if (number++ % 8 != 0) continue;  // other commands use the same reader
    check_refused(attempt({"run", "--weights", path}), name);
    check_refused(attempt({"convert", path, "/nonexistent/x.npz"}), "");
  }
}

TEST_CASE("hdf5: every truncated weight file is rejected, and every flipped bit in its header is handled") {
  const std::string whole = contents(in_repository("tests/data/io/model.weights.h5"));
  const Folder folder;
  REQUIRE(attempt({"weights", folder.file("x.h5", whole)}).code == 0);
  for (std::size_t size = 0; size < whole.size(); size += whole.size() / 40 + 1)
    check_refused(attempt({"weights", folder.file("x.h5", whole.substr(0, size))}), "x.h5");
  for (std::size_t bit = 0; bit < std::size_t{8} * 800; bit += 23) {
    std::string flipped = whole;
    flipped[bit / 8] = static_cast<char>(flipped[bit / 8] ^ 1 << (bit % 8));
    CAPTURE(bit);
    try {
      (void)io::read_hdf5(io::read_file(folder.file("x.h5", flipped)), "x.h5");
    } catch (const Error& error) {
      CHECK(error.code() == ExitCode::bad_input);
      CHECK(is_clean(error.what()));
    }
  }
}

}  // namespace attn::test
