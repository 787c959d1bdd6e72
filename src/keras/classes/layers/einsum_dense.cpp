// EinsumDense: a dense map given by an einsum equation (keras/src/layers/core/einsum_dense.py).
#include <algorithm>
#include <array>
#include <map>

#include "classes/dense_kernel.h"
#include "classes/layers/layers.h"
#include "classes/layers/lora.h"

namespace attn::keras {
namespace {

using graph::BinaryFn;
using graph::ValueId;

constexpr std::string_view kEllipsis = "...";

enum class EllipsisSide : std::uint8_t { none, left, right };

/// An equation such as "ab,bc->ac", possibly with "..." before or after both the input and the output.
struct Equation {
  std::string input, kernel, output;
  EllipsisSide elided = EllipsisSide::none;
};

bool is_letters(std::string_view text) {
  return !text.empty() &&
         std::all_of(text.begin(), text.end(), [](char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); });
}

std::optional<Equation> parse(std::string_view text) {
  const auto comma = text.find(','), arrow = text.find("->");
  if (comma == std::string_view::npos || arrow == std::string_view::npos || arrow < comma) return std::nullopt;
  std::string_view input = text.substr(0, comma), output = text.substr(arrow + 2);
  const std::string_view kernel = text.substr(comma + 1, arrow - comma - 1);
  Equation out;
  if (input.starts_with(kEllipsis) && output.starts_with(kEllipsis)) {
    out.elided = EllipsisSide::left;
    input.remove_prefix(kEllipsis.size());
    output.remove_prefix(kEllipsis.size());
  } else if (input.ends_with(kEllipsis) && output.ends_with(kEllipsis)) {
    out.elided = EllipsisSide::right;
    input.remove_suffix(kEllipsis.size());
    output.remove_suffix(kEllipsis.size());
  }
  if (!is_letters(input) || !is_letters(kernel) || !is_letters(output)) return std::nullopt;
  if (out.elided == EllipsisSide::right && input.size() < 2) return std::nullopt;
  out.input = input;
  out.kernel = kernel;
  out.output = output;
  return out;
}

/// The equation applied to an input (_analyze_split_string).
struct Analysis {
  int elided = 0;  ///< number of axes that "..." stands for
  Shape kernel, bias, output;
  std::vector<int> input_axes, output_axes;  ///< axes of the kernel that count for fan-in and fan-out
};

/// Returns "a b c" for "...ab c".
std::string spaced(std::string_view letters) {
  std::string out;
  for (const char letter : letters) {
    if (letter == '.' || letter == ' ') continue;
    if (!out.empty()) out += ' ';
    out += letter;
  }
  return out;
}

class EinsumDense : public Layer {
 public:
  void fields(Fields& f) override {
    output_shape_field(f);
    f.required("equation", equation_text);
    f("activation", activation);
    f("bias_axes", bias_axes);
    f("kernel_initializer", kernel_initializer);
    f("bias_initializer", bias_initializer);
    f("kernel_regularizer", kernel_regularizer);
    f("bias_regularizer", bias_regularizer);
    f("activity_regularizer", activity);
    f("kernel_constraint", kernel_constraint);
    f("bias_constraint", bias_constraint);
    f("quantization_config", quantization_config, 313);
    // Keras derives this value from the kernel, and writes it only if the kernel is quantized with GPTQ.
    if (f.reading() || unpacked_columns) f("gptq_unpacked_column_size", unpacked_columns, 313);
    lora.fields(f);
  }
  void check(const Ref& config) override {
    lora.check(config);
    const auto parsed = parse(equation_text);
    if (!parsed)
      config["equation"].fail("expected an equation as 'ab,bc->ac', '...ab,bc->...ac' or 'ab...,bc->ac...', got " +
                              config["equation"].kind());
    equation = *parsed;
    if (!bias_axes) return;
    if (bias_axes->empty()) config["bias_axes"].fail("expected letters of the output");
    for (const char axis : *bias_axes)
      if (!contains(equation.output, axis))
        config["bias_axes"].fail(fmt::format("the output '{}' does not have all of these letters", equation.output));
  }

