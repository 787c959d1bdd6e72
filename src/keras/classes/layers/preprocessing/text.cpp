// Layers that encode strings, and numbers that are hashed, as integers. A layer reads them from an input of the model;
// its result becomes an input of the graph.
#include "attn/base/text.h"

#include <algorithm>
#include <array>

#include "classes/layers/layers.h"
#include "classes/layers/preprocessing/categories.h"
#include "classes/layers/preprocessing/string_output.h"
#include "classes/layers/preprocessing/vocabulary.h"

namespace attn::keras {
namespace {

using graph::BinaryFn;
using graph::ValueId;

/// The common part of layers that read strings.
class TextLayer : public Layer {
 public:
  [[nodiscard]] bool takes_texts() const override { return true; }
  [[nodiscard]] std::optional<DType> input_dtype() const override { return std::nullopt; }

 protected:
  /// Returns the encoded indices of the strings that the call reads.
  static ValueId indices(Call& call, text::Encoding encoding) {
    const TensorPtr in = call.tensor("inputs");
    if (!in->text) throw bad_input("it reads strings; give it an Input of dtype 'string'");
    return indices(call, {*in->text}, std::move(encoding));
  }
  static ValueId indices(Call& call, const std::vector<TextSource>& sources, text::Encoding encoding) {
    return call.lowering().encoded_texts(sources, std::make_shared<const text::Encoding>(std::move(encoding)));
  }
  /// Returns the source of strings, or of numbers from a graph input.
  static TextSource hashed(Call& call, const TensorPtr& tensor) {
    if (tensor->text) return *tensor->text;
    const graph::Graph& graph = call.builder().graph();
    const graph::Value& value = graph.value(tensor->id);
    if (std::ranges::find(graph.inputs, tensor->id) == graph.inputs.end())
      throw bad_input("it hashes numbers that the model computes; only inputs can be hashed");
    if (value.dtype == DType::boolean) throw bad_input("it hashes strings and numbers, not bool");
    return {value.name, value.shape, true};
  }
  /// Converts indices to an output mode. Counts were already computed with the strings; one-hot vectors are computed
  /// here.
  static ValueId in_mode(Call& call, ValueId indices, std::string_view mode, Dim depth, DType dtype) {
    if (mode == "one_hot") return encoded(call.builder(), indices, mode, depth, dtype);
    return call.builder().cast(indices, dtype);
  }
  static text::Form form_of(std::string_view mode) {
    if (mode == "int") return text::Form::indices;
    if (mode == "one_hot") return text::Form::hot;
    return mode == "multi_hot" ? text::Form::presence : text::Form::counts;
  }
};

/// Returns the output shape of a lookup as Keras's compute_output_shape does.
Shape rows_shape(const Shape& in, std::string_view mode, Dim depth) {
  Shape out = in;
  if (mode == "one_hot" && !(in.rank() > 1 && in[-1] == 1)) {
    out.push_back(depth);
  } else if (mode != "int") {
    out = in.slice(0, in.rank() - 1);
    out.push_back(depth);
  }
  return out;
}

/// A layer with a vocabulary of strings.
class VocabularyLayer : public TextLayer {
 public:
  void take_assets(const Assets& assets) override { vocabulary.take(rules(), assets); }
  void state_assets() override { vocabulary.state(rules()); }
  [[nodiscard]] std::vector<NamedTensor> kept_arrays() const override { return vocabulary.arrays(); }

 protected:
  [[nodiscard]] virtual Vocabulary::Rules rules() const = 0;

  [[nodiscard]] Dim depth() const {
    const auto known = vocabulary.depth(rules());
    if (!known && output_mode.in_rows()) throw bad_input("{}", vocabulary.missing());
    return known.value_or(rules().first() + 1);
  }
  [[nodiscard]] text::Encoding encoding(std::optional<text::Salt> salt) const {
    text::Encoding out;
    out.index = vocabulary.lookup(rules(), salt);
    out.form = form_of(output_mode.value);
    out.depth = depth();
    out.missing = vocabulary.missing();
    return out;
  }
  Arg result(Call& call, text::Encoding how) const {
    const DType dtype = output_mode.in_rows() ? DType::float32 : DType::int64;
    const ValueId out = in_mode(call, indices(call, std::move(how)), output_mode.value, depth(), dtype);
    return Call::result(
        output_mode.value == "tf_idf" ? vocabulary.weighed(call.builder(), out, call.lowering().symbolic()) : out);
  }
  void check_encoding(const Ref& config) const {
    if (encoding_name != "utf-8") config["encoding"].fail("only 'utf-8' is supported");
  }

