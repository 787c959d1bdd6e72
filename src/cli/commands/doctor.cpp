#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstdlib>
#include <fstream>
#include <memory>
#include <new>
#include <set>
#include <span>

#include "attn/backends/cpu.h"
#include "attn/backends/devices.h"
#include "attn/backends/registry.h"
#include "attn/base/error.h"
#include "attn/base/text.h"
#include "attn/io/audio.h"
#include "attn/io/hdf5.h"
#include "attn/io/image.h"
#include "attn/keras/model.h"
#include "attn/open/session.h"
#include "attn/open/weights.h"
#include "attn/report/doctor_view.h"
#include "attn/run/compare.h"
#include "attn/run/group_limits.h"
#include "attn/run/inputs.h"
#include "attn/run/machine.h"
#include "attn/run/session.h"
#include "bench/links.h"
#include "commands/devices.h"
#include "options/command.h"
#include "output/common.h"

namespace attn::cli {
namespace {

// A small model that uses attention, normalization, products and softmax.
constexpr std::string_view kProbe = R"({"name": "probe", "input_shape": [7, 16], "num_layers": 1, "num_heads": 2,
  "key_dim": 8, "intermediate_dim": 32, "activation": "gelu", "units": 5, "output_activation": "softmax"})";

std::vector<NamedTensor> probe_outputs(std::string_view backend_name) {
  const keras::Model model = keras::Model::read("probe", std::string(kProbe));
  graph::Graph graph = model.lower({});
  const std::vector<Tensor> inputs = run::make_inputs(graph, {}, 0);
  std::vector<Tensor> weights = open::draw_weights(model.weights(), 0, 1);
  const backends::MadeBackend made = backends::make_backend("cpu", backend_name);
  run::Session session(*made.backend, std::move(graph), std::move(weights), {});
  session.run(inputs);
  std::vector<NamedTensor> outputs;
  for (const NamedTensor& output : session.outputs())
    outputs.push_back({output.name, output.tensor.cast(DType::float64)});
  return outputs;
}

/// Runs `check` for a component. It returns a text if the component works; the text of an exception is the reason of a
/// failure.
template <typename Check>
report::DoctorCheck checked(const std::string& name, Check check) {
  report::DoctorCheck out{name, false, "", ""};
  try {
    out.detail = check();
    out.works = true;
  } catch (const std::bad_alloc&) {
    throw;  // the exception is not about the component
  } catch (const std::exception& error) {
    out.why_not = printable(error.what());
  }
  return out;
}

std::string check_onednn() {
  // The tolerance allows for float32 sums of a few hundred terms in another order; the reference adds in double.
  const run::Tolerance tolerance{1e-4, 1e-6};
  for (const run::OutputComparison& output :
       run::compare(probe_outputs("reference"), probe_outputs("onednn"), tolerance))
    if (!output.pass) throw internal_error("results differ from the reference loops");
  const backends::OnednnLibrary library = backends::onednn_library();
  return fmt::format("oneDNN {}, up to {}; agrees with the reference loops", library.version,
                     library.isa.empty() ? "an instruction set unknown here" : library.isa);
}

std::string check_hdf5(std::string& version) {
  version = io::hdf5_version();
  io::Hdf5File file;
  file.objects["array"].tensor = Tensor(DType::float32, {3});
  const io::Hdf5File read = io::read_hdf5(io::make_hdf5(file, "probe"), "probe");
  if (!read.objects.contains("array")) throw bad_input("a written file could not be read back");
  return fmt::format("HDF5 {}, written and read", version);
}

std::string check_images() {
  // a PNG with one gray pixel
  constexpr auto kImage = std::to_array<std::uint8_t>(
      {0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a, 0x00, 0x00, 0x00, 0x0d, 0x49, 0x48, 0x44, 0x52, 0x00,
       0x00, 0x00, 0x01, 0x00, 0x00, 0x00, 0x01, 0x08, 0x00, 0x00, 0x00, 0x00, 0x3a, 0x7e, 0x9b, 0x55, 0x00,
       0x00, 0x00, 0x0a, 0x49, 0x44, 0x41, 0x54, 0x78, 0x9c, 0x63, 0x68, 0x00, 0x00, 0x00, 0x82, 0x00, 0x81,
       0x77, 0xcd, 0x72, 0xb6, 0x00, 0x00, 0x00, 0x00, 0x49, 0x45, 0x4e, 0x44, 0xae, 0x42, 0x60, 0x82});
  const Tensor pixels = io::decode_image(io::Bytes::copy_of(std::as_bytes(std::span(kImage))), "probe");
  if (pixels.at(0) != 128.0) throw bad_input("an image was decoded wrongly");
  return io::image_version();
}

std::string check_sounds() {
  // a WAV file with one sample
  constexpr auto kSound = std::to_array<std::uint8_t>(
      {0x52, 0x49, 0x46, 0x46, 0x26, 0x00, 0x00, 0x00, 0x57, 0x41, 0x56, 0x45, 0x66, 0x6d, 0x74, 0x20,
       0x10, 0x00, 0x00, 0x00, 0x01, 0x00, 0x01, 0x00, 0x40, 0x1f, 0x00, 0x00, 0x80, 0x3e, 0x00, 0x00,
       0x02, 0x00, 0x10, 0x00, 0x64, 0x61, 0x74, 0x61, 0x02, 0x00, 0x00, 0x00, 0x00, 0x40});
  const io::Audio sound = io::decode_audio(io::Bytes::copy_of(std::as_bytes(std::span(kSound))), "probe");
  if (sound.samples.at(0) != 0.5) throw bad_input("a sound was decoded wrongly");
  return io::audio_version();
}

