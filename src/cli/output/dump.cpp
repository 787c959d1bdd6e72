#include "output/dump.h"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>

#include "attn/base/error.h"
#include "attn/base/system_error.h"
#include "attn/base/text.h"
#include "attn/io/atomic_file.h"
#include "attn/io/descriptor.h"
#include "attn/io/npz.h"
#include "attn/report/dump_view.h"
#include "attn/report/terminal.h"
#include "attn/run/layer_arrays.h"
#include "output/console.h"

namespace attn::cli {
namespace {

/// Renames both files so that a manifest never describes other arrays. The old manifest is removed first and the new
/// one added last. The folder's lock excludes other dumps.
void commit(const std::string& folder, io::AtomicFile& arrays, io::AtomicFile& manifest) {
  const io::Descriptor lock(::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (lock) ::flock(lock.get(), LOCK_EX);  // not every file system has locks
  if (::unlink(manifest.path().c_str()) != 0 && errno != ENOENT)
    throw system_error(printable(manifest.path()), "cannot be replaced", errno);
  arrays.commit();
  manifest.commit();
}

}  // namespace

void write_dump(const std::string& folder, const graph::Graph& graph, std::span<const Tensor> inputs,
                const run::Session& session, const report::RunReport& report) {
  std::error_code error;
  std::filesystem::create_directories(folder, error);
  if (error) throw bad_input("{}: cannot create the folder: {}", printable(folder), error.message());
  const std::vector<run::LayerArray> layers = run::layer_arrays(graph, session.layer_outputs());
  std::vector<NamedTensor> named;
  for (std::size_t i = 0; i < inputs.size(); ++i) named.push_back({graph.value(graph.inputs[i]).name, inputs[i]});
  for (const run::LayerArray& layer : layers) named.push_back({layer.name, layer.from.tensor});
  io::AtomicFile arrays(folder + "/" + kDumpArrays), manifest(folder + "/manifest.json");
  io::write_npz(arrays, named);
  const std::string text = report::dump_json(report, layers);
  manifest.write(Console::ascii ? report::ascii_text(text) : text);
  commit(folder, arrays, manifest);
}

}  // namespace attn::cli
