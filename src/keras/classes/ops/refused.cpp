// Rejected operations, each with the end of the message "… is refused: …".
#include "classes/ops/ops.h"

namespace attn::keras {
namespace {

constexpr std::string_view kCallsCode = "it calls a Python function, which is never run";
constexpr std::string_view kComplex = "attn supports complex numbers only as pairs of real tensors";
constexpr std::string_view kDecomposes = "it iterates until convergence, which a graph cannot express";
constexpr std::string_view kLoss = "losses and metrics belong to training";
constexpr std::string_view kCounted = "the shape of its result depends on values that are known only at run time";
constexpr std::string_view kDrawsNumbers = "it draws random numbers";
constexpr std::string_view kNotReadBack = "Keras cannot read it back itself; use the layer";
constexpr std::string_view kFailsInModels = "Keras itself fails to run it in a model; use a layer or other operations";
constexpr std::string_view kNoKernel = "attn has no kernel for it";

constexpr ClassInfo refused(std::string_view name, Since since, std::string_view module, std::string_view why) {
  return {.name = name, .make = nullptr, .since = since, .module = module, .refused = why};
}

constexpr std::array kRefusedOperations = {
    refused("AssociativeScan", 305, kCoreOps, kCallsCode),
    refused("Cond", 300, kCoreOps, kCallsCode),
    refused("ForiLoop", 300, kCoreOps, kCallsCode),
    refused("JVP", 312, kLinalgOps, kCallsCode),
    refused("Map", 304, kCoreOps, kCallsCode),
    refused("Scan", 304, kCoreOps, kCallsCode),
    refused("Switch", 304, kCoreOps, kCallsCode),
    refused("VectorizedMap", 311, kCoreOps, kCallsCode),
    refused("WhileLoop", 300, kCoreOps, kCallsCode),
    refused("Polar", 309, kNnOps, kComplex),
    refused("ViewAsComplex", 310, kMathOps, kComplex),
    refused("ViewAsReal", 310, kMathOps, kComplex),
    refused("Eig", 300, kLinalgOps, kDecomposes),
    refused("Eigh", 303, kLinalgOps, kDecomposes),
    refused("Lstsq", 304, kLinalgOps, kDecomposes),
    refused("MatrixRank", 315, kLinalgOps, kDecomposes),
    refused("Pinv", 315, kLinalgOps, kDecomposes),
    refused("SVD", 300, kLinalgOps, kDecomposes),
    refused("BinaryCrossentropy", 300, kNnOps, kLoss),
    refused("CTCDecode", 303, kNnOps, kLoss),
    refused("CTCLoss", 303, kNnOps, kLoss),
    refused("CategoricalCrossentropy", 300, kNnOps, kLoss),
    refused("PSNR", 303, kNnOps, kLoss),
    refused("SSIM", 315, kImageOps, kLoss),
    refused("SparseCategoricalCrossentropy", 300, kNnOps, kLoss),
    refused("View", 312, kNumpyOps, kNoKernel),
    refused("Bincount", 300, kNumpyOps, kCounted),
    refused("Nonzero", 300, kNumpyOps, kCounted),
    refused("Unique", 315, kNumpyOps, kCounted),
    refused("ElasticTransform", 310, kImageOps, kDrawsNumbers),
    refused("PerspectiveTransform", 309, kImageOps, kNoKernel),
    refused("AdaptiveAveragePool", 313, kNnOps, kNotReadBack),
    refused("AdaptiveMaxPool", 313, kNnOps, kNotReadBack),
    refused("Arange", 300, kNumpyOps, kFailsInModels),
    refused("Argpartition", 304, kNumpyOps, kNoKernel),
    refused("ConvTranspose", 300, kNnOps, kFailsInModels),
    refused("Histogram", 306, kNumpyOps, kFailsInModels),
    refused("I0", 314, kNumpyOps, kNoKernel),
    refused("Nextafter", 314, kNumpyOps, kNoKernel),
    refused("SegmentReduction", 305, kMathOps, "it is the base class of the segment operations, and computes nothing"),
};

}  // namespace

Family refused_operations() { return kRefusedOperations; }

}  // namespace attn::keras