  LookupMode output_mode;
  std::optional<std::int64_t> max_tokens;
  bool sparse = false, pad_to_max_tokens = false;
  std::string encoding_name = "utf-8";
  Vocabulary vocabulary;
};

class StringLookup : public VocabularyLayer, public StringOutput {
 public:
  void fields(Fields& f) override {
    constexpr Version kSalt = 314;
    f("invert", invert);
    f("max_tokens", max_tokens);
    f("num_oov_indices", num_oov_indices);
    f("oov_token", oov_token);
    f("mask_token", mask_token);
    f("output_mode", output_mode);
    f("sparse", sparse);
    refuse_sparse(f, sparse);
    f("pad_to_max_tokens", pad_to_max_tokens);
    vocabulary.weights(f);
    vocabulary.list(f);
    vocabulary.size(f, rules());
    f("oov_method", oov_method, kSalt);
    f("salt", salt, kSalt);
    f("encoding", encoding_name);
    f.ignored({"has_input_vocabulary", "vocabulary_dtype"});
  }
  void check(const Ref& config) override {
    check_encoding(config);
    key = read_salt(salt.json, config);
    if (invert && output_mode.in_rows()) config["output_mode"].fail("with 'invert' it must be 'int'");
    vocabulary.settle(rules(), config);
  }
  [[nodiscard]] bool takes_texts() const override { return !invert; }

  Arg call(Call& call) override {
    if (!invert) return result(call, encoding(key));
    if (!vocabulary.known() && !call.lowering().symbolic()) throw bad_input("{}", vocabulary.missing());
    // The result is a separate value, because only this value represents strings. Indices below 0 are out of
    // vocabulary.
    graph::Builder& b = call.builder();
    const ValueId index = b.cast(call.tensor("inputs")->id, DType::int64);
    return Call::result(b.binary(BinaryFn::maximum, index, b.scalar_like(index, -1.0)));
  }
  [[nodiscard]] text::Lookup places() const override { return vocabulary.lookup(rules(), {}); }
  [[nodiscard]] std::optional<std::vector<Shape>> symbolic_shapes(Call& call) override {
    return std::vector{rows_shape(call.shape("inputs"), output_mode.value, depth())};
  }

 private:
  [[nodiscard]] Vocabulary::Rules rules() const override {
    Vocabulary::Rules out;
    out.mask = mask_token;
    out.other = oov_token;
    out.others = num_oov_indices;
    out.in_rows = output_mode.in_rows();
    out.invert = invert;
    out.weighs = output_mode.value == "tf_idf";
    out.most = max_tokens;
    out.pads = pad_to_max_tokens;
    return out;
  }

  bool invert = false;
  std::int64_t num_oov_indices = 1;
  std::string oov_token = "[UNK]";
  std::optional<std::string> mask_token;
  Choice oov_method{"floormod", {"floormod", "farmhash"}};  // for integers
  Opaque salt;
  std::optional<text::Salt> key;
};

/// An option of text processing: one of a few words, or null for none.
struct TextOption {
  std::optional<std::string> word;
  std::vector<std::string_view> allowed;
};
void read_field(const Ref& ref, TextOption& treatment, std::vector<std::string>& /*warnings*/) {
  treatment.word.reset();
  if (ref.is_null()) return;
  if (ref.is_object())
    ref.fail(fmt::format("a function is Python code, which is never run; expected null or one of {}",
                         fmt::join(treatment.allowed, ", ")));
  const std::string& word = ref.text();
  if (std::find(treatment.allowed.begin(), treatment.allowed.end(), word) == treatment.allowed.end())
    ref.fail(fmt::format("expected null or one of {}, got '{}'", fmt::join(treatment.allowed, ", "), printable(word)));
  treatment.word = word;
}
Json write_field(const TextOption& treatment, Version /*version*/) {
  return treatment.word ? Json(*treatment.word) : Json();
}

class TextVectorization : public VocabularyLayer {
 public:
  void fields(Fields& f) override {
    f("max_tokens", max_tokens);
    f("standardize", standardize);
    f("split", split);
    ngrams_field(f);
    f("output_mode", output_mode);
    f("output_sequence_length", output_sequence_length);
    f("pad_to_max_tokens", pad_to_max_tokens);
    f("sparse", sparse);
    refuse_sparse(f, sparse);
    f("ragged", ragged);
    vocabulary.list(f);
    vocabulary.weights(f);
    f("encoding", encoding_name);
    vocabulary.size(f, rules(), rules().first());
    f.ignored({"has_input_vocabulary"});
  }
  void check(const Ref& config) override {
    check_encoding(config);
    if (ragged) config["ragged"].fail("ragged tensors are not supported");
    if (output_sequence_length && output_mode.in_rows())
      config["output_sequence_length"].fail("only the output_mode 'int' has a length");
    if (split.word && output_mode.value == "one_hot")
      config["output_mode"].fail("rows of texts that are split have different lengths; 'one_hot' needs split=None");
    vocabulary.settle(rules(), config);
  }

