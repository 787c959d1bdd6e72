// The Python module attn._attn: attn/attn.h with NumPy arrays, and DLPack, in place of tensors.
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/filesystem.h>
#include <nanobind/stl/map.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include "arrays.h"
#include "attn/attn.h"
#include "predictor.h"

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
                       const std::optional<std::filesystem::path>& weights, std::uint64_t seed, int threads) {
  RunOptions options;
  options.device = device;
  options.backend = backend;
  options.dtype = dtype;
  if (weights) options.weights = weights->string();
  options.seed = seed;
  options.threads = threads;
  return options;
}

void bind_layer(nb::module_& m) {
  nb::class_<Layer>(m, "Layer", "A layer, or an operation between layers, as in summary().")
      .def_ro("name", &Layer::name)
      .def_ro("class_name", &Layer::class_name)
      .def_ro("output_shape", &Layer::output_shape, "In Keras's format: '(None, 50, 512)'.")
      .def_ro("params", &Layer::params)
      .def_ro("trainable_params", &Layer::trainable_params)
      .def_ro("connected_to", &Layer::connected_to)
      .def("__repr__", [](const Layer& layer) {
        return "<Layer " + layer.name + " (" + layer.class_name + ") " + layer.output_shape + ">";
      });
}

void bind_model(nb::module_& m) {
  nb::class_<Predictor>(m, "Model",
                        "A Keras model: a .keras archive, Keras JSON, .h5, or a folder of KerasHub or Hugging Face.\n\n"
                        "The keyword arguments are those of attn::OpenOptions and attn::RunOptions. Weights are the "
                        "model's own, those of the file `weights`, or drawn from its initializers and `seed`.")
      .def(
          "__init__",
          [](Predictor* self, const std::filesystem::path& path,
             const std::optional<std::vector<std::optional<Dim>>>& input_shape,
             const std::optional<std::string>& keras_version, const std::string& compat, const std::string& device,
             const std::string& backend, const std::optional<std::string>& dtype,
             const std::optional<std::filesystem::path>& weights, std::uint64_t seed, int threads) {
            Model model = [&] {
              const nb::gil_scoped_release release;
              return Model::open(path.string(), open_options(input_shape, keras_version, compat));
            }();
            new (self) Predictor(std::move(model), run_options(device, backend, dtype, weights, seed, threads));
          },
          "path"_a, nb::kw_only(), "input_shape"_a = nb::none(), "keras_version"_a = nb::none(), "compat"_a = "none",
          "device"_a = "cpu", "backend"_a = "", "dtype"_a = nb::none(), "weights"_a = nb::none(), "seed"_a = 0,
          "threads"_a = 0)
      .def_prop_ro("name", [](const Predictor& self) { return self.model().name(); })
      .def_prop_ro("input_names", [](const Predictor& self) { return self.model().input_names(); })
      .def_prop_ro(
          "warnings", [](const Predictor& self) { return self.model().warnings(); },
          "Deviations that were accepted while reading.")
      .def_prop_ro("layers", [](const Predictor& self) { return self.model().layers(); })
      .def(
          "_summary", [](const Predictor& self, std::optional<int> length) { return self.model().summary(length); },
          "line_length"_a = nb::none())
      .def(
          "config", [](const Predictor& self) { return self.model().config(); },
          "JSON that keras.models.model_from_json loads.")
      .def(
          "plot", [](const Predictor& self) { return self.model().plot(); }, "The layers and their connections as SVG.")
      .def("predict", &Predictor::predict, "x"_a, nb::sig("def predict(self, x: typing.Any) -> typing.Any"),
           "Runs a forward pass over one array, a list of them in the order of input_names, or a dict keyed by these "
           "names: NumPy arrays, DLPack arrays, or lists of numbers. Returns an array that the caller owns, or a list "
           "or "
           "dict of them if the model has several outputs.")
      .def("scores", &Predictor::scores, "x"_a,
           nb::sig("def scores(self, x: typing.Any) -> dict[str, numpy.typing.NDArray]"),
           "The attention scores of every attention layer in such a pass, keyed by layer name.")
      .def("_attention_maps", &Predictor::attention_maps, "x"_a.none());
}

}  // namespace
}  // namespace attn::python

NB_MODULE(_attn, m) {
  using namespace attn::python;
  m.doc() = "Keras attention models without Keras: see attn.Model.";
  m.attr("__version__") = ATTN_VERSION;
  error_class = PyErr_NewExceptionWithDoc(
      "attn.Error", "An error of attn as one sentence; `code` is the program's exit code.", PyExc_ValueError, nullptr);
  m.attr("Error") = nb::handle(error_class);
  nb::register_exception_translator(translate);
  bind_layer(m);
  bind_model(m);
}
