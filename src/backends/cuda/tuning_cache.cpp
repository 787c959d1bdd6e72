#include <unistd.h>

#include <cctype>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>

#include "device.h"
#include "product.h"

namespace attn::cuda {
namespace {

using nlohmann::json;

/// The folder belongs to the user, but a file may be truncated or from another version. Anything but an array of
/// exactly one algorithm's words is rejected.
constexpr std::size_t kWords = sizeof(cublasLtMatmulAlgo_t) / sizeof(std::uint64_t);
constexpr std::uintmax_t kMostBytes = 16U << 20;

}  // namespace

struct TuningCache::Entries {
  std::map<std::string, cublasLtMatmulAlgo_t> algorithms;
  bool changed = false;
};

TuningCache::TuningCache(std::string folder, const Device& device) : entries_(std::make_shared<Entries>()) {
  std::string file = device.name() + "-cublaslt" + std::to_string(cublasLtGetVersion()) + ".json";
  for (char& c : file) {
    if (std::isalnum(static_cast<unsigned char>(c)) == 0 && c != '.' && c != '-') c = '-';
  }
  path_ = folder.empty() ? "" : std::move(folder) + "/" + file;
  if (path_.empty()) return;
  std::error_code error;
  const auto size = std::filesystem::file_size(path_, error);
  if (error || size > kMostBytes) return;
  std::ifstream stream(path_);
  const json document = json::parse(stream, nullptr, false);
  if (!document.is_object()) return;
  for (const auto& [key, words] : document.items()) {
    if (!words.is_array() || words.size() != kWords) continue;
    cublasLtMatmulAlgo_t algorithm{};
    bool whole = true;
    for (std::size_t i = 0; i < kWords; ++i) {
      whole = whole && words[i].is_number_unsigned();
      if (whole) algorithm.data[i] = words[i].get<std::uint64_t>();
    }
    if (whole) entries_->algorithms[key] = algorithm;
  }
}

std::optional<cublasLtMatmulAlgo_t> TuningCache::find(const std::string& key) const {
  const auto found = entries_->algorithms.find(key);
  if (found == entries_->algorithms.end()) return std::nullopt;
  return found->second;
}

void TuningCache::store(const std::string& key, const cublasLtMatmulAlgo_t& algorithm) {
  entries_->algorithms[key] = algorithm;
  entries_->changed = true;
}

void TuningCache::save() const {
  if (path_.empty() || !entries_->changed) return;
  json document = json::object();
  for (const auto& [key, algorithm] : entries_->algorithms) document[key] = algorithm.data;
  std::error_code error;
  std::filesystem::create_directories(std::filesystem::path(path_).parent_path(), error);
  const std::string beside = path_ + "." + std::to_string(getpid()) + ".tmp";
  std::ofstream stream(beside);
  stream << document.dump(1) << '\n';
  stream.close();
  if (stream) std::filesystem::rename(beside, path_, error);
  if (!stream || error) std::filesystem::remove(beside, error);
}

std::string TuningCache::default_folder() {
  if (const char* cache = std::getenv("XDG_CACHE_HOME"); cache != nullptr && *cache == '/')
    return std::string(cache) + "/attn";
  if (const char* home = std::getenv("HOME"); home != nullptr && *home == '/')
    return std::string(home) + "/.cache/attn";
  return {};
}

}  // namespace attn::cuda
