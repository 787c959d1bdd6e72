#include "plan_cache.h"

#include <fmt/format.h>

#include "attn/base/text.h"
#include "attn/report/number.h"
#include "attn/report/table.h"

namespace attn::report {
namespace {

/// The states of one layer: its KV cache, or a recurrent state, which has one position.
struct CachedLayer {
  std::string name;
  DType dtype;
  Dim positions;
  std::int64_t token_bytes;
};

std::vector<CachedLayer> layers_of(const DecoderCache& cache) {
  std::vector<CachedLayer> out;
  for (const CachedState& state : cache.states) {
    const std::string name = state.name.substr(0, state.name.rfind('/'));
    if (!out.empty() && out.back().name == name && out.back().positions == state.positions &&
        out.back().dtype == state.dtype) {
      out.back().token_bytes += state.token_bytes;
    } else {
      out.push_back({name, state.dtype, state.positions, state.token_bytes});
    }
  }
  return out;
}

std::int64_t bytes_of_layer(const DecoderCache& cache, const CachedLayer& layer) {
  return layer.token_bytes * layer.positions * cache.sequences;
}

struct CacheSums {
  std::int64_t token_bytes = 0, bytes = 0;
};

CacheSums sums_of(const DecoderCache& cache) {
  CacheSums out;
  for (const CachedLayer& layer : layers_of(cache)) {
    if (layer.positions == cache.positions) out.token_bytes += layer.token_bytes;
    out.bytes += bytes_of_layer(cache, layer);
  }
  return out;
}

}  // namespace

std::string cache_text(const DecoderCache& cache) {
  const CacheSums sums = sums_of(cache);
  Table table{
      {{"Layer"}, {"Dtype"}, {"Bytes a token", Align::right}, {"Positions", Align::right}, {"Bytes", Align::right}},
      {}};
  for (const CachedLayer& layer : layers_of(cache))
    table.rows.push_back({layer.name, std::string(name_of(layer.dtype)), with_commas(layer.token_bytes),
                          with_commas(layer.positions), with_commas(bytes_of_layer(cache, layer))});
  return fmt::format("KV cache: {} of {} positions {} {}, {} bytes per token\n",
                     cache.sequences == 1 ? "a sequence" : fmt::format("{} sequences", cache.sequences),
                     with_commas(cache.positions), cache.sequences == 1 ? "takes" : "take", byte_size(sums.bytes),
                     with_commas(sums.token_bytes)) +
         plain_table(table);
}

Json cache_json(const DecoderCache& cache) {
  const CacheSums sums = sums_of(cache);
  Json json{{"sequences", cache.sequences},
            {"positions", cache.positions},
            {"token_bytes", sums.token_bytes},
            {"bytes", sums.bytes},
            {"layers", Json::array()}};
  for (const CachedLayer& layer : layers_of(cache))
    json["layers"].push_back({{"name", json_text(layer.name)},
                              {"dtype", name_of(layer.dtype)},
                              {"token_bytes", layer.token_bytes},
                              {"positions", layer.positions},
                              {"bytes", bytes_of_layer(cache, layer)}});
  return json;
}

}  // namespace attn::report
