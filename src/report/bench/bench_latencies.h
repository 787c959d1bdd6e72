// The names of the latencies in JSON and CSV.
#pragma once

#include <array>
#include <string_view>
#include <utility>

#include "attn/report/json.h"
#include "attn/run/bench.h"

namespace attn::report {

inline constexpr std::array<std::pair<std::string_view, double run::Latency::*>, 9> kLatencies{
    {{"min", &run::Latency::min},
     {"p10", &run::Latency::p10},
     {"median", &run::Latency::median},
     {"mean", &run::Latency::mean},
     {"p90", &run::Latency::p90},
     {"p95", &run::Latency::p95},
     {"p99", &run::Latency::p99},
     {"p99_9", &run::Latency::p99_9},
     {"max", &run::Latency::max}}};

/// Returns the latencies of a benchmark that takes too few samples for the 95th and the 99.9th percentile.
[[nodiscard]] inline Json latency_json(const run::Latency& ms) {
  return {{"min", ms.min}, {"p10", ms.p10}, {"median", ms.median}, {"mean", ms.mean},
          {"p90", ms.p90}, {"p99", ms.p99}, {"max", ms.max}};
}

}  // namespace attn::report
