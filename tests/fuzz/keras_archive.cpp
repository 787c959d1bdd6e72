// Any model file except HDF5, which another process reads: the .keras archive, its metadata and config, and all formats
// of its summary.
#include <algorithm>

#include "attn/io/file_kind.h"
#include "attn/open/model_file.h"
#include "attn/report/summary.h"
#include "model.h"

namespace {

void print(const attn::keras::Summary& summary) {
  using namespace attn;
  fuzz::check_printable(report::render(report::Format::table, summary, {}), "a table");
  std::string csv = report::render(report::Format::csv, summary, {});
  csv.erase(std::remove(csv.begin(), csv.end(), '\r'), csv.end());  // CSV lines end in CR LF
  fuzz::check_printable(csv, "a CSV file");
  fuzz::check_printable(report::render(report::Format::markdown, summary, {}), "a Markdown table");
  fuzz::check_printable(report::render(report::Format::json, summary, {}), "JSON");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace attn;
  const io::Bytes file = fuzz::bytes_of(data, size);
  if (io::kind_of(file) == io::FileKind::hdf5) return 0;
  fuzz::accepts([&] {
    const open::ModelText text = open::model_text_of(file, "model.keras");
    fuzz::read_and_show(text.name, text.text, text.options);
    print(keras::Model::read(text.name, text.text, text.options).summary());
  });
  return 0;
}
