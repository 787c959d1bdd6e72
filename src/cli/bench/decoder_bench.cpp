#include "bench/decoder_bench.h"

#include <fmt/format.h>

#include <algorithm>

#include "attn/base/error.h"
#include "attn/base/rng.h"
#include "attn/base/stop.h"
#include "attn/generate/open_decoder.h"
#include "attn/library/setting.h"
#include "attn/open/model.h"
#include "attn/run/verify.h"
#include "bench/measurement.h"

namespace attn::cli {
namespace {

using generate::Token;

/// Measures a prompt, or the decoding of single tokens, after `depth` filled positions.
struct DecoderTest {
  bool is_prompt = true;
  Dim tokens = 0, depth = 0;

  [[nodiscard]] std::string name() const {
    return fmt::format("{}{}{}", is_prompt ? "pp" : "tg", tokens, depth > 0 ? fmt::format("@d{}", depth) : "");
  }
  [[nodiscard]] Dim end() const { return depth + tokens; }
};

Tensor copy_of(const Tensor& tensor) {
  Tensor copy(tensor.dtype(), tensor.shape());
  std::copy_n(tensor.data(), tensor.bytes(), copy.data());
  return copy;
}

/// Measures a decoder with a fixed number of rows on random tokens.
class DecoderBench {
 public:
  DecoderBench(const BenchPlan& plan, const open::LoadedModel& loaded, const backends::Backend& backend, Dim rows,
               Dim capacity, Dim longest_prompt)
      : plan_(plan),
        backend_(backend),
        loaded_(loaded),
        rows_(rows),
        lower_(generate::step_of(loaded.model, plan.execution.dtype, {})),
        decoder_(generate::open_decoder(backend, loaded, plan.execution, {}, options(rows, capacity), longest_prompt,
                                        *plan.console)) {
    RandomStream random(plan.execution.seed, "tokens");
    const auto size = static_cast<std::uint64_t>(decoder_->vocabulary_size());
    for (Dim i = 0; i < rows * capacity; ++i) tokens_.push_back(static_cast<Token>(random.bits() % size));
  }

  void measure(const DecoderTest& test) {
    report::BenchRow row;
    const graph::Graph last = graph_of(1, test.end());
    row.setting = library::setting_of(loaded_, last, backend_, plan_.execution);
    row.setting.seq_len = std::nullopt;
    row.setting.test = test.name();
    run::reset_peak_memory();
    if (test.depth > 0) read(0, test.depth);  // other tests may have read other tokens
    std::vector<std::vector<double>> times;   // seconds of the prompt, or of each token, by round
    const run::SystemLoad others;
    std::vector<double> rounds = run::measure_timed([&] { return timed(test, times); }, plan_.options);
    if (rounds.empty()) return;
    row.noise = run::noise_of(rounds);
    row.noise.other_cores = others.cores();
    row.partial = plan_.stopped();
    const Tensor logits = copy_of(logits_);
    describe(test, rounds, std::vector(times.end() - std::ssize(rounds), times.end()), row);
    try {
      if (plan_.verify != Verify::never && !plan_.stopped()) row.verification = check(test, last, logits);
      if (plan_.profile && !plan_.stopped()) {
        // The check has read other tokens, so the cache is filled again.
        const Dim begin = test.is_prompt ? test.depth : test.end() - 1;
        begin_at(begin);
        read(begin, test.end() - begin);
        row.profile = profile_session(decoder_->last_session(), decoder_->last_inputs(),
                                      plan_.peaks_of(backend_, dtype_of_row(row.setting)));
      }
    } catch (const Stopped&) {  // the times are already complete
    }
    plan_.emit(std::move(row));
  }

 private:
  static generate::CachedDecoderOptions options(Dim rows, Dim capacity) {
    generate::CachedDecoderOptions out;
    out.rows = rows;
    out.capacity = capacity;
    return out;
  }

  /// Reads `count` tokens of each row at once.
  void read(Dim position, Dim count) {
    std::vector<Token> given;
    const Dim capacity = decoder_->capacity();
    for (Dim row = 0; row < rows_; ++row) {
      const auto from = tokens_.begin() + row * capacity + position;
      given.insert(given.end(), from, from + count);
    }
    logits_ = decoder_->advance({given, rows_, count, position, {}, false}).logits;
  }

  /// Reads the tokens before a position again, if a recurrent state after them is not kept.
  void begin_at(Dim position) {
    if (!decoder_->can_begin_at(position)) read(0, position);
  }

  /// Runs one round of a test and returns its seconds. Appends the seconds of each of its steps to `times`.
  double timed(const DecoderTest& test, std::vector<std::vector<double>>& times) {
    begin_at(test.depth);
    const run::Clock clock = run::steady_clock();
    const double start = clock();
    double last = start;
    std::vector<double>& each = times.emplace_back();
    const Dim at_once = test.is_prompt ? test.tokens : 1;
    for (Dim position = test.depth; position < test.end(); position += at_once) {
      read(position, at_once);
      const double now = clock();
      each.push_back(now - last);
      last = now;
    }
    return last - start;
  }

