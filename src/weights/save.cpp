#include "attn/weights/save.h"

#include <array>
#include <map>
#include <string_view>
#include <utility>
#include <vector>

#include "attn/base/error.h"
#include "attn/base/text.h"
#include "attn/io/atomic_file.h"
#include "attn/io/hdf5.h"
#include "attn/io/npz.h"
#include "attn/io/safetensors.h"

namespace attn::weights {
namespace {

using graph::WeightSpec;
using Specs = std::span<const WeightSpec>;
using Tensors = std::span<const Tensor>;

std::vector<NamedTensor> named(Specs specs, Tensors tensors) {
  std::map<std::string_view, int> uses;
  for (const WeightSpec& spec : specs) ++uses[spec.path];
  std::vector<NamedTensor> out;
  out.reserve(specs.size());
  for (std::size_t i = 0; i < specs.size(); ++i)
    out.push_back({uses[specs[i].path] == 1 ? specs[i].path : specs[i].store_path, tensors[i]});
  return out;
}

void write_npz(io::AtomicFile& file, Specs specs, Tensors tensors) { io::write_npz(file, named(specs, tensors)); }

void write_safetensors(io::AtomicFile& file, Specs specs, Tensors tensors) {
  io::write_safetensors(file, named(specs, tensors));
}

/// A path without its last part.
std::string parent(const std::string& path) {
  const std::size_t slash = path.rfind('/');
  return slash == std::string::npos ? std::string() : path.substr(0, slash);
}

/// As Keras lays its weights out: each in the group `vars` of its layer, which says the layer's name. Groups of layers
/// that have no weights are left out; Keras takes a group that is missing for an empty one.
void write_keras_hdf5(io::AtomicFile& file, Specs specs, Tensors tensors) {
  io::Hdf5File contents;
  for (std::size_t i = 0; i < specs.size(); ++i) {
    const WeightSpec& spec = specs[i];
    if (!contents.objects.emplace(spec.store_path, io::Hdf5Object{tensors[i], {}}).second) {
      throw internal_error("two weights are stored at '{}'", printable(spec.store_path));
    }
    const std::string layer = parent(spec.path);
    contents.objects[parent(spec.store_path)].attributes["name"] = {{layer.substr(layer.rfind('/') + 1)}, false};
  }
  io::write_hdf5(file, contents);
}

using Writer = void (*)(io::AtomicFile&, Specs, Tensors);

constexpr std::array<std::pair<std::string_view, Writer>, 3> kWriters = {
    {{".weights.h5", write_keras_hdf5}, {".safetensors", write_safetensors}, {".npz", write_npz}}};

Writer writer_of(const std::string& path) {
  for (const auto& [ending, writer] : kWriters)
    if (path.ends_with(ending)) return writer;
  throw bad_usage("{}: the file's name must end in .weights.h5, .safetensors or .npz", printable(path));
}

}  // namespace

void check_save_path(const std::string& path) { static_cast<void>(writer_of(path)); }

void save(const std::string& path, Specs specs, Tensors tensors) {
  const Writer write = writer_of(path);
  if (specs.size() != tensors.size()) {
    throw internal_error("{} tensors for {} weights are to be saved", tensors.size(), specs.size());
  }
  io::AtomicFile file(path);
  write(file, specs, tensors);
  file.commit();
}

}  // namespace attn::weights
