#include "training/files.h"

#include "attn/base/error.h"
#include "attn/base/text.h"
#include "attn/open/inputs.h"

namespace attn::cli {

void TrainingFiles::declare(Options& options) {
  options
      .add("--data", data, "FILE",
           "inputs by name, targets y or y:<output>, sample_weight (.npz, .npy, .safetensors), a table of numbers "
           "(.csv) or a text (.txt); of several files the rows are one sequence")
      .repeatable();
  options.add("--x", x, "FILE", "one array, for the only input, or for the one that NAME=FILE says").repeatable();
  options.add("--y", y, "FILE", "one array, the targets of the only output, or of the one that NAME=FILE says")
      .repeatable();
  options
      .add("--sample-weight", sample_weights, "FILE",
           "one array, what each sample counts in the loss, likewise by output")
      .repeatable();
  options.add("--csv-target", csv_target, "COLUMN",
              "of a table: the column of the targets, by its name, or its place from 0 on (y, or target)");
}

std::vector<std::string> TrainingFiles::words(const keras::Model& model) const {
  if (data.empty() && x.empty()) throw bad_usage("there is nothing to train on: --data FILE, or --x FILE and --y FILE");
  std::vector<std::string> out = data;
  for (const std::string& word : x) {
    const auto [name, file] = open::named_file(word);
    const std::vector<std::string> inputs = model.array_names();
    if (name.empty() && inputs.size() != 1)
      throw bad_usage("--x {}: which input it is for is not told; --x NAME=FILE names one of {}", printable(word),
                      printable(join(inputs, ", ")));
    out.push_back((name.empty() ? inputs.front() : name) + "=" + file);
  }
  for (const auto& [what, given] : {std::pair("y", &y), {"sample_weight", &sample_weights}}) {
    for (const std::string& word : *given) {
      const auto [name, file] = open::named_file(word);
      out.push_back(what + (name.empty() ? "" : ":" + name) + "=" + file);
    }
  }
  return out;
}

}  // namespace attn::cli