  [[nodiscard]] graph::Graph graph_of(Dim count, Dim capacity) const {
    generate::StepShape shape;
    shape.rows = shape.entries = rows_;
    shape.count = count;
    shape.capacity = capacity;
    return lower_(shape);
  }

  /// Returns the FLOPs of reading `count` tokens from `position` on, in chunks as in prefill.
  [[nodiscard]] double flops(Dim position, Dim count) const {
    const Dim most = options(rows_, 0).prefill_chunk;
    double sum = 0.0;
    for (Dim first = 0; first < count; first += most) {
      const Dim part = std::min(most, count - first);
      sum += static_cast<double>(run::total_flops(graph_of(part, position + first + part)));
    }
    return sum;
  }

  void describe(const DecoderTest& test, const std::vector<double>& rounds,
                const std::vector<std::vector<double>>& times, report::BenchRow& row) {
    std::vector<double> each;
    for (const auto& round : times) each.insert(each.end(), round.begin(), round.end());
    row.iterations = std::ssize(each);
    row.ms = run::latency_of(each);
    for (const double s : each) row.samples_ms.push_back(1e3 * s);
    row.peak_bytes = run::peak_memory();
    const double round = run::latency_of(rounds).median * 1e-3;
    row.tokens_per_second = static_cast<double>(rows_ * test.tokens) / round;
    const Dim middle = test.depth + test.tokens / 2 + 1;
    row.gflop = 1e-9 * (test.is_prompt ? flops(test.depth, test.tokens) : flops(middle - 1, 1));
    row.gflops_per_second = row.gflop / (row.ms.median * 1e-3);
    report::DecodingRow& decoding = row.decoding.emplace();
    decoding.depth = test.depth;
    decoding.tokens = test.tokens;
    decoding.rounds = std::ssize(rounds);
    decoding.weight_bytes = decoder_->weight_bytes();
    decoding.cache_bytes = decoder_->cache_bytes_read(test.is_prompt ? test.end() : middle);
    if (test.is_prompt) return;
    const auto bytes = static_cast<double>(decoding.weight_bytes + decoding.cache_bytes);
    decoding.memory_share = bytes / bandwidth() / (round / static_cast<double>(test.tokens));
  }

  double bandwidth() {
    if (!bandwidth_)
      bandwidth_ = run::measure_bandwidth(backend_, plan_.execution.compile_options(),
                                          decoder_->weight_bytes() + decoder_->cache_bytes());
    return *bandwidth_;
  }

  /// Checks the logits `got` of the last position. After a prompt they are computed again with a single-token step;
  /// after single tokens, with one prefill.
  run::Verification check(const DecoderTest& test, const graph::Graph& graph, const Tensor& got) {
    const Dim begin = test.is_prompt ? test.end() - 1 : 0;
    begin_at(begin);
    read(begin, test.end() - begin);
    return run::verify_against(test.is_prompt ? "one by one" : "all at once", graph, logits_, got,
                               plan_.execution.precision);
  }

  const BenchPlan& plan_;
  const backends::Backend& backend_;
  const open::LoadedModel& loaded_;
  Dim rows_;
  generate::LowerStep lower_;
  std::unique_ptr<generate::CachedDecoder> decoder_;
  std::vector<Token> tokens_;  // (rows, capacity)
  Tensor logits_;              // the logits of the last read; a view into the decoder
  std::optional<double> bandwidth_;
};

}  // namespace

std::int64_t DecoderTests::longest() const {
  std::int64_t most = 0, depth = 0;
  for (const auto* list : {&prompts, &steps})
    for (const std::int64_t tokens : *list) most = std::max(most, tokens);
  for (const std::int64_t one : depths) depth = std::max(depth, one);
  return depth + most;
}

void measure_decoder(const BenchPlan& plan, const DecoderTests& tests, const open::LoadedModel& loaded,
                     const backends::Backend& backend) {
  if (!loaded.model.decodes())
    throw bad_input("{}: a {} does not return next-token logits, so it has no prefill", loaded.file,
                    loaded.model.class_name());
  if (const auto task = loaded.model.task(); task && task->packing)
    throw bad_input("{}: a {} encodes prompts; --pp and --tg measure only decoders", loaded.file,
                    loaded.model.class_name());
  const Dim rows = plan.execution.batch.value_or(1), longest = tests.longest();
  DecoderBench bench(plan, loaded, backend, rows, longest, longest);
  for (const std::int64_t depth : tests.depths) {
    for (const std::int64_t tokens : tests.prompts)
      if (!plan.stopped()) bench.measure({true, tokens, depth});
    for (const std::int64_t tokens : tests.steps)
      if (!plan.stopped()) bench.measure({false, tokens, depth});
  }
}

}  // namespace attn::cli
