#include "classes/refused.h"

#include <array>

namespace attn::keras {
namespace {

constexpr std::string_view kCode = "it carries Python code, which is never run; replace it by layers or keras.ops";
constexpr std::string_view kVocabulary = "its vocabulary may be a path or URL, which is never opened";
constexpr std::string_view kSavedModel = "it loads a SavedModel from a path, which is never opened";
constexpr std::string_view kFourier = "attn has no Fourier transforms and no complex numbers";
constexpr std::string_view kConvRecurrent = "attn has no recurrent convolutions";
constexpr std::string_view kPrepares = "it prepares data before a model; give the model what it makes";
constexpr std::string_view kBoxes = "attn has no layers for boxes around objects";
constexpr std::string_view kCallsCode = "it calls a Python function, which is never run";
constexpr std::string_view kDecomposes = "attn has no decompositions of matrices";
constexpr std::string_view kLoss = "losses and metrics belong to training";
constexpr std::string_view kBits = "attn has no operations on bits";
constexpr std::string_view kCounted = "the shape of its result depends on numbers that only a run knows";
constexpr std::string_view kNoImages = "attn does not warp or recolour images";
constexpr std::string_view kNotReadBack = "Keras cannot read it back itself; use the layer";
constexpr std::string_view kNoKernel = "attn has no kernel for it";

constexpr std::array kRefusedLayers = {
    Refused{"FlaxLayer", kCode},
    Refused{"JaxLayer", kCode},
    Refused{"Lambda", kCode},
    Refused{"TorchModuleWrapper", kCode},
    Refused{"IntegerLookup", kVocabulary},
    Refused{"StringLookup", kVocabulary},
    Refused{"TFSMLayer", kSavedModel},
    Refused{"TextVectorization", kVocabulary},
    Refused{"FNetEncoder", kFourier},
    Refused{"MelSpectrogram", kFourier},
    Refused{"STFTSpectrogram", kFourier},
    Refused{"ConvLSTM1D", kConvRecurrent},
    Refused{"ConvLSTM2D", kConvRecurrent},
    Refused{"ConvLSTM3D", kConvRecurrent},
    Refused{"AutoContrast", kPrepares},
    Refused{"CategoryEncoding", kPrepares},
    Refused{"ContrastLimitedAdaptiveHistogramEqualization", kPrepares},
    Refused{"Discretization", kPrepares},
    Refused{"Equalization", kPrepares},
    Refused{"HashedCrossing", kPrepares},
    Refused{"Hashing", kPrepares},
    Refused{"MaskedLMMaskGenerator", kPrepares},
    Refused{"MaxNumBoundingBoxes", kPrepares},
    Refused{"MultiSegmentPacker", kPrepares},
    Refused{"Pipeline", kPrepares},
    Refused{"RandomCrop", kPrepares},
    Refused{"RandomDeletion", kPrepares},
    Refused{"RandomSwap", kPrepares},
    Refused{"Solarization", kPrepares},
    Refused{"StartEndPacker", kPrepares},
    Refused{"AnchorGenerator", kBoxes},
    Refused{"BoxMatcher", kBoxes},
    Refused{"NonMaxSuppression", kBoxes},
};

constexpr std::array kRefusedOperations = {
    Refused{"AssociativeScan", kCallsCode},
    Refused{"Cond", kCallsCode},
    Refused{"ForiLoop", kCallsCode},
    Refused{"JVP", kCallsCode},
    Refused{"Map", kCallsCode},
    Refused{"Scan", kCallsCode},
    Refused{"Switch", kCallsCode},
    Refused{"VectorizedMap", kCallsCode},
    Refused{"WhileLoop", kCallsCode},
    Refused{"ExtractSequences", kFourier},
    Refused{"FFT", kFourier},
    Refused{"FFT2", kFourier},
    Refused{"IFFT2", kFourier},
    Refused{"IRFFT", kFourier},
    Refused{"ISTFT", kFourier},
    Refused{"Polar", kFourier},
    Refused{"RFFT", kFourier},
    Refused{"STFT", kFourier},
    Refused{"ViewAsComplex", kFourier},
    Refused{"ViewAsReal", kFourier},
    Refused{"Cholesky", kDecomposes},
    Refused{"CholeskyInverse", kDecomposes},
    Refused{"Det", kDecomposes},
    Refused{"Eig", kDecomposes},
    Refused{"Eigh", kDecomposes},
    Refused{"Inv", kDecomposes},
    Refused{"Logdet", kDecomposes},
    Refused{"Lstsq", kDecomposes},
    Refused{"LuFactor", kDecomposes},
    Refused{"MatrixRank", kDecomposes},
    Refused{"Pinv", kDecomposes},
    Refused{"Qr", kDecomposes},
    Refused{"SVD", kDecomposes},
    Refused{"Slogdet", kDecomposes},
    Refused{"Solve", kDecomposes},
    Refused{"SolveTriangular", kDecomposes},
    Refused{"BinaryCrossentropy", kLoss},
    Refused{"CTCDecode", kLoss},
    Refused{"CTCLoss", kLoss},
    Refused{"CategoricalCrossentropy", kLoss},
    Refused{"InTopK", kLoss},
    Refused{"PSNR", kLoss},
    Refused{"SSIM", kLoss},
    Refused{"SparseCategoricalCrossentropy", kLoss},
    Refused{"BitwiseAnd", kBits},
    Refused{"BitwiseInvert", kBits},
    Refused{"BitwiseLeftShift", kBits},
    Refused{"BitwiseNot", kBits},
    Refused{"BitwiseOr", kBits},
    Refused{"BitwiseRightShift", kBits},
    Refused{"BitwiseXor", kBits},
    Refused{"LeftShift", kBits},
    Refused{"RightShift", kBits},
    Refused{"View", kBits},
    Refused{"Bincount", kCounted},
    Refused{"Nonzero", kCounted},
    Refused{"Unique", kCounted},
    Refused{"AffineTransform", kNoImages},
    Refused{"CropImages", kNoImages},
    Refused{"ElasticTransform", kNoImages},
    Refused{"GaussianBlur", kNoImages},
    Refused{"HSVToRGB", kNoImages},
    Refused{"MapCoordinates", kNoImages},
    Refused{"PadImages", kNoImages},
    Refused{"PerspectiveTransform", kNoImages},
    Refused{"RGBToGrayscale", kNoImages},
    Refused{"RGBToHSV", kNoImages},
    Refused{"ScaleAndTranslate", kNoImages},
    Refused{"SobelEdges", kNoImages},
    Refused{"AdaptiveAveragePool", kNotReadBack},
    Refused{"AdaptiveMaxPool", kNotReadBack},
    Refused{"AllClose", kNoKernel},
    Refused{"Arange", kNoKernel},
    Refused{"Argpartition", kNoKernel},
    Refused{"CDist", kNoKernel},
    Refused{"ConvTranspose", kNoKernel},
    Refused{"Corrcoef", kNoKernel},
    Refused{"Correlate", kNoKernel},
    Refused{"Cross", kNoKernel},
    Refused{"Digitize", kNoKernel},
    Refused{"Erfinv", kNoKernel},
    Refused{"Fold", kNoKernel},
    Refused{"Gcd", kNoKernel},
    Refused{"Geomspace", kNoKernel},
    Refused{"Histogram", kNoKernel},
    Refused{"I0", kNoKernel},
    Refused{"Lcm", kNoKernel},
    Refused{"Ldexp", kNoKernel},
    Refused{"Linspace", kNoKernel},
    Refused{"Logspace", kNoKernel},
    Refused{"Nanargmax", kNoKernel},
    Refused{"Nanargmin", kNoKernel},
    Refused{"Nanmedian", kNoKernel},
    Refused{"Nanpercentile", kNoKernel},
    Refused{"Nanquantile", kNoKernel},
    Refused{"Nextafter", kNoKernel},
    Refused{"Scatter", kNoKernel},
    Refused{"ScatterUpdate", kNoKernel},
    Refused{"SearchSorted", kNoKernel},
    Refused{"SegmentMax", kNoKernel},
    Refused{"SegmentMin", kNoKernel},
    Refused{"SegmentProd", kNoKernel},
    Refused{"SegmentReduction", kNoKernel},
    Refused{"SegmentSum", kNoKernel},
    Refused{"Trapezoid", kNoKernel},
    Refused{"Unfold", kNoKernel},
    Refused{"UnravelIndex", kNoKernel},
    Refused{"Vander", kNoKernel},
};

}  // namespace

std::span<const Refused> refused_layers() { return kRefusedLayers; }
std::span<const Refused> refused_operations() { return kRefusedOperations; }

}  // namespace attn::keras
