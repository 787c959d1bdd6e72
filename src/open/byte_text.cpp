#include "attn/open/byte_text.h"

#include <algorithm>

#include "attn/base/error.h"
#include "attn/base/text.h"
#include "attn/io/file.h"
#include "attn/run/inputs.h"

namespace attn::open {

Tensor rows_of_bytes(std::span<const std::byte> bytes, Dim rows, Dim length) {
  Tensor out(DType::int32, {rows, length});
  const auto numbers = out.as<std::int32_t>();
  for (std::size_t i = 0; i < numbers.size(); ++i) numbers[i] = std::to_integer<std::int32_t>(bytes[i]);
  return out;
}

std::optional<ByteInput> byte_input(const keras::Model& model, const std::optional<std::int64_t>& sequence_length) {
  constexpr std::int64_t kBytes = 256;
  if (model.task() || !model.text_inputs().empty() || model.input_names().size() != 1) return std::nullopt;
  keras::LowerOptions options;
  options.batch = 1;
  options.sequence_length = sequence_length;
  const graph::Graph graph = model.lower(options);
  if (graph.inputs.size() != 1) return std::nullopt;
  const graph::Value& input = graph.value(graph.inputs[0]);
  if (!is_integer(input.dtype) || input.shape.rank() != 2) return std::nullopt;
  const auto rows = run::indexed_rows(graph, graph.inputs[0]);
  if (!rows || *rows > kBytes) return std::nullopt;
  return ByteInput{input.name, input.shape[1], *rows};
}

Tensor read_byte_rows(const keras::Model& model, ByteInput input, const std::string& file,
                      const std::optional<std::int64_t>& sequence_length, std::optional<std::int64_t> most_rows) {
  const io::Bytes text = io::read_file(file);
  const auto size = static_cast<Dim>(text.size());
  if (size > 0 && size < input.length && !sequence_length && model.reaches_length(size)) input.length = size;
  Dim rows = size / input.length;
  if (rows == 0)
    throw bad_input("{}: the file has {} bytes; a row of the input '{}' needs {}", printable(file), size,
                    printable(input.name), input.length);
  if (most_rows) rows = std::min(rows, *most_rows);
  const Tensor out = rows_of_bytes(text.span(), rows, input.length);
  const auto numbers = out.as<std::int32_t>();
  const auto beyond = std::ranges::find_if(numbers, [&](std::int32_t byte) { return byte >= input.vocabulary; });
  if (beyond != numbers.end())
    throw bad_input(
        "{}: the byte {} at {} is not a token of the model, which has {}: its tokens are not bytes, or it was not "
        "trained on such text",
        printable(file), *beyond, beyond - numbers.begin(), input.vocabulary);
  return out;
}

}  // namespace attn::open
