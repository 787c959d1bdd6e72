// The Python module attn._attn: attn/attn.h with NumPy arrays, and DLPack, in place of tensors. The package is
// src/python/attn.
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/filesystem.h>
#include <nanobind/stl/map.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include "attn/attn.h"
#include "engine.h"
#include "probe.h"

namespace nb = nanobind;
using namespace nb::literals;

namespace attn::python {
namespace {

/// attn.Error, with the program's exit code.
PyObject* error_class = nullptr;

void translate(const std::exception_ptr& pointer, void* /*payload*/) {
  try {
    std::rethrow_exception(pointer);
  } catch (const Error& error) {
    nb::object raised = nb::handle(error_class)(error.what());
    raised.attr("code") = static_cast<int>(error.code());
    PyErr_SetObject(error_class, raised.ptr());
  }
}

std::optional<Shape> shape_of(const std::optional<std::vector<std::optional<Dim>>>& dims) {
  if (!dims) return std::nullopt;
  Shape shape;
  for (const std::optional<Dim>& dim : *dims) shape.push_back(dim.value_or(kUnknown));
  return shape;
}

OpenOptions open_options(const std::optional<std::vector<std::optional<Dim>>>& input_shape,
                         const std::optional<std::string>& keras_version, const std::string& compat) {
  return {shape_of(input_shape), keras_version, compat};
}

RunOptions run_options(const std::string& device, const std::string& backend, const std::optional<std::string>& dtype,
                       const std::optional<std::string>& weights, std::uint64_t seed, int threads) {
  RunOptions options;
  options.device = device;
  options.backend = backend;
  options.dtype = dtype;
  options.weights = weights;
  options.seed = seed;
  options.threads = threads;
  return options;
}

/// Sets a field from a keyword argument that was given.
template <typename Value>
void take(nb::kwargs& from, const char* name, Value& value) {
  if (!from.contains(name)) return;
  if (!nb::try_cast(from[name], value)) throw nb::type_error(("a wrong type of '" + std::string(name) + "'").c_str());
  nb::del(from[name]);
}

void expect_none_left(const nb::kwargs& named) {
  for (const auto& [name, value] : named)
    throw nb::type_error(("unexpected keyword argument '" + nb::cast<std::string>(name) + "'").c_str());
}

TrainOptions train_options(nb::kwargs named) {
  TrainOptions out;
  take(named, "epochs", out.epochs);
  take(named, "batch_size", out.batch_size);
  take(named, "shuffle", out.shuffle);
  take(named, "validation_split", out.validation_split);
  take(named, "class_weight", out.class_weight);
  expect_none_left(named);
  return out;
}

GradientOptions gradient_options(nb::kwargs named) {
  GradientOptions out;
  take(named, "loss", out.loss);
  take(named, "wrt", out.wrt);
  take(named, "input_gradients", out.input_gradients);
  take(named, "training", out.training);
  take(named, "dropout", out.dropout);
  expect_none_left(named);
  return out;
}

GenerateOptions generate_options(nb::kwargs named) {
  GenerateOptions out;
  take(named, "sampler", out.sampler);
  take(named, "temperature", out.temperature);
  take(named, "top_k", out.top_k);
  take(named, "top_p", out.top_p);
  take(named, "num_beams", out.beams);
  take(named, "alpha", out.alpha);
  take(named, "seed", out.seed);
  take(named, "max_length", out.max_length);
  take(named, "max_new_tokens", out.max_new_tokens);
  take(named, "stop_token_ids", out.stop_ids);
  take(named, "stop", out.stop);
  take(named, "strip_prompt", out.strip_prompt);
  expect_none_left(named);
  return out;
}

void bind_layer(nb::module_& m) {
  nb::class_<Layer>(m, "Layer", "A layer, or an operation between layers, as in summary().")
      .def_ro("name", &Layer::name)
      .def_ro("class_name", &Layer::class_name)
      .def_ro("output_shape", &Layer::output_shape, "In Keras's format: '(None, 50, 512)'.")
      .def_ro("params", &Layer::params, "The number of its parameters.")
      .def_ro("trainable_params", &Layer::trainable_params)
      .def_ro("connected_to", &Layer::connected_to, "The outputs that it reads: 'dense[0][0]'.")
      .def(
          "count_params", [](const Layer& layer) { return layer.params; }, "Returns the number of its parameters.")
      .def("__repr__", [](const Layer& layer) {
        return "<Layer " + layer.name + " (" + layer.class_name + ") " + layer.output_shape + ">";
      });
}

void bind_tokenizer(nb::module_& m) {
  nb::class_<Tokenizer>(m, "Tokenizer",
                        "The tokenizer of a preset folder of KerasHub, of a task's .keras file, or of a Hugging Face "
                        "folder. Raises attn.Error if there is none.")
      .def(
          "__init__",
          [](Tokenizer* self, const std::filesystem::path& path) {
            new (self) Tokenizer(Tokenizer::open(path.string()));
          },
          "path"_a, nb::sig("def __init__(self, path: str | os.PathLike[str]) -> None"))
      .def(
          "tokenize", [](const Tokenizer& self, const std::string& text) { return self.encode(text); }, "text"_a,
          "Returns the token ids of a text. Names of special tokens in it, as '<|endoftext|>', are these tokens.")
      .def("detokenize", &Tokenizer::decode, "ids"_a,
           "Returns the text of token ids, special ones included. Raises attn.Error for an id outside the vocabulary.")
      .def("id_to_token", &Tokenizer::token, "id"_a,
           "Returns the spelling of a token in its file; None for an invalid id.")
      .def("vocabulary_size", &Tokenizer::size, "Returns the number of tokens.")
      .def_prop_ro("start_token_id", &Tokenizer::start_id, "The token that a text begins with, or None.")
      .def_prop_ro("end_token_id", &Tokenizer::end_id, "The token that a text ends with, or None.")
      .def_prop_ro("pad_token_id", &Tokenizer::pad_id, "The token that fills a row, or None.");
}

void bind_engine(nb::module_& m) {
  nb::class_<Engine>(m, "Engine", "The inside of attn.Model.")
      .def(
          "__init__",
          [](Engine* self, const std::string& place, const std::optional<std::string>& text,
             const std::optional<std::vector<std::optional<Dim>>>& input_shape,
             const std::optional<std::string>& keras_version, const std::string& compat, const std::string& device,
             const std::string& backend, const std::optional<std::string>& dtype,
             const std::optional<std::string>& weights, std::uint64_t seed, int threads) {
            Model model = [&] {
              const nb::gil_scoped_release release;
              const OpenOptions options = open_options(input_shape, keras_version, compat);
              return text ? Model::parse(place, *text, options) : Model::open(place, options);
            }();
            new (self) Engine(std::move(model), run_options(device, backend, dtype, weights, seed, threads));
          },
          "place"_a, "text"_a.none(), nb::kw_only(), "input_shape"_a.none(), "keras_version"_a.none(), "compat"_a,
          "device"_a, "backend"_a, "dtype"_a.none(), "weights"_a.none(), "seed"_a, "threads"_a)
      .def_prop_ro("name", [](const Engine& self) { return self.model()->name(); })
      .def_prop_ro("input_names", [](const Engine& self) { return self.model()->input_names(); })
      .def_prop_ro("output_names", [](const Engine& self) { return self.model()->output_names(); })
      .def_prop_ro("warnings", [](const Engine& self) { return self.model()->warnings(); })
      .def_prop_ro("layers", [](const Engine& self) { return self.model()->layers(); })
      .def_prop_ro("weight_names", [](const Engine& self) { return self.model()->weight_names(); })
      .def("count_params", [](const Engine& self) { return self.model()->count_params(); })
      .def(
          "summary",
          [](const Engine& self, std::optional<int> length, bool expand_nested, bool show_trainable) {
            return self.model()->summary(length, expand_nested, show_trainable);
          },
          "line_length"_a.none(), "expand_nested"_a, "show_trainable"_a)
      .def("config", [](const Engine& self) { return self.model()->config(); })
      .def("plot", [](const Engine& self) { return self.model()->plot(); })
      .def("predict", &Engine::predict, "x"_a.none(), "batch_size"_a.none(),
           nb::sig("def predict(self, x: typing.Any, batch_size: int | None) -> typing.Any"))
      .def("scores", &Engine::scores, "x"_a.none(),
           nb::sig("def scores(self, x: typing.Any) -> dict[str, numpy.typing.NDArray[typing.Any]]"))
      .def("attention_maps", &Engine::attention_maps, "x"_a.none())
      .def(
          "fit",
          [](Engine& self, nb::handle x, const nb::dict& targets, nb::handle validation, const nb::object& on_epoch,
             const nb::kwargs& named) { return self.fit(x, targets, validation, train_options(named), on_epoch); },
          "x"_a.none(), "targets"_a, "validation"_a.none(), "on_epoch"_a, "named"_a,
          nb::sig("def fit(self, x: typing.Any, targets: dict[str, typing.Any], validation: typing.Any, on_epoch: "
                  "typing.Callable[[int, dict[str, float]], None], **named: typing.Any) -> str"))
      .def("evaluate", &Engine::evaluate, "x"_a.none(), "targets"_a, "batch_size"_a,
           nb::sig("def evaluate(self, x: typing.Any, targets: dict[str, typing.Any], batch_size: int) -> "
                   "list[tuple[str, float]]"))
      .def(
          "gradients",
          [](Engine& self, nb::handle x, const nb::dict& targets, const nb::kwargs& named) {
            return self.gradients(x, targets, gradient_options(named));
          },
          "x"_a.none(), "targets"_a, "named"_a,
          nb::sig("def gradients(self, x: typing.Any, targets: dict[str, typing.Any], **named: typing.Any) -> "
                  "tuple[float, dict[str, numpy.typing.NDArray[typing.Any]]]"))
      .def("weights", &Engine::weights,
           nb::sig("def weights(self) -> list[tuple[str, numpy.typing.NDArray[typing.Any]]]"))
      .def("set_weights", &Engine::set_weights, "arrays"_a,
           nb::sig("def set_weights(self, arrays: dict[str, typing.Any]) -> None"))
      .def("load_weights", &Engine::load_weights, "path"_a)
      .def("compile", &Engine::compile, "config"_a)
      .def("quantize", &Engine::quantize, "how"_a)
      .def(
          "save",
          [](const Engine& self, const std::string& path, const std::optional<std::string>& form,
             const std::optional<std::string>& dtype) {
            self.save(path, {form, dtype});
          },
          "path"_a, "form"_a.none(), "dtype"_a.none())
      .def(
          "generate",
          [](Engine& self, const std::vector<std::string>& prompts, const nb::kwargs& named) {
            return self.generate(prompts, generate_options(named));
          },
          "prompts"_a, "named"_a,
          nb::sig("def generate(self, prompts: typing.Sequence[str], **named: typing.Any) -> list[str]"))
      .def(
          "generate_ids",
          [](Engine& self, const std::vector<std::vector<std::int32_t>>& prompts, const nb::kwargs& named) {
            return self.generate_ids(prompts, generate_options(named));
          },
          "prompts"_a, "named"_a,
          nb::sig("def generate_ids(self, prompts: typing.Sequence[typing.Sequence[int]], **named: typing.Any) -> "
                  "list[list[int]]"))
      .def("score", &Engine::score, "ids"_a,
           nb::sig("def score(self, ids: typing.Sequence[int]) -> numpy.typing.NDArray[typing.Any]"))
      .def("encode_prompt", &Engine::encode_prompt, "text"_a);
}

}  // namespace
}  // namespace attn::python

NB_MODULE(_attn, m) {
  using namespace attn::python;
  m.doc() = "Keras attention models without Keras: see attn.Model.";
  m.attr("version") = ATTN_VERSION;
  error_class = PyErr_NewExceptionWithDoc(
      "attn.Error", "An error of attn as one sentence; `code` is the program's exit code.", PyExc_ValueError, nullptr);
  m.attr("Error") = nb::handle(error_class);
  nb::register_exception_translator(translate);
  bind_layer(m);
  bind_tokenizer(m);
  bind_engine(m);
  bind_probe(m);
}
