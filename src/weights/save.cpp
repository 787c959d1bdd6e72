#include "attn/weights/save.h"

#include <fmt/chrono.h>

#include <array>
#include <charconv>
#include <cstdlib>
#include <ctime>
#include <string_view>
#include <utility>

#include "attn/base/error.h"
#include "attn/base/text.h"
#include "attn/io/atomic_file.h"
#include "attn/io/hdf5.h"
#include "attn/io/keras_archive.h"
#include "attn/io/npz.h"
#include "attn/io/safetensors.h"
#include "attn/weights/file_names.h"
#include "attn/weights/keras_version.h"
#include "legacy_hdf5.h"

namespace attn::weights {
namespace {

using graph::WeightSpec;
using Specs = std::span<const WeightSpec>;
using Tensors = std::span<const Tensor>;

std::vector<NamedTensor> named(Specs specs, Tensors tensors) {
  const std::vector<std::string> names = file_names(specs);
  std::vector<NamedTensor> out;
  out.reserve(specs.size());
  for (std::size_t i = 0; i < specs.size(); ++i) out.push_back({names[i], tensors[i]});
  return out;
}

void write_npz(io::AtomicFile& file, Specs specs, Tensors tensors, const SavedModel& /*model*/) {
  io::write_npz(file, named(specs, tensors));
}

void write_safetensors(io::AtomicFile& file, Specs specs, Tensors tensors, const SavedModel& /*model*/) {
  io::write_safetensors(file, named(specs, tensors));
}

void write_legacy_hdf5(io::AtomicFile& file, Specs specs, Tensors tensors, const SavedModel& /*model*/) {
  io::write_hdf5(file, legacy_hdf5(specs, tensors));
}

/// Returns the path of the group or folder that contains `path`.
std::string parent(const std::string& path) {
  const std::size_t slash = path.rfind('/');
  return slash == std::string::npos ? std::string() : path.substr(0, slash);
}

/// Keras's layout: each weight is in the group `vars` of its layer, which also has the layer's name. Groups of layers
/// without weights are omitted, because Keras treats a missing group as empty.
io::Hdf5File keras_hdf5(Specs specs, Tensors tensors, const SavedModel& model) {
  io::Hdf5File contents;
  for (std::size_t i = 0; i < specs.size(); ++i) {
    const WeightSpec& spec = specs[i];
    for (const std::string& place : {spec.store_path, spec.store_again}) {
      if (place.empty()) continue;
      if (!contents.objects.emplace(place, io::Hdf5Object{tensors[i], {}}).second)
        throw internal_error("two weights are stored at '{}'", printable(place));
    }
    const std::string layer = parent(spec.path);
    contents.objects[parent(spec.store_path)].attributes["name"] = {{layer.substr(layer.rfind('/') + 1)}, false};
  }
  for (const NamedTensor& state : model.state) contents.objects.emplace(state.name, io::Hdf5Object{state.tensor, {}});
  return contents;
}

void write_keras_hdf5(io::AtomicFile& file, Specs specs, Tensors tensors, const SavedModel& model) {
  io::write_hdf5(file, keras_hdf5(specs, tensors, model));
}

}  // namespace

std::string date_saved() {
  std::time_t time = std::time(nullptr);
  if (const char* given = std::getenv("SOURCE_DATE_EPOCH"); given != nullptr) {
    const std::string_view text = given;
    std::from_chars(text.data(), text.data() + text.size(), time);
  }
  std::tm parts{};
  ::gmtime_r(&time, &parts);
  return fmt::format("{:%Y-%m-%d@%H:%M:%S}", parts);
}

namespace {

void write_archive(io::AtomicFile& file, Specs specs, Tensors tensors, const SavedModel& model) {
  if (model.config.empty()) throw internal_error("{}: a .keras archive without a config", printable(file.path()));
  io::KerasArchive archive;
  archive.metadata = fmt::format(R"({{"keras_version": "{}", "date_saved": "{}"}})", kKerasVersion, date_saved());
  archive.config = model.config;
  archive.assets = model.assets;
  archive.training = model.training;
  io::write_keras_archive(file, archive, keras_hdf5(specs, tensors, model));
}

using Write = void (*)(io::AtomicFile&, Specs, Tensors, const SavedModel&);

struct Format {
  std::string_view ending;
  Write write;
  bool needs_layout;
  bool holds_config;
};

// The first matching extension counts: .weights.h5 before .h5.
constexpr std::array<Format, 5> kFormats = {{{".weights.h5", write_keras_hdf5, true, false},
                                             {".keras", write_archive, true, true},
                                             {".h5", write_legacy_hdf5, true, false},
                                             {".safetensors", write_safetensors, false, false},
                                             {".npz", write_npz, false, false}}};

const Format& format_of(const std::string& path, std::string_view others = {}) {
  if (path == "-") return kFormats.back();  // stdout has no extension: .npz
  for (const Format& format : kFormats)
    if (path.ends_with(format.ending)) return format;
  throw bad_usage("{}: the file's name must end in .weights.h5, .keras, .h5, .safetensors{} or .npz", printable(path),
                  others);
}

}  // namespace

void check_save_path(const std::string& path, std::string_view others) { static_cast<void>(format_of(path, others)); }

bool holds_config(const std::string& path) { return format_of(path).holds_config; }

bool needs_layout(const std::string& path) { return format_of(path).needs_layout; }

void save(const std::string& path, Specs specs, Tensors tensors, const SavedModel& model) {
  const Format& format = format_of(path);
  if (specs.size() != tensors.size()) {
    throw internal_error("{} tensors for {} weights are to be saved", tensors.size(), specs.size());
  }
  io::AtomicFile file(path, io::AtomicFile::Content::binary);
  format.write(file, specs, tensors, model);
  if (model.check && file.hidden_file()) model.check(file.hidden_path());
  file.commit();
}

}  // namespace attn::weights
