// The reference cases of tests/data/probe, and a model under study for each.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "attn/probe/measure.h"
#include "attn/probe/subject.h"

namespace attn::test {

/// Cases whose model is a decoder with a single stack; bert_classifier and t5_tied differ.
inline const std::vector<std::string> kDecoders = {"gpt2", "llama3", "gpt_neo_x", "gemma2"};
/// The decoders and the classifier.
inline const std::vector<std::string> kSingleStacks = {"gpt2", "llama3", "gpt_neo_x", "gemma2", "bert_classifier"};

/// The ways in which every case runs: backend and dtype, which is empty for the model's own.
struct Way {
  std::string backend, dtype;
};
inline const std::vector<Way> kWays = {{"reference", "float64"}, {"reference", "float32"}, {"onednn", "float32"}};

/// A case on a backend.
struct Run {
  std::string name;
  Way way;
};
/// Returns the cases in each way, and the quantized cases on both backends.
[[nodiscard]] std::vector<Run> runs(const std::vector<std::string>& names);

/// A case's model on a backend, with its arrays.
class Case {
 public:
  Case(const std::string& name, const Way& way);

  [[nodiscard]] const probe::Subject& subject() const { return *subject_; }
  /// Returns an array of a file of the case: ("lens", "entropy").
  [[nodiscard]] const Tensor& array(const std::string& file, const std::string& name);
  /// Returns the rows of an array of ids in inputs.npz as prompts.
  [[nodiscard]] std::vector<probe::Prompt> prompts(const std::string& name);
  [[nodiscard]] probe::Prompt prompt(const std::string& name) { return prompts(name).front(); }
  /// Returns a number of meta.json.
  [[nodiscard]] int number(const std::string& key) const;
  [[nodiscard]] bool is_quantized() const { return dtype_.empty(); }
  [[nodiscard]] std::vector<std::string> names(const std::string& key) const;
  [[nodiscard]] probe::Metric metric() const { return {number("token_a"), number("token_b")}; }

  /// Checks numbers against an array, or a part of it that begins at `first`. The tolerance is that of the case's
  /// README: four times the float32 error or 1e-6 of the largest, and for float64 1e-9 or, with rotary angles, 1e-5.
  /// The largest of a metric, which is a difference of logits, is the largest logit. A quantized model rounds
  /// activations to 8 bits: 1e-4 of the largest, except for elements behind one that is rounded the other way.
  void expect(const std::vector<double>& got, const std::string& file, const std::string& name, std::size_t first = 0,
              bool whole = true);

 private:
  void expect_rounded(const std::vector<double>& got, const std::string& file, const std::string& name,
                      std::size_t first);
  [[nodiscard]] double scale_of(const std::string& file);

  std::string name_, dtype_;
  open::Execution execution_;
  std::unique_ptr<backends::Backend> backend_;
  std::unique_ptr<open::LoadedModel> loaded_;
  std::unique_ptr<probe::Subject> subject_;
  std::map<std::string, std::map<std::string, Tensor>> files_;
  std::string meta_;
};

/// Returns the elements of an array.
[[nodiscard]] std::vector<double> numbers(const Tensor& tensor);

}  // namespace attn::test
