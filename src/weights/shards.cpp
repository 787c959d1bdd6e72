// The index is {"metadata": …, "weight_map": {"/layers/dense/vars": "x_00000.weights.h5" or a list of such}}.
#include "shards.h"

#include <nlohmann/json.hpp>
#include <set>

#include "attn/base/error.h"
#include "attn/base/text.h"
#include "attn/io/json_text.h"

namespace attn::weights {
namespace {

using nlohmann::json;

constexpr std::size_t kMaxShards = 10'000;

bool is_plain_name(const std::string& name) {
  return !name.empty() && name != "." && name != ".." &&
         name.find_first_of(std::string_view("/\\\0", 3)) == std::string::npos;
}

}  // namespace

std::vector<std::string> shard_names(std::string_view index, const std::string& path) {
  const std::string file = printable(path);
  const auto no_index = [&] {
    return bad_input(
        "{}: holds no weights: it is neither .weights.h5, .keras, .h5, .safetensors nor .npz, nor an index of split "
        "weights with a weight_map",
        file);
  };
  const std::size_t first = index.find_first_not_of(" \n\r\t");
  if (first == std::string_view::npos || index[first] != '{') throw no_index();
  const json root = io::parse_json(index, file);
  const auto map = root.find("weight_map");
  if (map == root.end() || !map->is_object()) throw no_index();

  std::set<std::string> seen;
  std::vector<std::string> names;
  const auto add = [&](const json& value) {
    if (!value.is_string()) throw bad_input("{}: weight_map: a file's name must be a string", file);
    const auto& name = value.get_ref<const std::string&>();
    if (!is_plain_name(name)) {
      throw bad_input("{}: weight_map: '{}' is not the name of a file in the same folder", file, printable(name));
    }
    if (!seen.insert(name).second) return;
    if (names.size() == kMaxShards) throw bad_input("{}: weight_map: more than {} files", file, kMaxShards);
    names.push_back(name);
  };
  for (const json& entry : *map) {
    if (!entry.is_array()) {
      add(entry);
      continue;
    }
    for (const json& name : entry) add(name);
  }
  return names;
}

}  // namespace attn::weights
