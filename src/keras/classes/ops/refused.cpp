// Operations that attn knows by name and does not run, each with the end of "… is refused: …".
#include "classes/ops/ops.h"

namespace attn::keras {
namespace {

constexpr std::string_view kCallsCode = "it calls a Python function, which is never run";
constexpr std::string_view kFourier = "attn has no Fourier transforms and no complex numbers";
constexpr std::string_view kDecomposes = "attn has no decompositions of matrices";
constexpr std::string_view kLoss = "losses and metrics belong to training";
constexpr std::string_view kBits = "attn has no operations on bits";
constexpr std::string_view kCounted = "the shape of its result depends on numbers that only a run knows";
constexpr std::string_view kNoImages = "attn does not warp or recolour images";
constexpr std::string_view kNotReadBack = "Keras cannot read it back itself; use the layer";
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
    refused("ExtractSequences", 300, kMathOps, kFourier),
    refused("FFT", 300, kMathOps, kFourier),
    refused("FFT2", 300, kMathOps, kFourier),
    refused("IFFT2", 307, kMathOps, kFourier),
    refused("IRFFT", 300, kMathOps, kFourier),
    refused("ISTFT", 300, kMathOps, kFourier),
    refused("Polar", 309, kNnOps, kFourier),
    refused("RFFT", 300, kMathOps, kFourier),
    refused("STFT", 300, kMathOps, kFourier),
    refused("ViewAsComplex", 310, kMathOps, kFourier),
    refused("ViewAsReal", 310, kMathOps, kFourier),
    refused("Cholesky", 300, kLinalgOps, kDecomposes),
    refused("CholeskyInverse", 312, kLinalgOps, kDecomposes),
    refused("Det", 300, kLinalgOps, kDecomposes),
    refused("Eig", 300, kLinalgOps, kDecomposes),
    refused("Eigh", 303, kLinalgOps, kDecomposes),
    refused("Inv", 300, kLinalgOps, kDecomposes),
    refused("Logdet", 306, kMathOps, kDecomposes),
    refused("Lstsq", 304, kLinalgOps, kDecomposes),
    refused("LuFactor", 300, kLinalgOps, kDecomposes),
    refused("MatrixRank", 315, kLinalgOps, kDecomposes),
    refused("Pinv", 315, kLinalgOps, kDecomposes),
    refused("Qr", 300, kLinalgOps, kDecomposes),
    refused("SVD", 300, kLinalgOps, kDecomposes),
    refused("Slogdet", 303, kNumpyOps, kDecomposes),
    refused("Solve", 300, kLinalgOps, kDecomposes),
    refused("SolveTriangular", 300, kLinalgOps, kDecomposes),
    refused("BinaryCrossentropy", 300, kNnOps, kLoss),
    refused("CTCDecode", 303, kNnOps, kLoss),
    refused("CTCLoss", 303, kNnOps, kLoss),
    refused("CategoricalCrossentropy", 300, kNnOps, kLoss),
    refused("InTopK", 300, kMathOps, kLoss),
    refused("PSNR", 303, kNnOps, kLoss),
    refused("SSIM", 315, kImageOps, kLoss),
    refused("SparseCategoricalCrossentropy", 300, kNnOps, kLoss),
    refused("BitwiseAnd", 306, kNumpyOps, kBits),
    refused("BitwiseInvert", 306, kNumpyOps, kBits),
    refused("BitwiseLeftShift", 306, kNumpyOps, kBits),
    refused("BitwiseNot", 306, kNumpyOps, kBits),
    refused("BitwiseOr", 306, kNumpyOps, kBits),
    refused("BitwiseRightShift", 306, kNumpyOps, kBits),
    refused("BitwiseXor", 306, kNumpyOps, kBits),
    refused("LeftShift", 306, kNumpyOps, kBits),
    refused("RightShift", 306, kNumpyOps, kBits),
    refused("View", 312, kNumpyOps, kBits),
    refused("Bincount", 300, kNumpyOps, kCounted),
    refused("Nonzero", 300, kNumpyOps, kCounted),
    refused("Unique", 315, kNumpyOps, kCounted),
    refused("AffineTransform", 300, kImageOps, kNoImages),
    refused("CropImages", 301, kImageOps, kNoImages),
    refused("ElasticTransform", 310, kImageOps, kNoImages),
    refused("GaussianBlur", 309, kImageOps, kNoImages),
    refused("HSVToRGB", 304, kImageOps, kNoImages),
    refused("MapCoordinates", 300, kImageOps, kNoImages),
    refused("PadImages", 300, kImageOps, kNoImages),
    refused("PerspectiveTransform", 309, kImageOps, kNoImages),
    refused("RGBToGrayscale", 303, kImageOps, kNoImages),
    refused("RGBToHSV", 304, kImageOps, kNoImages),
    refused("ScaleAndTranslate", 312, kImageOps, kNoImages),
    refused("SobelEdges", 315, kImageOps, kNoImages),
    refused("AdaptiveAveragePool", 313, kNnOps, kNotReadBack),
    refused("AdaptiveMaxPool", 313, kNnOps, kNotReadBack),
    refused("AllClose", 314, kNumpyOps, kNoKernel),
    refused("Arange", 300, kNumpyOps, kNoKernel),
    refused("Argpartition", 304, kNumpyOps, kNoKernel),
    refused("CDist", 315, kMathOps, kNoKernel),
    refused("ConvTranspose", 300, kNnOps, kNoKernel),
    refused("Corrcoef", 311, kNumpyOps, kNoKernel),
    refused("Correlate", 302, kNumpyOps, kNoKernel),
    refused("Cross", 300, kNumpyOps, kNoKernel),
    refused("Digitize", 300, kNumpyOps, kNoKernel),
    refused("Erfinv", 300, kMathOps, kNoKernel),
    refused("Fold", 314, kNnOps, kNoKernel),
    refused("Gcd", 312, kNumpyOps, kNoKernel),
    refused("Geomspace", 314, kNumpyOps, kNoKernel),
    refused("Histogram", 306, kNumpyOps, kNoKernel),
    refused("I0", 314, kNumpyOps, kNoKernel),
    refused("Lcm", 312, kNumpyOps, kNoKernel),
    refused("Ldexp", 313, kNumpyOps, kNoKernel),
    refused("Linspace", 300, kNumpyOps, kNoKernel),
    refused("Logspace", 300, kNumpyOps, kNoKernel),
    refused("Nanargmax", 314, kNumpyOps, kNoKernel),
    refused("Nanargmin", 314, kNumpyOps, kNoKernel),
    refused("Nanmedian", 314, kNumpyOps, kNoKernel),
    refused("Nanpercentile", 315, kNumpyOps, kNoKernel),
    refused("Nanquantile", 314, kNumpyOps, kNoKernel),
    refused("Nextafter", 314, kNumpyOps, kNoKernel),
    refused("Scatter", 300, kCoreOps, kNoKernel),
    refused("ScatterUpdate", 300, kCoreOps, kNoKernel),
    refused("SearchSorted", 305, kNumpyOps, kNoKernel),
    refused("SegmentMax", 300, kMathOps, kNoKernel),
    refused("SegmentMin", 315, kMathOps, kNoKernel),
    refused("SegmentProd", 315, kMathOps, kNoKernel),
    refused("SegmentReduction", 305, kMathOps, kNoKernel),
    refused("SegmentSum", 300, kMathOps, kNoKernel),
    refused("Trapezoid", 312, kNumpyOps, kNoKernel),
    refused("Unfold", 312, kNnOps, kNoKernel),
    refused("UnravelIndex", 308, kNumpyOps, kNoKernel),
    refused("Vander", 313, kNumpyOps, kNoKernel),
};

}  // namespace

Family refused_operations() { return kRefusedOperations; }

}  // namespace attn::keras
