// Writes the messages of onnx.proto, IR version 8 and later. Field numbers are those of that file.
#include <filesystem>
#include <type_traits>

#include "attn/base/error.h"
#include "attn/graph/op.h"
#include "attn/io/atomic_file.h"
#include "attn/onnx/export.h"
#include "wire.h"

namespace attn::onnx {

std::int64_t type_code(DType dtype) noexcept {
  switch (dtype) {
    case DType::float32:
      return 1;
    case DType::uint8:
      return 2;
    case DType::int8:
      return 3;
    case DType::uint16:
      return 4;
    case DType::int16:
      return 5;
    case DType::int32:
      return 6;
    case DType::int64:
      return 7;
    case DType::boolean:
      return 9;
    case DType::float16:
      return 10;
    case DType::float64:
      return 11;
    case DType::uint32:
      return 12;
    case DType::uint64:
      return 13;
    case DType::bfloat16:
      return 16;
  }
  return 0;
}

namespace {

/// Returns the IR version that belongs to an operator set.
int format_of(int opset) {
  if (opset >= 23) return 11;
  if (opset >= 21) return 10;
  return opset >= 19 ? 9 : 8;
}

std::span<const std::byte> bytes_of(const Tensor& tensor) {
  return {tensor.data(), static_cast<std::size_t>(tensor.bytes())};
}

/// The file with the bytes of large tensors.
class ExternalData {
 public:
  ExternalData(const std::string& path, bool used) {
    if (!used) return;
    name_ = std::filesystem::path(path + ".data").filename().string();
    file_ = std::make_unique<io::AtomicFile>(path + ".data");
  }
  /// Small tensors stay in the model file, because shape inference reads them.
  [[nodiscard]] bool takes(const Tensor& tensor) const {
    constexpr std::int64_t kLeast = 1024;
    return file_ && tensor.bytes() >= kLeast;
  }
  /// Writes the bytes and records their position.
  void put(const Tensor& tensor, Message& out) {
    constexpr std::int64_t kPage = 4096;  // alignment, so that the file can be memory-mapped
    const std::string gap(static_cast<std::size_t>((kPage - offset_ % kPage) % kPage), '\0');
    file_->write(gap);
    offset_ += static_cast<std::int64_t>(gap.size());
    file_->write(bytes_of(tensor));
    entry(out, "location", name_);
    entry(out, "offset", std::to_string(offset_));
    entry(out, "length", std::to_string(tensor.bytes()));
    out.number(14, 1);  // data_location EXTERNAL
    offset_ += tensor.bytes();
  }
  void commit() {
    if (file_) file_->commit();
  }

 private:
  static void entry(Message& out, std::string_view key, std::string_view value) {
    Message pair;
    pair.text(1, key);
    pair.text(2, value);
    out.message(13, std::move(pair));
  }

  std::string name_;
  std::unique_ptr<io::AtomicFile> file_;
  std::int64_t offset_ = 0;
};

Message message_of(const Tensor& tensor, const std::string& name, ExternalData* outside) {
  Message out;
  out.numbers(1, tensor.shape().dims());
  out.number(2, type_code(tensor.dtype()));
  if (!name.empty()) out.text(8, name);
  if (outside != nullptr && outside->takes(tensor)) {
    outside->put(tensor, out);
  } else {
    out.bytes(9, bytes_of(tensor));
  }
  return out;
}

Message message_of(const ValueInfo& value) {
  Message tensor, shape, type, out;
  for (const Dimension& size : value.shape) {
    Message dim;
    if (const auto* number = std::get_if<Dim>(&size)) {
      dim.number(1, *number);
    } else {
      dim.text(2, std::get<std::string>(size));
    }
    shape.message(1, std::move(dim));
  }
  tensor.number(1, type_code(value.dtype));
  if (value.ranked) tensor.message(2, std::move(shape));
  type.message(1, std::move(tensor));
  out.text(1, value.name);
  out.message(2, std::move(type));
  return out;
}

Message message_of(const Graph& graph, ExternalData* outside);

Message message_of(const Attribute& attribute) {
  enum : std::int64_t { real = 1, number = 2, text = 3, tensor = 4, graph = 5, numbers = 7 };  // AttributeType
  Message out;
  out.text(1, attribute.name);
  const auto kind = [&](std::int64_t value) { out.number(20, value); };
  std::visit(graph::Overloaded{[&](std::int64_t value) {
                                 out.number(3, value);
                                 kind(number);
                               },
                               [&](double value) {
                                 out.real(2, static_cast<float>(value));
                                 kind(real);
                               },
                               [&](const std::string& value) {
                                 out.text(4, value);
                                 kind(text);
                               },
                               [&](const std::vector<std::int64_t>& values) {
                                 for (const std::int64_t value : values) out.number(8, value);
                                 kind(numbers);
                               },
                               [&](const Tensor& value) {
                                 out.message(5, message_of(value, "", nullptr));
                                 kind(tensor);
                               },
                               [&](const std::shared_ptr<const Graph>& value) {
                                 out.message(6, message_of(*value, nullptr));
                                 kind(graph);
                               }},
             attribute.value);
  return out;
}

Message message_of(const Node& node) {
  Message out;
  for (const std::string& input : node.inputs) out.text(1, input);
  for (const std::string& output : node.outputs) out.text(2, output);
  out.text(3, node.name);
  out.text(4, node.op);
  for (const Attribute& attribute : node.attributes) out.message(5, message_of(attribute));
  return out;
}

Message message_of(const Graph& graph, ExternalData* outside) {
  Message out;
  for (const Node& node : graph.nodes) out.message(1, message_of(node));
  out.text(2, graph.name);
  for (const NamedTensor& tensor : graph.initializers) out.message(5, message_of(tensor.tensor, tensor.name, outside));
  for (const ValueInfo& input : graph.inputs) out.message(11, message_of(input));
  for (const ValueInfo& output : graph.outputs) out.message(12, message_of(output));
  return out;
}

}  // namespace

void write_model(const std::string& path, const Model& model, const std::string& version, std::int64_t most_inside) {
  std::int64_t bytes = 0;
  for (const NamedTensor& tensor : model.graph.initializers) bytes += tensor.tensor.bytes();
  io::AtomicFile file(path, io::AtomicFile::Content::binary);
  ExternalData outside(path, bytes > most_inside);
  Message out, opset;
  out.number(1, format_of(model.opset));
  out.text(2, "attn");
  out.text(3, version);
  out.message(7, message_of(model.graph, &outside));
  opset.text(1, "");
  opset.number(2, model.opset);
  out.message(8, std::move(opset));
  outside.commit();
  for (const std::string_view piece : out.pieces()) file.write(piece);
  file.commit();
}

}  // namespace attn::onnx