  Arg call(Call& call) override {
    text::Encoding how = encoding({});
    text::Splitting& cut = how.splitting.emplace();
    const std::string form = standardize.word.value_or("");
    cut.lower = form.starts_with("lower");
    cut.strip_punctuation = form.ends_with("strip_punctuation");
    cut.split = !split.word                  ? text::Split::whole
                : *split.word == "character" ? text::Split::character
                                             : text::Split::whitespace;
    cut.ngrams = widths;
    if (output_sequence_length) how.length = *output_sequence_length;
    return result(call, std::move(how));
  }
  [[nodiscard]] std::optional<std::vector<Shape>> symbolic_shapes(Call& call) override {
    Shape in = call.shape("inputs");
    if (!output_mode.in_rows())
      return std::vector{Shape{in[0], output_sequence_length ? Dim{*output_sequence_length} : kUnknown}};
    if (split.word) {
      in.push_back(kUnknown);
    } else if (in.rank() <= 1) {
      in.push_back(1);
    }
    return std::vector{rows_shape(in, output_mode.value, depth())};
  }

 private:
  [[nodiscard]] Vocabulary::Rules rules() const override {
    Vocabulary::Rules out;
    out.mask = "";
    out.other = "[UNK]";
    out.in_rows = output_mode.in_rows();
    out.weighs = output_mode.value == "tf_idf";
    out.most = max_tokens;
    out.pads = pad_to_max_tokens;
    return out;
  }
  /// Reads n-gram widths; an integer n means all widths up to n.
  void ngrams_field(Fields& f) {
    if (!f.reading()) {
      f.put("ngrams", ngrams);
      return;
    }
    constexpr std::int64_t kMost = 1000;
    const auto given = f.take("ngrams");
    if (!given || given->is_null()) return;
    ngrams = given->is_array() ? python_tuple(given->json()) : given->json();
    std::vector<Ref> items;
    if (given->is_array())
      items = given->elements();
    else
      items = {*given};
    for (const Ref& item : items)
      if (item.integer_from(1) > kMost)
        item.fail(fmt::format("n-grams of more than {} terms are not supported", kMost));
    if (given->is_array()) {
      for (const Ref& item : items) widths.push_back(item.integer());
    } else {
      for (std::int64_t width = 1; width <= given->integer(); ++width) widths.push_back(width);
    }
  }

  TextOption standardize{"lower_and_strip_punctuation", {"lower", "strip_punctuation", "lower_and_strip_punctuation"}};
  TextOption split{"whitespace", {"whitespace", "character"}};
  Json ngrams;
  std::vector<std::int64_t> widths;
  std::optional<Positive> output_sequence_length;
  bool ragged = false;
};

class Hashing : public TextLayer {
 public:
  void fields(Fields& f) override {
    f.required("num_bins", num_bins);
    f("salt", salt);
    f("mask_value", mask_value);
    f("output_mode", output_mode);
    f("sparse", sparse);
    refuse_sparse(f, sparse);
    if (f.reading() && !f.config().find("dtype"))
      policy = *DTypePolicy::named(output_mode.value == "int" ? "int64" : "float32");
  }
  void check(const Ref& config) override {
    key = read_salt(salt.json, config);
    if (output_mode.value == "int" && policy.name != "int32" && policy.name != "int64")
      config["dtype"].fail("with the output_mode 'int' it must be int32 or int64");
    if (!mask_value.json.is_null() && !mask_value.json.is_string() && !mask_value.json.is_number_integer())
      config["mask_value"].fail("expected a string, an integer or null");
  }

