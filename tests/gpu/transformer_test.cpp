// tests/gpu/transformer_test.cpp -- norms, rotary embedding, activations, dropout and embedding of the GPU against
// their CPU references. SPDX-License-Identifier: Apache-2.0
#include "kernels/dropout.h"
#include "kernels/embedding.h"
#include "kernels/gelu.h"
#include "kernels/glu.h"
#include "kernels/norm.h"
#include "kernels/normal.h"
#include "kernels/relu.h"
#include "kernels/rotary.h"
#include "tests/gpu/device_array.h"

namespace {

using kernels::Element;
using test::Array;
using test::Device;
using test::Values;
namespace gpu = kernels::gpu;
namespace reference = kernels::reference;

class TransformerKernel : public test::Kernel {
 protected:
  static constexpr std::int64_t kRows = 19;
  std::size_t cells() const { return kRows * width(); }
};

TEST_P(TransformerKernel, NormForwardAgrees) {
  for (auto kind : {kernels::NormKind::rms, kernels::NormKind::layer}) {
    const kernels::Norm shape{kind, kRows, width()};
    const Values x = random(cells(), 1), residual = random(cells(), 2), weight = random(width(), 3),
                 bias = random(width(), 4);
    Values sum(cells()), y(cells()), mean(kRows), rstd(kRows);
    reference::norm_forward(shape, x, residual, weight, bias, sum, y, mean, rstd);
    const Array dx(element(), x), dresidual(element(), residual), dweight(element(), weight), dbias(element(), bias);
    const Array gpu_sum(element(), cells()), gpu_y(element(), cells()), gpu_mean(Element::f32, kRows);
    const Array gpu_rstd(Element::f32, kRows);
    gpu::norm_forward(shape, element(), dx.data(), dresidual.data(), dweight.data(), dbias.data(), gpu_sum.data(),
                      gpu_y.data(), gpu_mean.floats(), gpu_rstd.floats(), nullptr);
    test::expect_close(gpu_sum.values(), sum, close(), "sum");
    test::expect_close(gpu_y.values(), y, close(), "y");
    test::expect_close(gpu_rstd.values(), rstd, close(), "rstd");
    if (kind == kernels::NormKind::layer) test::expect_close(gpu_mean.values(), mean, close(), "mean");
  }
}

TEST_P(TransformerKernel, NormBackwardAgrees) {
  for (auto kind : {kernels::NormKind::rms, kernels::NormKind::layer}) {
    const kernels::Norm shape{kind, kRows, width()};
    const Values sum = random(cells(), 1), weight = random(width(), 3), dy = random(cells(), 5),
                 dsum = random(cells(), 6);
    Values y(cells()), mean(kRows), rstd(kRows), dx(cells()), dweight(width(), 0.5), dbias(width(), 0.5);
    reference::norm_forward(shape, sum, {}, weight, {}, {}, y, mean, rstd);
    reference::norm_backward(shape, sum, weight, mean, rstd, dy, dsum, dx, dweight, dbias);
    const Array d_sum(element(), sum), d_weight(element(), weight), d_dy(element(), dy), d_dx(element(), dsum);
    const Array d_mean(Element::f32, mean), d_rstd(Element::f32, rstd);
    const Array d_dweight(Element::f32, Values(width(), 0.5)), d_dbias(Element::f32, Values(width(), 0.5));
    gpu::norm_backward(shape, element(), d_sum.data(), d_weight.data(), d_mean.floats(), d_rstd.floats(), d_dy.data(),
                       d_dx.data(), d_dx.data(), d_dweight.floats(), d_dbias.floats(), nullptr);
    test::expect_close(d_dx.values(), dx, close(), "dx, written over dsum");
    test::expect_close(d_dweight.values(), dweight, 1e-5, "dweight");
    test::expect_close(d_dbias.values(), dbias, 1e-5, "dbias");
  }
}

/// The norm's gradient of many rows by the GPU, dx apart from dsum, beside the reference; twice, to the same bits.
void expect_norm_gradient(Element element, kernels::NormKind kind, std::int64_t rows, std::int64_t width,
                          bool on_path) {
  const kernels::Norm shape{kind, rows, width};
  const bool layer = kind == kernels::NormKind::layer;
  const auto count = static_cast<std::size_t>(rows * width);
  const auto random = [&](std::size_t size, unsigned seed) { return test::random_elements(element, size, seed); };
  const Values sum = random(count, 1), weight = random(width, 3), dy = random(count, 5), dsum = random(count, 6);
  Values y(count), mean(rows), rstd(rows), dx(count), dweight(width, 0.5), dbias(width, 0.5);
  reference::norm_forward(shape, sum, {}, weight, {}, {}, y, mean, rstd);
  reference::norm_backward(shape, sum, weight, mean, rstd, dy, on_path ? dsum : Values{}, dx, dweight, dbias);
  const Array d_sum(element, sum), d_weight(element, weight), d_dy(element, dy), d_dsum(element, dsum);
  const Array d_mean(Element::f32, mean), d_rstd(Element::f32, rstd);
  Values first;
  for (int turn = 0; turn < 2; ++turn) {
    const Array d_dx(element, count), d_dweight(Element::f32, Values(width, 0.5));
    const Array d_dbias(Element::f32, Values(width, 0.5));
    gpu::norm_backward(shape, element, d_sum.data(), d_weight.data(), layer ? d_mean.floats() : nullptr,
                       d_rstd.floats(), d_dy.data(), on_path ? d_dsum.data() : nullptr, d_dx.data(), d_dweight.floats(),
                       layer ? d_dbias.floats() : nullptr, nullptr);
    test::expect_close(d_dx.values(), dx, test::tolerance(element), "dx");
    test::expect_close(d_dweight.values(), dweight, 1e-5, "dweight");
    if (layer) test::expect_close(d_dbias.values(), dbias, 1e-5, "dbias");
    if (turn == 1) {
      EXPECT_EQ(d_dweight.values(), first);
    }
    first = d_dweight.values();
  }
}

/// So many rows that their sums over columns are taken in pieces, the last one cut.
TEST_P(TransformerKernel, NormBackwardOfManyRowsAgrees) {
  expect_norm_gradient(element(), kernels::NormKind::layer, 300, width(), true);
}

/// As real mode calls it: RMS norm without a residual's gradient, a mean or a bias.
TEST_P(TransformerKernel, RmsNormBackwardOfManyRowsAgrees) {
  expect_norm_gradient(element(), kernels::NormKind::rms, 300, width(), false);
}

/// From 128 packs of 16 bytes on rows are read once, by blocks of at most 512 threads that keep a pack each, from 513
/// on two; beyond 1,024 columns are summed apart again. 8 rows and more are a piece, and there are two at least.
TEST(NormBackward, AgreesOnBothSidesOfEachOfItsBounds) {
  for (Element element : {Element::f32, Element::bf16}) {
    for (std::int64_t packs : {127, 128, 129, 512, 513, 1024, 1025}) {
      for (std::int64_t rows : {15, 16, 19}) {
        SCOPED_TRACE(std::to_string(packs) + " packs, " + std::to_string(rows) + " rows");
        const std::int64_t width = packs * (element == Element::bf16 ? 8 : 4);
        expect_norm_gradient(element, kernels::NormKind::rms, rows, width, rows == 19);
        expect_norm_gradient(element, kernels::NormKind::layer, rows, width, rows != 19);
      }
    }
  }
}

/// 512 pieces at most: of 8,709 rows each has 17, the last one 5 more.
TEST(NormBackward, AgreesWherePiecesGrow) {
  expect_norm_gradient(Element::f32, kernels::NormKind::layer, 8709, 512, true);
}

TEST_P(TransformerKernel, RotaryAgreesBothWaysAndPacked) {
  const std::int64_t dims = width() == 37 ? 38 : 128, heads = 3, stride = (heads + 2) * dims;
  std::vector<std::int32_t> positions;
  for (int token = 0; token < kRows; ++token) positions.push_back(token * 6997);  // up to 126,000
  for (bool interleaved : {false, true}) {
    for (auto direction : {kernels::Direction::forward, kernels::Direction::backward}) {
      kernels::Rotary shape{kRows, heads, dims, dims == 38 ? 20 : dims, stride, 500000, interleaved};
      if (direction == kernels::Direction::backward) {  // and behind what is not turned
        shape.rotary_dim = dims == 38 ? 20 : 64;
        shape.first = dims - shape.rotary_dim;
        shape.scale = 1.25;
      }
      const Values before = random(kRows * stride, 1);
      Values after(before.size());
      const Array in_place(element(), before), from(element(), before), to(element(), before.size());
      const Device<std::int32_t> places(positions);
      reference::rotary(shape, direction, positions, before, after);
      gpu::rotary(shape, direction, element(), places.data(), in_place.data(), in_place.data(), nullptr);
      gpu::rotary(shape, direction, element(), places.data(), from.data(), to.data(), nullptr);
      test::expect_close(in_place.values(), after, close(), interleaved ? "interleaved" : "halves");
      EXPECT_EQ(to.values(), in_place.values());
    }
  }
}

TEST_P(TransformerKernel, GluAgrees) {
  for (auto gate : {kernels::Gate::silu, kernels::Gate::gelu, kernels::Gate::clamped}) {
    const kernels::Glu shape{kRows, width(), gate};
    const Values x = random(2 * cells(), 1, gate == kernels::Gate::clamped ? 9 : 3), dy = random(cells(), 2);
    Values y(cells()), dx(2 * cells());
    reference::glu_forward(shape, x, y);
    reference::glu_backward(shape, x, dy, dx);
    const Array d_x(element(), x), d_y(element(), cells()), d_dy(element(), dy);
    gpu::glu_forward(shape, element(), d_x.data(), d_y.data(), nullptr);
    test::expect_close(d_y.values(), y, close(), "y");
    gpu::glu_backward(shape, element(), d_x.data(), d_dy.data(), d_x.data(), nullptr);
    test::expect_close(d_x.values(), dx, close(), "dx, in place");
  }
}

TEST_P(TransformerKernel, GeluAgrees) {
  for (auto kind : {kernels::Gelu::erf, kernels::Gelu::tanh}) {
    const Values x = random(cells(), 1, 2), dy = random(cells(), 2);
    Values y(cells()), dx(cells());
    reference::gelu_forward(kind, x, y);
    reference::gelu_backward(kind, x, dy, dx);
    const Array d_x(element(), x), d_y(element(), cells()), d_dx(element(), dy);
    const auto count = static_cast<std::int64_t>(cells());
    gpu::gelu_forward(kind, count, element(), d_x.data(), d_y.data(), nullptr);
    gpu::gelu_backward(kind, count, element(), d_x.data(), d_dx.data(), d_dx.data(), nullptr);
    test::expect_close(d_y.values(), y, close(), "y");
    test::expect_close(d_dx.values(), dx, close(), "dx, in place");
  }
}

TEST_P(TransformerKernel, ReluAgrees) {
  for (auto kind : {kernels::Relu::plain, kernels::Relu::squared}) {
    const Values x = random(cells(), 1, 2), dy = random(cells(), 2);
    Values y(cells()), dx(cells());
    reference::relu_forward(kind, x, y);
    reference::relu_backward(kind, x, dy, dx);
    const Array d_x(element(), x), d_y(element(), cells()), d_dx(element(), dy);
    const auto count = static_cast<std::int64_t>(cells());
    gpu::relu_forward(kind, count, element(), d_x.data(), d_y.data(), nullptr);
    gpu::relu_backward(kind, count, element(), d_x.data(), d_dx.data(), d_dx.data(), nullptr);
    test::expect_close(d_y.values(), y, close(), "y");
    test::expect_close(d_dx.values(), dx, close(), "dx, in place");
  }
}

TEST_P(TransformerKernel, DropoutHasTheSameMask) {
  for (const std::uint64_t offset : {3, 8}) {  // the second begins with a counter of its own
    const kernels::Dropout shape{0.25, 12345678901234, offset};
    const Values x = random(cells(), 1);
    Values y(cells());
    reference::dropout(shape, x, y);
    const Array d_x(element(), x), d_y(element(), cells());
    gpu::dropout(shape, static_cast<std::int64_t>(cells()), element(), d_x.data(), d_y.data(), nullptr);
    const Values got = d_y.values();
    test::expect_close(got, y, close(), "y");
    for (std::size_t i = 0; i < y.size(); ++i) ASSERT_EQ(got[i] == 0, y[i] == 0) << i;
  }
}

TEST(NormalOnGpu, HasTheNumbersOfTheCpu) {
  const kernels::Normal shape{
      .deviation = 0.1, .key = 98765432109876, .rows = 37, .columns = 21, .first = 5, .stride = 40};
  Values y(static_cast<std::size_t>(shape.count()));
  reference::normal(shape, y);
  const Array d_y(Element::f32, Values(y.size(), 0));
  gpu::normal(shape, static_cast<float*>(d_y.data()), nullptr);
  test::expect_close(d_y.values(), y, 1e-6, "y");
}

TEST_P(TransformerKernel, EmbeddingAgreesOnARangeOfTheVocabulary) {
  const kernels::Embedding shape{kRows, width(), 5, 3};  // ids 3 to 7 of 0 to 9
  std::vector<std::int32_t> ids;
  for (int token = 0; token < kRows; ++token) ids.push_back(token * 7 % 10);
  const Values table = random(5 * width(), 1), dy = random(cells(), 2);
  Values y(cells()), dtable(5 * width(), 0.5);
  reference::embedding_forward(shape, ids, table, y);
  reference::embedding_backward(shape, ids, dy, dtable);
  const Device<std::int32_t> d_ids(ids);
  const Array d_table(element(), table), d_y(element(), cells()), d_dy(element(), dy);
  const Array d_dtable(Element::f32, Values(5 * width(), 0.5));
  gpu::embedding_forward(shape, element(), d_ids.data(), d_table.data(), d_y.data(), nullptr);
  gpu::embedding_backward(shape, element(), d_ids.data(), d_dy.data(), d_dtable.floats(), nullptr);
  EXPECT_EQ(d_y.values(), y);  // a copy is exact
  test::expect_close(d_dtable.values(), dtable, 1e-5, "dtable");
}

INSTANTIATE_TEST_SUITE_P(Gpu, TransformerKernel, test::kCases, test::case_name);

}  // namespace
