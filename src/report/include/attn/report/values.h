// What a run and a benchmark have to tell, as plain values. The rooms that know fill them; this room writes them.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "attn/base/shape.h"
#include "attn/report/parallel_report.h"
#include "attn/run/bench.h"
#include "attn/run/compare.h"
#include "attn/run/finite.h"
#include "attn/run/noise.h"
#include "attn/run/peaks.h"
#include "attn/run/verify.h"

namespace attn::report {

/// What the numbers of a run or a measurement were made with.
struct Setting {
  std::string model;
  std::string device;            ///< "cpu", "cuda:0"
  std::string backend;           ///< "reference", "onednn", "cuda"
  std::string dtype;             ///< "float32", a policy such as "mixed_bfloat16"
  std::string matmul_precision;  ///< "highest", "high", "medium"
  std::int64_t batch = 1;
  std::optional<std::int64_t> seq_len;  ///< nothing where the model has no such dimension
  int threads = 1;
  std::optional<double> mean_length = {};  ///< of sequences padded for a measurement, as a share of the whole
  bool skip_padding = false;
  std::string test = "";  ///< of a decoder's measurement: "pp512", "tg128@d4096"; else empty
  /// Where the weights came from: "model.keras", "random, seed 0"; "" where there are none.
  std::string weights = {};

  friend bool operator==(const Setting&, const Setting&) = default;
};

/// How a page came about. What is not known is "".
struct Provenance {
  std::string file, sha256;  ///< of the model
  std::string version;       ///< of attn
  std::string date;          ///< "2026-11-24 20:15 UTC"
  std::string command;       ///< as a shell takes it
};

struct InputReport {
  std::string name;
  std::string dtype;
  Shape shape;
  std::string source;  ///< "random", or the file it came from
};

/// Statistics over the finite elements; NaN where there is none.
struct OutputReport {
  std::string name;
  std::string dtype;
  Shape shape;
  double mean = 0, std = 0, min = 0, max = 0;
  std::int64_t non_finite = 0;       ///< NaN and infinite elements
  std::vector<double> first_values;  ///< in memory order
  std::string sha256;                ///< of its bytes; "" where nobody asked
  /// All of them where the dtype is "string", of which there are no statistics; its bytes end with a NUL each then.
  std::vector<std::string> strings{};
};

struct CompareReport {
  std::string file;
  double rtol = 0, atol = 0;
  bool pass = false;
  std::vector<run::OutputComparison> outputs;
};

struct RunReport {
  Setting setting;
  std::uint64_t seed = 0;
  std::vector<InputReport> inputs;
  std::vector<OutputReport> outputs;
  double load_seconds = 0;                           ///< reading and binding the model and its weights
  double prepare_seconds = 0;                        ///< planning and compiling
  double run_seconds = 0;                            ///< the forward pass
  std::int64_t predicted_bytes = 0, peak_bytes = 0;  ///< of the process: before anything was allocated, and in the end
  std::optional<CompareReport> compare;
  std::optional<run::FiniteCheck> finite;
  std::optional<ParallelReport> parallel;  ///< where several ranks ran it
};

/// One layer's share of an iteration.
struct ProfileRow {
  std::string layer;
  std::string operation;
  std::string implementation;  ///< which kernel ran
  double ms = 0;
  double gflop = 0;
  double megabytes = 0;    ///< read and written, each value once
  double bound_ms = 0;     ///< the least time by the machine's measured peaks
  bool by_memory = false;  ///< whether bytes set it, and not operations
  std::int64_t count = 1;  ///< of --ops: how often the model has it
};

/// The same row of an earlier benchmark.
struct Baseline {
  double median_ms = 0;
  bool slower = false;  ///< beyond what the spread of both explains
  bool failed = false;  ///< slower than --fail-if-slower allows
};

/// What a GPU adds to the times of a pass over data that is already there.
struct GpuTimes {
  double cold_ms = 0;        ///< median with nothing of the model in the device's cache
  double end_to_end_ms = 0;  ///< median on the host's clock, with the copies of inputs and outputs
  int clock_mhz = 0;         ///< of the processors, right after the measurement; 0: not told
  double watts = 0;          ///< drawn then; 0: not told
};

/// What a measurement of a decoder adds: of reading a prompt, whose times are those of whole prompts, or of tokens one
/// by one, whose times are those of each token.
struct DecodingRow {
  std::int64_t depth = 0;                          ///< positions that were read before
  std::int64_t tokens = 0;                         ///< of a prompt, or that came one by one
  std::int64_t rounds = 0;                         ///< so often
  std::int64_t weight_bytes = 0, cache_bytes = 0;  ///< that a step reads, in the mean
  std::optional<double> memory_share;  ///< of the speed at which the memory that holds them gives them, of a step
};

struct BenchRow {
  Setting setting;
  std::int64_t iterations = 0;
  run::Latency ms;
  run::Noise noise;
  std::vector<double> samples_ms;  ///< in their order, where they were asked for
  std::optional<run::Verification> verification;
  bool partial = false;                     ///< interrupted before it had the time that it was to have
  std::optional<double> tokens_per_second;  ///< nothing where the model has no sequence
  double gflop = 0;                         ///< of one iteration
  double gflops_per_second = 0;
  std::int64_t peak_bytes = 0;
  std::optional<double> peak_share;  ///< of the device's measured speed at one large product, 0 to 1
  std::optional<double> error;  ///< ‖out − exact‖ / ‖exact‖ of the outputs that were timed, against float64
  std::optional<DecodingRow> decoding;
  std::optional<GpuTimes> gpu;  ///< of a GPU, where `ms` is the device's own time
  std::optional<Baseline> baseline;
  std::vector<ProfileRow> profile;  ///< empty unless asked for
};

/// The operations of a model, each measured alone.
struct OperationsReport {
  Setting setting;
  std::vector<ProfileRow> operations;
  bool partial = false;  ///< interrupted: some are missing
};

/// Where and with what a measurement was made. Texts are empty where the system does not tell.
struct Environment {
  std::string attn;  ///< its version
  std::string onednn;
  std::string system;  ///< "Linux 6.1.0 x86_64"
  std::string cpu;
  std::vector<std::string> isa;  ///< of the CPU
  std::string kernel_isa;        ///< the newest that kernels used: "avx512"
  int cores = 0;
  std::int64_t memory_bytes = 0;
  std::string governor;        ///< of the CPU's clock: "performance"
  std::optional<double> load;  ///< processes that ran in the minute before, in the mean
  std::string gpu, driver;     ///< where one was measured
};

struct BenchReport {
  std::string machine;  ///< "AMD EPYC 9R14, 2 threads"
  std::vector<BenchRow> rows;
  std::vector<OperationsReport> operations;  ///< of --ops
  Environment environment;
  std::vector<run::Peaks> peaks;  ///< where they were asked for
  bool partial = false;           ///< interrupted: rows are missing, or the last one is partial
};

}  // namespace attn::report
