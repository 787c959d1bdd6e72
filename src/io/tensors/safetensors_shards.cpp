#include "attn/io/safetensors_shards.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "attn/io/atomic_file.h"
#include "attn/io/safetensors.h"

namespace attn::io {
namespace {

constexpr const char* kWhole = "model.safetensors";

/// Returns the index of the first tensor of each file.
std::vector<std::size_t> beginnings(std::span<const NamedTensor> tensors, std::int64_t most) {
  std::vector<std::size_t> out{0};
  std::int64_t filled = 0;
  for (std::size_t i = 0; i < tensors.size(); ++i) {
    const std::int64_t bytes = tensors[i].tensor.bytes();
    if (i > out.back() && bytes > most - filled) {
      out.push_back(i);
      filled = 0;
    }
    filled += bytes;
  }
  return out;
}

void write_file(AtomicFolder& folder, const std::string& name, std::span<const NamedTensor> tensors) {
  AtomicFile file(folder.file(name));
  write_torch_safetensors(file, tensors);
  file.commit();
}

}  // namespace

void write_torch_shards(AtomicFolder& folder, std::span<const NamedTensor> tensors, std::int64_t most) {
  const std::vector<std::size_t> begins = beginnings(tensors, most);
  if (begins.size() == 1) return write_file(folder, kWhole, tensors);
  nlohmann::ordered_json places = nlohmann::ordered_json::object();
  std::int64_t total = 0;
  for (std::size_t i = 0; i < begins.size(); ++i) {
    const std::size_t end = i + 1 < begins.size() ? begins[i + 1] : tensors.size();
    const std::string name = fmt::format("model-{:05}-of-{:05}.safetensors", i + 1, begins.size());
    const auto part = tensors.subspan(begins[i], end - begins[i]);
    write_file(folder, name, part);
    for (const NamedTensor& each : part) {
      places[each.name] = name;
      total += each.tensor.bytes();
    }
  }
  const nlohmann::ordered_json index = {{"metadata", {{"total_size", total}}}, {"weight_map", std::move(places)}};
  folder.write(std::string(kWhole) + ".index.json", index.dump(2) + "\n");
}

}  // namespace attn::io
