#include "commands/examples.h"

#include <array>
#include <vector>

namespace attn::cli {
namespace {

struct Row {
  std::string_view command;
  std::array<Example, 3> examples;
};

// Every command has three examples. They read files with common names (model.keras, model.json, model.weights.h5,
// x.npz, compiled.keras with data.npz, preset), and write into the current folder.
constexpr std::array kRows = {
    Row{"summary",
        {{{"the built-in encoder, as Keras shows it", "attn summary"},
          {"the cost of each layer, attention opened", "attn summary model.keras --costs --batch 8 --depth 1"},
          {"the counts, for a program", "attn summary model.keras --json -o summary.json"}}}},
    Row{"explain",
        {{{"the parameters by class of layer", "attn explain model.keras"},
          {"one layer of the built-in encoder, line by line", "attn explain multi_head_attention"},
          {"the same for a paper", "attn explain model.keras dense --latex -o dense.tex"}}}},
    Row{"run",
        {{{"the built-in encoder on random numbers", "attn run"},
          {"outputs and attention weights as NumPy reads them",
           "attn run model.keras --input x.npz -o outputs.npz --scores scores.npz"},
          {"does any layer leave the finite numbers?", "attn run model.keras --check-finite --json"}}}},
    Row{"grad",
        {{{"gradients that vanish or explode", "attn grad model.keras"},
          {"gradients of every weight and input, for NumPy",
           "attn grad model.keras --loss mse --inputs -o gradients.npz"},
          {"are they right?", "attn grad model.keras --check --json"}}}},
    Row{"train",
        {{{"with the model's own loss and optimizer", "attn train compiled.keras --data data.npz -o trained.keras"},
          {"with another optimizer, and twice",
           "attn train compiled.keras --data data.npz --optimizer adam --epochs 2 -o again.keras"},
          {"a log for a program",
           "attn train compiled.keras --data data.npz --log log.jsonl --json -o logged.keras"}}}},
    Row{"validate",
        {{{"all that is wrong with a model", "attn validate model.keras"},
          {"and exit 3 for what may only surprise", "attn validate model.keras --strict"},
          {"for an editor or a CI job", "attn validate model.keras --json -o problems.json"}}}},
    Row{"compare",
        {{{"float16 against float32, layer by layer",
           "attn compare model.keras --dtype float32,float16 --rtol 0.1 --atol 0.1"},
          {"the fast backend against plain loops", "attn compare model.keras --backend reference,onednn"},
          {"two models", "attn compare model.keras model.keras"}}}},
    Row{"plan",
        {{{"the steps, and the memory that they share", "attn plan"},
          {"a picture of the memory", "attn plan model.keras --batch 8 -o plan.svg"},
          {"the kernel of each step", "attn plan model.keras --kernels"}}}},
    Row{"plot",
        {{{"a picture of the layers", "attn plot model.keras -o model.svg"},
          {"for a README", "attn plot model.keras --format mermaid"},
          {"nested models opened, for Graphviz", "attn plot model.keras --expand-nested -o model.dot"}}}},
    Row{"heatmap",
        {{{"the attention of the heads, in the terminal", "attn heatmap model.keras --input x.npz"},
          {"a page with every head", "attn heatmap model.keras -o maps.html"},
          {"one head as a picture", "attn heatmap model.keras --layer 0 --head 1 -o head.png"}}}},
    Row{"report",
        {{{"all about a model on one page", "attn report model.keras -o report.html"},
          {"with its speed here", "attn report model.keras --bench -o report.html"},
          {"without a forward pass", "attn report model.keras --no-heatmap -o report.html"}}}},
    Row{"generate",
        {{{"continue a text with a preset of KerasHub", "attn generate preset --prompt 'The model' --max-new-tokens 8"},
          {"the same tokens as KerasHub's, by a seed",
           "attn generate preset --prompt 'The model' --sampler top_p --top-p 0.9 --seed 7"},
          {"ids in, ids out, with their probabilities",
           "attn generate preset --ids 5,6,7 --logprobs 3 --max-new-tokens 4 --json"}}}},
    Row{"score",
        {{{"the log-probability of a text, token by token", "attn score preset --text 'The model'"},
          {"two texts", "attn score preset --text 'The model' --text 'model The'"},
          {"for a program", "attn score preset --text 'The model' --json -o score.json"}}}},
    Row{"tokenize",
        {{{"the tokens of a text", "attn tokenize preset --text 'The model'"},
          {"the text of ids", "attn tokenize preset --ids 39,83,71 --decode"},
          {"for a program", "attn tokenize preset --text 'The model' --json -o tokens.json"}}}},
    Row{"bench",
        {{{"the built-in encoder", "attn bench"},
          {"a decoder: prompts, and tokens one by one", "attn bench preset --pp 32 --tg 8 --min-time 0.2"},
          {"a sweep for a page",
           "attn bench model.keras --dtype float32,bfloat16 --min-time 0.3 --format markdown -o bench.md"}}}},
    Row{"get-config",
        {{{"a layer made on the spot", "attn get-config MultiHeadAttention num_heads=8 key_dim=64"},
          {"the model as the JSON that Keras loads", "attn get-config model.keras -o model.json"},
          {"one layer, as print(layer.get_config()) shows it",
           "attn get-config model.keras --layer dense --format python"}}}},
    Row{"weights",
        {{{"the arrays of a file", "attn weights model.keras"},
          {"only kernels, the widest spread first", "attn weights model.keras --match '*/kernel' --sort std"},
          {"two files that should be equal", "attn weights model.keras --diff model.weights.h5"}}}},
    Row{"convert",
        {{{"out of Keras's archive", "attn convert model.keras model.safetensors"},
          {"as ONNX", "attn convert model.keras model.onnx"},
          {"under the names of a model", "attn convert model.weights.h5 model.npz --model model.keras"}}}},
    Row{"flatten-script",
        {{{"beside the program that defines the layers", "attn flatten-script > flatten.py"},
          {"into a file", "attn flatten-script -o flatten.py"},
          {"its description", "attn flatten-script | head -12"}}}},
    Row{"init",
        {{{"the weights that the built-in encoder begins with", "attn init -o encoder.weights.h5"},
          {"others, with the model around them", "attn init model.json --seed 7 -o new.keras"},
          {"a pipe for NumPy", "attn init model.json -o - > new.npz"}}}},
    Row{"devices",
        {{{"the devices of this machine", "attn devices"},
          {"for a program", "attn devices --json"},
          {"into a file", "attn devices -o devices.txt"}}}},
    Row{"doctor",
        {{{"the state of the installation", "attn doctor"},
          {"a block for a bug report", "attn doctor --format markdown -o report.md"},
          {"for a program", "attn doctor --json"}}}},
    Row{"help",
        {{{"all commands", "attn help"}, {"one of them", "attn help summary"}, {"this page", "attn help help"}}}},
    Row{"completion",
        {{{"in a bash that is open", "attn completion bash > attn.bash && . ./attn.bash"},
          {"for zsh, in a folder of $fpath", "attn completion zsh -o _attn"},
          {"for fish, in ~/.config/fish/completions", "attn completion fish -o attn.fish"}}}},
    Row{"man",
        {{{"the page of the program", "attn man -o attn.1"},
          {"the page of one command", "attn man summary -o attn-summary.1"},
          {"all pages, into a folder", "attn man --all -o man1"}}}},
};

}  // namespace

std::span<const Example> examples_of(std::string_view command) {
  for (const Row& row : kRows)
    if (row.command == command) return row.examples;
  return {};
}

}  // namespace attn::cli
