#include "evaluate.h"

namespace attn::test {
namespace {

using graph::Rnn;
using graph::RnnCell;

// B 2, T 4, D 3, U 2. Expected numbers: Keras 3.15 in float64, weights wave(shape, 1), wave(shape, 2), wave(shape, 3).
const Tensor kX = wave({2, 4, 3}, 0);
const Tensor kMask = tensor({2, 4}, {1, 0, 1, 1, 0, 1, 1, 0}, DType::boolean);

enum class Variant { plain, masked_backwards, zeroed_from_state };

struct Row {
  RnnCell cell;
  Variant variant;
  std::vector<std::vector<double>> expected;  // outputs, then states
};

const std::vector<Row> kRows{
    {RnnCell::lstm,
     Variant::plain,
     {{0.0362632427646, -0.0382445231051, -0.258146086243, -0.28482702227, 0.00413642000301, -0.000164269538265,
       0.0347907942508, -0.0439063847201, -0.27272461383, -0.268299826603, 0.00506347768923, 0.00281923350672,
       0.0325711633175, -0.0488622375759, -0.267782957056, -0.279010185119},
      {0.0347907942508, -0.0439063847201, -0.267782957056, -0.279010185119},
      {0.09220742404, -0.120783493676, -0.589006985489, -0.426577800295}}},
    {RnnCell::lstm,
     Variant::masked_backwards,
     {{0.0344317241036, -0.0432100979772, -0.107201775861, 0.0586638810357, -0.107201775861, 0.0586638810357,
       0.0176548775974, -0.0194547015982, 0, 0, 0.0325922620197, -0.0480679321366, -0.100719516262, 0.0567868940421,
       -0.100719516262, 0.0567868940421},
      {0.0176548775974, -0.0194547015982, -0.100719516262, 0.0567868940421},
      {0.0467639833281, -0.0549831990439, -0.106356652832, 0.0602602053643}}},
    {RnnCell::lstm,
     Variant::zeroed_from_state,
     {{0.001418285849, 0.140317744879, 0, 0, -0.155145122676, 0.130148307121, 0.0013975416316, -0.015060118874, 0, 0,
       -0.323068964896, 0.166682414711, -0.0300325290522, 0.00662077898746, 0, 0},
      {0.0013975416316, -0.015060118874, -0.0300325290522, 0.00662077898746},
      {0.00387763923988, -0.0440322090482, -0.0857201112289, 0.0209598144492}}},
    {RnnCell::gru,
     Variant::plain,
     {{-0.127997267358, 0.370784611253, -0.242980340824, 0.172511819311, -0.367955057094, 0.0791800774008,
       -0.295959781615, 0.414371921666, -0.147726787617, -0.144627116979, -0.299952623503, -0.0677881947112,
       -0.275948168733, 0.372616445417, -0.347979787273, 0.16728165091},
      {-0.295959781615, 0.414371921666, -0.347979787273, 0.16728165091}}},
    {RnnCell::gru,
     Variant::masked_backwards,
     {{-0.127772598077, 0.366069047872, -0.282495667114, 0.187486796757, -0.282495667114, 0.187486796757,
       -0.260620289389, 0.436907141231, 0, 0, -0.127576844656, 0.361221134069, -0.282693797185, 0.188792289657,
       -0.282693797185, 0.188792289657},
      {-0.260620289389, 0.436907141231, -0.282693797185, 0.188792289657}}},
    {RnnCell::gru,
     Variant::zeroed_from_state,
     {{-0.460945166404, 0.412791268327, 0, 0, -0.496327071509, 0.210320790296, -0.324168375426, 0.456133033908, 0, 0,
       -0.0890953951081, 0.438798211457, -0.168499109222, 0.490978156094, 0, 0},
      {-0.324168375426, 0.456133033908, -0.168499109222, 0.490978156094}}},
    {RnnCell::simple,
     Variant::plain,
     {{-0.0266835216842, -0.898880026805, 0.907615460894, 0.886884693157, -0.264549416008, -0.819645693662,
       -0.0366643536287, -0.713449453489, 0.861726386127, 0.597437102678, -0.246242716486, -0.743942709301,
       -0.0182262895666, -0.732216258349, 0.898010991091, 0.858159072434},
      {-0.0366643536287, -0.713449453489, 0.898010991091, 0.858159072434}}},
    {RnnCell::simple,
     Variant::masked_backwards,
     {{-0.00557979855909, -0.896049928984, -0.568799858473, -0.0868641214952, -0.568799858473, -0.0868641214952,
       -0.479011590086, -0.927244445, 0, 0, 0.0155703620276, -0.893092337898, -0.564848478939, -0.100870983727,
       -0.564848478939, -0.100870983727},
      {-0.479011590086, -0.927244445, -0.564848478939, -0.100870983727}}},
    {RnnCell::simple,
     Variant::zeroed_from_state,
     {{-0.639846882535, -0.89075464546, 0, 0, -0.840782525915, -0.347405045126, -0.59238009344, -0.909887195964, 0, 0,
       -0.745438155636, -0.882144650798, -0.411012695467, -0.775406866064, 0, 0},
      {-0.59238009344, -0.909887195964, -0.411012695467, -0.775406866064}}},
};

Dim gates_of(RnnCell cell) { return cell == RnnCell::lstm ? 4 : cell == RnnCell::gru ? 3 : 1; }

TEST_CASE("rnn: every cell runs forwards, backwards under a mask, and from a state with masked outputs zeroed") {
  for (const Row& row : kRows) {
    CAPTURE(static_cast<int>(row.cell));
    CAPTURE(static_cast<int>(row.variant));
    const Dim wide = 2 * gates_of(row.cell);
    Rnn op;
    op.cell = row.cell;
    op.return_sequences = op.return_state = true;
    const Shape bias = row.cell == RnnCell::gru ? Shape{2, wide} : Shape{wide};
    std::vector<Tensor> inputs{kX, wave({3, wide}, 1), wave({2, wide}, 2), wave(bias, 3)};
    if (row.variant == Variant::masked_backwards) op.mask = op.go_backwards = true;
    if (row.variant == Variant::zeroed_from_state) op.mask = op.zero_output_for_mask = op.initial_state = true;
    if (op.mask) inputs.push_back(kMask);
    if (op.initial_state) {
      inputs.push_back(wave({2, 2}, 5));
      if (row.cell == RnnCell::lstm) inputs.push_back(wave({2, 2}, 6));
    }
    const auto outputs = evaluate(op, inputs);
    REQUIRE(outputs.size() == row.expected.size());
    for (std::size_t i = 0; i < outputs.size(); ++i) check_near(numbers(outputs[i]), row.expected[i]);
  }
}

TEST_CASE("rnn: a GRU can apply the reset gate before the recurrent product") {
  Rnn op;
  op.cell = RnnCell::gru;
  op.reset_after = false;
  op.return_sequences = true;
  check_near(result(op, {kX, wave({3, 6}, 1), wave({2, 6}, 2), wave({6}, 3)}),
             {-0.106918104491, 0.59721772774, -0.188079023827, 0.233999887676, -0.355380956233, 0.227280089791,
              -0.167445004603, 0.651443640328, -0.178309797349, -0.191220038389, -0.366396007803, 0.119611051705,
              -0.182381552117, 0.635975084503, -0.213305858325, 0.264268504108});
}

TEST_CASE("rnn: a layer can have no bias and return only the last output") {
  Rnn op;
  op.cell = RnnCell::gru;
  op.bias = false;
  check_near(result(op, {kX, wave({3, 6}, 1), wave({2, 6}, 2)}),
             {0.177195061901, 0.463216724139, 0.0792696819427, 0.197218196456});
}

TEST_CASE("rnn: zero steps keep the output at 0 and the state unchanged") {
  Rnn op;
  op.cell = RnnCell::simple;
  op.initial_state = op.return_state = true;
  op.bias = false;
  const auto outputs = evaluate(op, {tensor({2, 0, 3}, {}), wave({3, 2}, 1), wave({2, 2}, 2), wave({2, 2}, 5)});
  check_near(numbers(outputs[0]), {0, 0, 0, 0});
  check_near(numbers(outputs[1]), numbers(wave({2, 2}, 5)));
}

}  // namespace
}  // namespace attn::test
