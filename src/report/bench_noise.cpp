// What was in the times and is not the model's, in plain words.
#include <fmt/format.h>

#include "attn/report/bench_view.h"
#include "attn/report/number.h"

namespace attn::report {

std::vector<std::string> noise_warnings(const BenchRow& row) {
  // What a quiet machine stays below: a twentieth of spread or drift, one run in a hundred, a quarter of a core.
  std::vector<std::string> out;
  const run::Noise& noise = row.noise;
  if (noise.spread > 0.05)
    out.push_back(fmt::format("times vary by ±{}; take differences below that for noise", percent(noise.spread)));
  if (noise.outliers * 100 > row.iterations)
    out.push_back(
        fmt::format("{} of {} passes took far longer than the others, up to {:.1f} times the median; "
                    "something else ran then",
                    noise.outliers, row.iterations, noise.slowest));
  if (noise.drift > 0.05)
    out.push_back(
        fmt::format("the last passes took {} longer than the first; the clock may have sunk", percent(noise.drift)));
  if (noise.drift < -0.05)
    out.push_back(
        fmt::format("the last passes took {} less than the first; let it warm up for longer", percent(-noise.drift)));
  if (noise.other_cores && *noise.other_cores > 0.25)
    out.push_back(fmt::format("other processes kept {:.1f} cores busy meanwhile", *noise.other_cores));
  return out;
}

}  // namespace attn::report
