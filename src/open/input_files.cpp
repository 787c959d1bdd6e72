#include "attn/open/input_files.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "attn/base/error.h"
#include "attn/base/text.h"
#include "attn/io/image.h"
#include "attn/open/image_converter.h"

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

/// Throws Error (bad_input) unless an image of this shape, without a batch, fits into the input.
void check_fit(const graph::Value& input, const Shape& image, const std::string& file) {
  for (int axis = 0; axis < image.rank(); ++axis)
    if (input.shape[axis + 1] != kUnknown && input.shape[axis + 1] != image[axis])
      throw bad_input("{}: the model's ImageConverter gives {}, but the input '{}' is {}", printable(file), image.str(),
                      printable(input.name), input.shape.str());
}

/// Returns arrays of one shape as the rows of a batch.
Tensor stacked(const std::vector<Tensor>& rows, const std::vector<std::string>& files) {
  const Shape& row = rows.front().shape();
  const Tensor out(DType::float32, {std::ssize(rows), row[0], row[1], row[2]});
  for (std::size_t i = 0; i < rows.size(); ++i) {
    if (rows[i].shape() != row)
      throw bad_input(
          "{}: the image is {} and {} is {} after the model's ImageConverter, which does not resize; the "
          "images of a batch must have one size",
          printable(files[i]), rows[i].shape().str(), printable(files.front()), row.str());
    std::memcpy(out.data() + static_cast<std::int64_t>(i) * rows[i].bytes(), rows[i].data(),
                static_cast<std::size_t>(rows[i].bytes()));
  }
  return out;
}

void add_images(GivenInputs& given, const LoadedModel& loaded, const std::vector<std::string>& files,
                const Execution& execution, const Listener& listener) {
  const graph::Value input = image_input(loaded);
  if (given.files.contains(input.name))
    throw bad_usage("the input '{}' is given twice, by `images` and `inputs`", printable(input.name));
  auto converter = image_converter_of(loaded);
  if (!converter)
    throw bad_input(
        "{}: the model has no ImageConverter, which `images` needs to know the scale of the pixels; give the array of "
        "'{}' by `inputs`",
        loaded.file, printable(input.name));
  const std::unique_ptr<Work> work = listener.begin("reading images", static_cast<double>(files.size()));
  std::vector<Tensor> rows;
  for (const std::string& file : files) {
    rows.push_back(converter->convert(io::read_image(file), execution));
    check_fit(input, rows.back().shape(), file);
    work->advance();
  }
  given.arrays.emplace(input.name, stacked(rows, files));
  given.files[input.name] =
      files.size() == 1 ? files.front() : fmt::format("{} and {} more", files.front(), files.size() - 1);
}

}  // namespace

GivenInputs read_input_files(const LoadedModel& loaded, const InputFiles& files, const Execution& execution,
                             const Listener& listener, std::optional<std::int64_t> most_rows) {
  GivenInputs given = read_inputs(loaded.model, files.inputs, execution, listener, most_rows);
  if (!files.images.empty()) add_images(given, loaded, files.images, execution, listener);
  return given;
}

}  // namespace attn::open
