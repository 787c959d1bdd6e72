// The index is {"metadata": …, "weight_map": {"/layers/dense/vars": "x_00000.weights.h5" or a list of such}}.
#include "shards.h"

#include <filesystem>
#include <nlohmann/json.hpp>
#include <set>

#include "attn/base/error.h"
#include "attn/base/text.h"

namespace attn::weights {
namespace {

using nlohmann::json;

constexpr std::size_t kMaxIndex = std::size_t{64} << 20;  // bytes
constexpr std::size_t kMaxShards = 10'000;

bool is_plain_name(const std::string& name) {
  return !name.empty() && name != "." && name != ".." &&
         name.find_first_of(std::string_view("/\\\0", 3)) == std::string::npos;
}

}  // namespace

std::vector<std::string> shard_paths(std::string_view index, const std::string& path) {
  const std::string file = printable(path);
  if (index.size() > kMaxIndex) throw bad_input("{}: too large for an index of weights ({} bytes)", file, index.size());
  const json root = json::parse(index, nullptr, false);
  const auto map = root.is_object() ? root.find("weight_map") : root.end();
  if (!root.is_object() || map == root.end() || !map->is_object()) {
    throw bad_input(
        "{}: holds no weights: it is neither .weights.h5, .keras, .h5, .safetensors nor .npz, nor an index of split "
        "weights "
        "with a weight_map",
        file);
  }

  std::set<std::string> seen;
  std::vector<std::string> paths;
  const std::filesystem::path folder = std::filesystem::path(path).parent_path();
  const auto add = [&](const json& value) {
    if (!value.is_string()) throw bad_input("{}: weight_map: a file's name must be a string", file);
    const auto& name = value.get_ref<const std::string&>();
    if (!is_plain_name(name)) {
      throw bad_input("{}: weight_map: '{}' is not the name of a file in the same folder", file, printable(name));
    }
    if (!seen.insert(name).second) return;
    if (paths.size() == kMaxShards) throw bad_input("{}: weight_map: more than {} files", file, kMaxShards);
    paths.push_back((folder / name).string());
  };
  for (const json& entry : *map) {
    if (!entry.is_array()) {
      add(entry);
      continue;
    }
    for (const json& name : entry) add(name);
  }
  return paths;
}

}  // namespace attn::weights
