#include "attn/open/input_files.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "attn/base/error.h"
#include "attn/base/text.h"
#include "attn/open/image_converter.h"
#include "attn/open/label_texts.h"

namespace attn::open {
namespace {

bool takes_images(const graph::Value& input) {
  const Shape& shape = input.shape;
  return shape.rank() == 4 && is_floating(input.dtype) && (shape[3] == 3 || shape[1] == 3);
}

/// Returns the input that images are for, with its shape, whose dimensions may be unknown.
graph::Value image_input(const LoadedModel& loaded) {
  keras::LowerOptions options;
  options.symbolic = true;
  const graph::Graph graph = loaded.model.lower(options);
  std::vector<std::string> shapes;
  std::optional<graph::Value> found;
  for (const graph::ValueId id : graph.inputs) {
    const graph::Value& input = graph.value(id);
    shapes.push_back(fmt::format("'{}' {}", printable(input.name), input.shape.str()));
    if (!takes_images(input)) continue;
    if (found)
      throw bad_input("{}: `images` is ambiguous, as both '{}' and '{}' are inputs of images; give arrays by `inputs`",
                      loaded.file, printable(found->name), printable(input.name));
    found = input;
  }
  if (!found)
    throw bad_input("{}: no input takes `images`, floats of shape (batch, height, width, 3); the inputs are {}",
                    loaded.file, join(shapes, ", "));
  return *found;
}

/// Returns arrays of one shape as the rows of a batch.
Tensor stacked(const std::vector<Tensor>& rows) {
  const Shape& row = rows.front().shape();
  if (rows.size() == 1) return rows.front().reshaped({1, row[0], row[1], row[2]});  // an image may be large
  const Tensor out(DType::float32, {std::ssize(rows), row[0], row[1], row[2]});
  for (std::size_t i = 0; i < rows.size(); ++i)
    std::memcpy(out.data() + static_cast<std::int64_t>(i) * rows[i].bytes(), rows[i].data(),
                static_cast<std::size_t>(rows[i].bytes()));
  return out;
}

void add_images(GivenInputs& given, const LoadedModel& loaded, const std::vector<std::string>& files,
                const Execution& execution, const Listener& listener) {
  const graph::Value input = image_input(loaded);
  if (given.files.contains(input.name))
    throw bad_usage("the input '{}' is given twice, by `images` and `inputs`", printable(input.name));
  const std::vector<Tensor> rows =
      convert_images(loaded, files, input.name, input.shape.slice(1, 4), execution, listener);
  given.arrays.emplace(input.name, stacked(rows));
  given.files[input.name] =
      files.size() == 1 ? files.front() : fmt::format("{} and {} more", files.front(), files.size() - 1);
}

void add_labels(GivenInputs& given, const LoadedModel& loaded, const std::vector<std::string>& texts,
                const Listener& listener) {
  const Tensor ids = label_ids(loaded, texts, listener);
  const std::string input(loaded.model.image_texts()->texts);
  if (!given.arrays.emplace(input, ids).second)
    throw bad_usage("the input '{}' is given twice, by `texts` and `inputs`", input);
  given.files[input] = texts.size() == 1 ? "1 text" : fmt::format("{} texts", texts.size());
}

}  // namespace

GivenInputs read_input_files(const LoadedModel& loaded, const InputFiles& files, const Execution& execution,
                             const Listener& listener, std::optional<std::int64_t> most_rows) {
  GivenInputs given = read_inputs(loaded.model, files.inputs, execution, listener, most_rows);
  if (!files.texts.empty()) add_labels(given, loaded, files.texts, listener);
  if (!files.images.empty()) add_images(given, loaded, files.images, execution, listener);
  if (!files.texts.empty() && given.files.size() == 1)
    throw bad_usage("`texts` needs images to compare with: give `images`, or the array of images by `inputs`");
  return given;
}

}  // namespace attn::open