/// Returns "Debian GNU/Linux 12 (bookworm)", or "".
std::string distribution() {
  std::ifstream lines("/etc/os-release");
  constexpr std::string_view kKey = "PRETTY_NAME=";
  for (std::string line; std::getline(lines, line);) {
    if (!line.starts_with(kKey)) continue;
    std::string name = line.substr(kKey.size());
    std::erase(name, '"');
    return printable(name);
  }
  return "";
}

std::string system_name() {
  const std::string kernel = run::kernel_name(), name = distribution();
  return kernel.empty() ? name : name.empty() ? kernel : kernel + ", " + name;
}

std::string compiler() {
#if defined(__clang__)
  return "clang " __clang_version__;
#else
  return "g++ " __VERSION__;
#endif
}

struct DoctorCommand {
  std::optional<Program> program;
  Common common;
  bool parallel = false;

  void declare(Options& options) {
    program = options.program();
    add_common(options, common, {Format::table, Format::json, Format::markdown});
    options.flag("--parallel", parallel, "measure the links between the ranks of mpirun, for --cluster");
  }

  [[nodiscard]] int run() const {
    if (parallel) return run_shared();
    return print(examine());
  }

  [[nodiscard]] int print(const report::DoctorReport& report) const {
    common.write(report::render(common.form(), report));
    return static_cast<int>(report.works ? ExitCode::done : ExitCode::no_device);
  }

  [[nodiscard]] int run_shared() const {
    if (communicators::launched().size == 1)
      throw bad_usage("--parallel requires several ranks: mpirun -np 2 attn doctor --parallel");
    Ranks world({}, {parallel::Kind::data, {}}, common.console);
    report::DoctorReport report;
    const auto prepare = [&]() -> std::vector<Fingerprint> {
      if (world.speaks()) report = examine();
      return {fingerprint_of("attn", ATTN_VERSION)};
    };
    return world.run_on_ranks(prepare, [&] {
      report.links = measure_links(world);
      return world.speaks() ? print(report) : static_cast<int>(ExitCode::done);
    });
  }

  [[nodiscard]] report::DoctorReport examine() const {
    report::DoctorReport report;
    report.version = ATTN_VERSION;
    report.build = ATTN_BUILD_TYPE;
    report.compiler = compiler();
    const backends::OnednnLibrary library = backends::onednn_library();
    report.onednn = library.version;
    report.onednn_isa = library.isa;
    report.devices = find_devices();
    report.checks.push_back(checked("models on the CPU", check_onednn));
    report.works = report.checks.front().works;
    report.checks.push_back(checked("HDF5 files", [&] { return check_hdf5(report.hdf5); }));
    report.checks.push_back(checked("JPEG, PNG files", check_images));
    report.checks.push_back(checked("WAV, FLAC files", check_sounds));
    report.checks.push_back(checked("CUDA plugin", [] {
      const std::string path = backends::cuda_plugin_path();
      if (path.empty())
        throw bad_input("libattn_cuda.so is neither next to the program nor in ../lib/attn; build with nvcc");
      return printable(path);
    }));
    add_gpus(report);
    report.system = system_name();
    report.available_bytes = run::cpu_info().available_bytes;
    report.load = run::load_average().value_or(0);
    const run::Limits limits = run::group_limits();
    report.core_limit = limits.cores;
    report.memory_limit = limits.memory_bytes;
    add_variables(report);
    return report;
  }

  static void add_gpus(report::DoctorReport& report) {
    if (report.devices.devices.size() < 2)
      report.checks.push_back({"models on a GPU", false, "", report.devices.cuda_missing});
    for (const report::DeviceRow& row : report.devices.devices) {
      if (row.device == "cpu") continue;
      report.checks.push_back({"models on " + row.device, row.why_not.empty(), row.name, row.why_not});
    }
  }

  void add_variables(report::DoctorReport& report) const {
    std::set<std::string> known = {"ATTN_HDF5", "ATTN_IMAGE", "ATTN_ISA"};
    for (const CommandSpec& command : program->commands())
      for (const OptionSpec& option : command.options)
        if (!option.variable.empty()) known.insert(option.variable);
    const std::vector<std::string> names(known.begin(), known.end());
    const std::set<std::string_view> others = {"NO_COLOR",
                                               "COLUMNS",
                                               "TERM",
                                               "LANG",
                                               "LC_ALL",
                                               "LC_CTYPE",
                                               "OMP_NUM_THREADS",
                                               "OMP_PROC_BIND",
                                               "ONEDNN_MAX_CPU_ISA",
                                               "DNNL_MAX_CPU_ISA",
                                               "CUDA_VISIBLE_DEVICES"};
    for (char** entry = environ; *entry != nullptr; ++entry) {
      const std::string_view line = *entry;
      const std::string name(line.substr(0, line.find('=')));
      const bool ours = name.starts_with("ATTN_");
      if (!ours && !others.contains(name)) continue;
      report.variables.emplace_back(name, line.substr(std::min(line.size(), name.size() + 1)));
      if (ours && !known.contains(name))
        report.notes.push_back(fmt::format("no option has the variable {}{}", printable(name),
                                           did_you_mean(name, std::span<const std::string>(names))));
    }
    std::sort(report.variables.begin(), report.variables.end());
    std::sort(report.notes.begin(), report.notes.end());
  }
};

}  // namespace

Command doctor_command() {
  return command_of<DoctorCommand>("doctor", "check the installation and the machine, for a bug report");
}

}  // namespace attn::cli