  /// Returns the letters of the equation.
  [[nodiscard]] std::string symbols() const override {
    const auto comma = equation_text.find(','), arrow = equation_text.find("->");
    if (comma == std::string::npos || arrow == std::string::npos) return "";
    return "kernel: " + spaced(equation_text.substr(comma + 1, arrow - comma - 1)) +
           "; bias: " + spaced(bias_axes.value_or(""));
  }

  void build(Weights& w, Call& call) override {
    const Analysis found = analyze(call.shape("inputs"));
    if (const auto how = quantization_of(policy, quantization_config)) {
      lora.expect_known(*how);
      DenseKernel::Floats floats{letters(found.elided), found.kernel,
                                 kernel_initializer.with_axes(found.input_axes, found.output_axes)};
      if (bias_axes) floats.bias = found.bias;
      floats.bias_initializer = bias_initializer.value;
      kernel_.declare(w, *how, quantization_config, std::move(floats));
      return lora.declare(w, "kernel", found.kernel);
    }
    w.add("kernel", found.kernel, kernel_initializer.with_axes(found.input_axes, found.output_axes), !lora.is_on());
    if (bias_axes) w.add("bias", found.bias, bias_initializer);
    lora.declare(w, "kernel", found.kernel);
  }

  Arg call(Call& call) override {
    graph::Builder& b = call.builder();
    if (kernel_.is_quantized()) {
      const ValueId given = call.tensor("inputs")->id;
      const auto beside = lora.beside(call, given, kernel_.letters());
      return Call::result(activation.apply(b, kernel_.multiply(call, given, beside)));
    }
    // Integers are not yet cast to the compute dtype.
    const ValueId x = b.cast(call.tensor("inputs")->id, call.compute_dtype());
    const Analysis found = analyze(b.shape(x));
    const EinsumLetters letters = this->letters(found.elided);

    std::vector<ValueId> inputs = {x, lora.added(call, call.weight(0))};
    ValueId y = graph::kNone;
    bool bias = bias_axes.has_value();
    if (const int contracted = letters.contracted()) {
      graph::Linear linear;
      linear.contracted = contracted;
      linear.bias = bias && found.bias == found.kernel.slice(contracted, found.kernel.rank());
      if (linear.bias) inputs.push_back(call.weight(1));
      bias = bias && !linear.bias;
      y = b.apply(linear, inputs);
    } else {
      y = b.apply(graph::Einsum{letters.equation()}, inputs);
    }
    if (bias) y = b.binary(BinaryFn::add, y, call.weight(1));
    return Call::result(activation.apply(b, y));
  }

  [[nodiscard]] bool quantizes() const override { return true; }
  void quantize(const Quantization& how) override {
    // Keras 3.15 also fails to quantize such an equation.
    if (equation_text.find(kEllipsis) != std::string::npos) return;
    policy.quantize(how);
    quantization_config = QuantizationConfig::of(how);
  }

  /// Keras uses `output_shape` as it is: null is unknown, even if the input determines the size.
  std::optional<std::vector<Shape>> symbolic_shapes(Call& call) override {
    return {{analyze(call.shape("inputs")).output}};
  }

 private:
  void output_shape_field(Fields& f) {
    if (!f.reading()) {
      Json list = Json::array();
      for (const Dim dim : output_shape) list.push_back(dim == kUnknown ? Json() : Json(dim));
      f.put("output_shape", python_tuple(std::move(list)));
      return;
    }
    const auto ref = f.take("output_shape");
    if (!ref) f.config().fail("the key 'output_shape' is missing");
    output_shape = ref->is_integer() ? Shape{ref->integer_from(1)} : ref->shape();
  }

