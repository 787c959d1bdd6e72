// The input arrays of a model, from files and by name.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "attn/base/tensor.h"
#include "attn/base/text_array.h"
#include "attn/io/array_file.h"
#include "attn/keras/model.h"
#include "attn/open/execution.h"
#include "attn/open/listener.h"

namespace attn::open {

/// Splits a word into NAME and FILE. Without a name the result is "" and the whole word. A word that is the path of an
/// existing file is not split.
[[nodiscard]] std::pair<std::string, std::string> named_file(const std::string& word);

/// Arrays for inputs, by the inputs' names.
struct GivenInputs {
  std::map<std::string, Tensor> arrays;
  std::map<std::string, std::string> files;  ///< the file of each array
  std::vector<std::string> others;           ///< "'y' of data.npz": arrays that no input takes
};

/// Returns a file's arrays by the names of the graph's inputs: strings, and numbers to be hashed, are encoded by the
/// layers of text. `path` is for messages. Throws Error.
[[nodiscard]] GivenInputs name_inputs(const keras::Model& model, const io::Arrays& arrays, const std::string& path);

/// Encodes strings, and numbers with names of inputs, by the layers of text.
[[nodiscard]] std::map<std::string, Tensor> encoded_texts(const keras::Model& model,
                                                          const std::vector<NamedTexts>& texts,
                                                          const std::vector<NamedTensor>& numbers,
                                                          const std::string& path);

/// Reads the files of FILE and NAME=FILE, and warns of arrays that no input takes. A text for a model that reads bytes
/// gives at most execution.batch, or `most_rows`, rows. Throws Error.
[[nodiscard]] GivenInputs read_inputs(const keras::Model& model, const std::vector<std::string>& words,
                                      const Execution& execution, const Listener& listener,
                                      std::optional<std::int64_t> most_rows = {});

/// Warns of the arrays of the files that no input takes.
void warn_of_others(const GivenInputs& given, const Listener& listener);

/// Returns the options to lower a model for the execution and these inputs.
[[nodiscard]] keras::LowerOptions lower_options(const Execution& execution, const GivenInputs& given);

/// Warns if execution.batch has no effect, because a given array has another batch.
void warn_of_given_batch(const Execution& execution, const GivenInputs& given, const Listener& listener);

}  // namespace attn::open