  Arg call(Call& call) override {
    text::Encoding how;
    text::Buckets& buckets = how.index.emplace<text::Buckets>();
    buckets.count = num_bins;
    buckets.salt = key;
    if (mask_value.json.is_string()) buckets.mask = mask_value.json.get<std::string>();
    if (mask_value.json.is_number_integer()) buckets.mask = std::to_string(mask_value.json.get<std::int64_t>());
    how.form = form_of(output_mode.value);
    how.depth = num_bins;
    const ValueId index = indices(call, {hashed(call, call.tensor("inputs"))}, std::move(how));
    return Call::result(in_mode(call, index, output_mode.value, num_bins, policy.compute));
  }
  [[nodiscard]] std::optional<std::vector<Shape>> symbolic_shapes(Call& call) override {
    const Shape in = call.shape("inputs");
    return std::vector{output_mode.value == "int" || in.rank() == 0 ? in : rows_shape(in, "count", num_bins)};
  }

 private:
  Positive num_bins;
  Opaque salt, mask_value;
  Choice output_mode{"int", {kModes[0], kModes[1], kModes[2], kModes[3]}};
  bool sparse = false;
  std::optional<text::Salt> key;
};

/// Hash buckets of the combination of several inputs.
class HashedCrossing : public TextLayer {
 public:
  void config(Fields& f) override {  // Keras writes no `trainable`
    f.required("num_bins", num_bins);
    f("output_mode", output_mode);
    f("sparse", sparse);
    refuse_sparse(f, sparse);
    f("name", name);
    if (f.reading()) {
      if (f.config().find("dtype")) {
        f("dtype", policy);
      } else if (output_mode.value == "int") {
        policy = *DTypePolicy::named("int64");
      }
      f.ignored({"trainable"});
    } else {
      f.put("dtype", std::string(name_of(policy.variable)));
    }
  }
  [[nodiscard]] bool takes_list() const override { return true; }

  Arg call(Call& call) override {
    text::Encoding how;
    text::Crossing& crossing = how.index.emplace<text::Crossing>();
    crossing.count = num_bins;
    std::vector<TextSource> sources;
    for (const TensorPtr& tensor : call.tensors("inputs")) {
      sources.push_back(hashed(call, tensor));
      crossing.numbers.push_back(sources.back().numbers);
      if (is_floating(call.builder().dtype(tensor->id))) throw bad_input("it crosses strings and integers, not floats");
      const Shape &shape = sources.back().shape, &first = sources.front().shape;
      if (shape.rank() > 2 || (shape.rank() == 2 && shape[1] != 1) || shape != first)
        throw bad_input("its inputs have one shape, (batch,) or (batch, 1), not {} and {}", first.str(), shape.str());
    }
    if (sources.size() != 2) throw bad_input("it crosses two inputs, not {}", sources.size());
    how.depth = num_bins;
    const ValueId index = indices(call, sources, std::move(how));
    return Call::result(encoded(call.builder(), index, output_mode.value, num_bins, policy.compute));
  }

 private:
  Positive num_bins;
  Choice output_mode{"int", {kModes[0], kModes[1]}};
  bool sparse = false;
};

constexpr std::string_view kNoVariable = "its vocabulary is not a variable";

constexpr std::array kTextClasses = {
    ClassInfo{
        .name = "TextVectorization", .make = make_layer<TextVectorization>, .since = 300, .no_params = kNoVariable},
    ClassInfo{.name = "StringLookup", .make = make_layer<StringLookup>, .since = 300, .no_params = kNoVariable},
    ClassInfo{.name = "HashedCrossing",
              .make = make_layer<HashedCrossing>,
              .since = 300,
              .no_params = "it hashes, and learns nothing"},
    ClassInfo{
        .name = "Hashing", .make = make_layer<Hashing>, .since = 300, .no_params = "it hashes, and learns nothing"},
};

}  // namespace

Family text_classes() { return kTextClasses; }

}  // namespace attn::keras