  [[nodiscard]] Analysis analyze(const Shape& in) const {
    Analysis out;
    const int named = static_cast<int>(equation.input.size());
    out.elided = in.rank() - named;
    if (out.elided < 0 || (out.elided > 0 && equation.elided == EllipsisSide::none))
      throw bad_input("the equation '{}' does not fit an input of {}", equation_text, in.str());
    const bool left = equation.elided == EllipsisSide::left;

    std::vector<Dim> output = {in[0]};
    output.insert(output.end(), output_shape.begin(), output_shape.end());
    if (left) {
      for (int i = 1; i < out.elided; ++i) output.insert(output.begin() + 1, in[i]);
    } else {
      for (int i = named; i < in.rank(); ++i) output.push_back(in[i]);
    }
    out.output = Shape(output);
    const int shift = left ? out.elided : 0;
    if (out.output.rank() < shift + static_cast<int>(equation.output.size()))
      throw bad_input("output_shape needs {} dimensions for the equation '{}', got {}",
                      static_cast<int>(equation.output.size()) - (shift == 0 ? 1 : 0), equation_text,
                      output_shape.str());

    std::map<char, Dim> input_dims, output_dims;
    for (int i = 0; i < named; ++i) input_dims[equation.input[static_cast<std::size_t>(i)]] = in[i + shift];
    for (std::size_t i = 0; i < equation.output.size(); ++i)
      output_dims[equation.output[i]] = out.output[static_cast<int>(i) + shift];
    for (const char letter : equation.input) {
      const auto it = output_dims.find(letter);
      if (it != output_dims.end() && it->second != kUnknown && it->second != input_dims[letter])
        throw bad_input("'{}' of the equation '{}' is {} in the input {} and {} in output_shape", letter, equation_text,
                        input_dims[letter], in.str(), it->second);
    }
    for (std::size_t i = 0; i < equation.kernel.size(); ++i) {
      const char letter = equation.kernel[i];
      if (const auto it = output_dims.find(letter); it != output_dims.end()) {
        out.kernel.push_back(it->second);
        out.output_axes.push_back(static_cast<int>(i));
      } else if (const auto at = input_dims.find(letter); at != input_dims.end()) {
        out.kernel.push_back(at->second);
        out.input_axes.push_back(static_cast<int>(i));
      } else {
        throw bad_input("'{}' of the equation '{}' is neither in the input nor in the output", letter, equation_text);
      }
    }
    if (bias_axes) {
      for (std::size_t i = equation.output.find_first_of(*bias_axes); i < equation.output.size(); ++i)
        out.bias.push_back(contains(*bias_axes, equation.output[i]) ? out.output[static_cast<int>(i) + shift] : 1);
      if (!left) out.bias.append(Shape(std::vector<Dim>(static_cast<std::size_t>(out.elided), 1)));
    }
    return out;
  }

  /// Returns the letters of all axes, with `elided_axes` letters for "...".
  [[nodiscard]] EinsumLetters letters(int elided_axes) const {
    const std::string elided = elided_letters(elided_axes);
    const bool left = equation.elided == EllipsisSide::left;
    return {left ? elided + equation.input : equation.input + elided, equation.kernel,
            left ? elided + equation.output : equation.output + elided};
  }

  /// Returns `count` letters that the equation does not use.
  [[nodiscard]] std::string elided_letters(int count) const {
    const std::string used = equation.input + equation.kernel + equation.output;
    std::string out;
    for (const char first : {'A', 'a'})
      for (char letter = first; letter < first + 26 && static_cast<int>(out.size()) < count; ++letter)
        if (!contains(used, letter)) out += letter;
    if (static_cast<int>(out.size()) < count) throw bad_input("the equation '{}' has too many axes", equation_text);
    return out;
  }

  Shape output_shape;
  std::optional<Positive> unpacked_columns;
  std::string equation_text;
  Equation equation;
  Activation activation;
  std::optional<std::string> bias_axes;
  Initializer kernel_initializer{"glorot_uniform"}, bias_initializer{"zeros"};
  Regularizer kernel_regularizer, bias_regularizer, activity;
  Constraint kernel_constraint, bias_constraint;
  QuantizationConfig quantization_config;
  DenseKernel kernel_;  // the kernel, if weights are quantized
  Lora lora;
};

constexpr std::array kEinsumDenseClasses = {
    ClassInfo{.name = "EinsumDense", .make = make_layer<EinsumDense>, .since = 300, .role = Role::kernel}};

}  // namespace

Family einsum_dense_classes() { return kEinsumDenseClasses; }

}  // namespace attn::keras
