// The results of runs and benchmarks as plain values. Other modules fill them; this one formats them.
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

/// The setting of a run or benchmark.
struct Setting {
  std::string model;
  std::string device;            ///< argument of --device: "cpu", "cuda:0"
  std::string backend;           ///< "reference", "onednn", "cuda"
  std::string dtype;             ///< "float32", a policy such as "mixed_bfloat16"
  std::string matmul_precision;  ///< "highest", "high", "medium"
  std::int64_t batch = 1;
  std::optional<std::int64_t> seq_len;  ///< length; empty if the model has no such dimension
  int threads = 1;
  std::optional<double> mean_length = {};  ///< mean length of padded sequences relative to the full length, for a
                                           ///< benchmark
  bool skip_padding = false;
  std::string test = "";  ///< name of a decoder's benchmark: "pp512", "tg128@d4096"; otherwise empty
  /// The source of the weights: "model.keras", "random, seed 0"; "" if there are none.
  std::string weights = {};

  friend bool operator==(const Setting&, const Setting&) = default;
};

/// The origin of a page. Unknown values are "".
struct Provenance {
  std::string file, sha256;  ///< file of the model, and its SHA-256
  std::string version;       ///< version of attn
  std::string date;          ///< date and time: "2026-11-24 20:15 UTC"
  std::string command;       ///< command line, quoted for a shell
};

struct InputReport {
  std::string name;
  std::string dtype;
  Shape shape;
  std::string source;  ///< "random", or the file of the input
};

/// An output with statistics over its finite elements, which are NaN if there are none.
struct OutputReport {
  std::string name;
  std::string dtype;
  Shape shape;
  double mean = 0, std = 0, min = 0, max = 0;
  std::int64_t non_finite = 0;       ///< number of elements that are NaN or infinite
  std::vector<double> first_values;  ///< the first elements, in memory order
  std::string sha256;                ///< SHA-256 of the output's bytes; "" if not requested
  /// All strings if the dtype is "string", which has no statistics. The bytes of such an output are the strings, each
  /// followed by a NUL.
  std::vector<std::string> strings{};
};

/// The probability of each text for each image, by a model that compares them.
struct LabelsReport {
  bool is_independent = false;  ///< whether the probabilities of an image are independent, and do not add up to 1
  std::vector<std::string> texts;
  std::vector<std::string> images;                 ///< names of the files
  std::vector<std::vector<double>> probabilities;  ///< of each image, in the order of the texts
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
  double load_seconds = 0;                           ///< time for loading the model and binding its weights
  double prepare_seconds = 0;                        ///< time for planning and compiling
  double run_seconds = 0;                            ///< time of the forward pass
  std::int64_t predicted_bytes = 0, peak_bytes = 0;  ///< of the process: the prediction before allocation, and the
                                                     ///< measured peak
  std::optional<LabelsReport> labels;                ///< set if texts were given
  std::optional<CompareReport> compare;
  std::optional<run::FiniteCheck> finite;
  std::optional<ParallelReport> parallel;  ///< set if several ranks ran the model
};

/// The time of one layer in an iteration.
struct ProfileRow {
  std::string layer;
  std::string operation;
  std::string implementation;  ///< name of the kernel that ran
  double ms = 0;
  double gflop = 0;
  double megabytes = 0;    ///< megabytes read and written, each value counted once
  double bound_ms = 0;     ///< lower bound of the time, by the measured peaks of the machine
  bool by_memory = false;  ///< whether the bound comes from memory bandwidth instead of FLOPs
  std::int64_t count = 1;  ///< for --ops: the number of such operations in the model
};

/// The matching row of an earlier benchmark, and whether the new row is slower than it.
struct Baseline {
  double median_ms = 0;
  bool slower = false;  ///< slower by more than the spread of both measurements
  bool failed = false;  ///< slower than --fail-if-slower allows
};

/// Further times of a GPU. Its main time is for data on the device with a warm cache.
struct GpuTimes {
  double cold_ms = 0;        ///< median with a cold device cache
  double end_to_end_ms = 0;  ///< median on the host's clock, including copies of inputs and outputs
  int clock_mhz = 0;         ///< clock right after the measurement; 0: unknown
  double watts = 0;          ///< power right after the measurement; 0: unknown
};

/// Further results for a decoder. For prefill, times are those of whole prompts; for decode steps, those of each token.
struct DecodingRow {
  std::int64_t depth = 0;                          ///< number of positions that are already in the cache
  std::int64_t tokens = 0;                         ///< number of tokens of a prompt, or of decode steps
  std::int64_t rounds = 0;                         ///< number of repetitions
  std::int64_t weight_bytes = 0, cache_bytes = 0;  ///< mean bytes read by a step
  std::optional<double> memory_share;  ///< the achieved fraction of the bandwidth of the memory or cache that holds
                                       ///< them
};

struct BenchRow {
  Setting setting;
  std::int64_t iterations = 0;
  run::Latency ms;
  run::Noise noise;
  std::vector<double> samples_ms;  ///< time of each run in order, if requested
  std::optional<run::Verification> verification;
  bool partial = false;                     ///< whether the measurement was interrupted before its full duration
  std::optional<double> tokens_per_second;  ///< empty if the model has no sequence
  double gflop = 0;                         ///< number of floating-point operations for one iteration, in 10^9
  double gflops_per_second = 0;
  std::int64_t peak_bytes = 0;
  std::optional<double> peak_share;  ///< fraction of the device's measured peak for large matrix products, 0 to 1
  std::optional<double> error;       ///< ‖out − exact‖ / ‖exact‖ of the timed outputs, relative to float64
  std::optional<DecodingRow> decoding;
  std::optional<GpuTimes> gpu;  ///< further times of a GPU, for which `ms` is the time on the device
  std::optional<Baseline> baseline;
  std::vector<ProfileRow> profile;  ///< time of each layer; empty unless requested
};

/// The operations of a model, each measured on its own.
struct OperationsReport {
  Setting setting;
  std::vector<ProfileRow> operations;
  bool partial = false;  ///< whether some operations are missing after an interruption
};

/// The environment of a measurement. Strings are empty if the system does not provide them.
struct Environment {
  std::string attn;  ///< version of attn
  std::string onednn;
  std::string system;  ///< operating system: "Linux 6.1.0 x86_64"
  std::string cpu;
  std::vector<std::string> isa;  ///< instruction sets of the CPU
  std::string kernel_isa;        ///< the newest instruction set that kernels used: "avx512"
  int cores = 0;
  std::int64_t memory_bytes = 0;
  std::string governor;        ///< CPU frequency governor: "performance"
  std::optional<double> load;  ///< mean number of busy processes over the minute before the measurement
  std::string gpu, driver;     ///< name and driver version of the GPU, if one was measured
};

struct BenchReport {
  std::string machine;  ///< name of the machine: "AMD EPYC 9R14, 2 threads"
  std::vector<BenchRow> rows;
  std::vector<OperationsReport> operations;  ///< results of --ops
  Environment environment;
  std::vector<run::Peaks> peaks;  ///< measured peaks of the machine, if requested
  bool partial = false;           ///< whether rows are missing, or the last one is incomplete, after an interruption
};

}  // namespace attn::report
