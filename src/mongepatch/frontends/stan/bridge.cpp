// A compiled Stan model behind C functions for ctypes, and behind two that XLA calls by itself, without Python.
// This file is appended to what stanc wrote of the model.
//
// The functions of httpstan's own modules read the data and build the model anew at each call, and know no randomness
// but one. Here a model is built once and told by a number, and many positions are done in one call. What goes wrong at
// a position is told by numbers that are not finite; nothing is thrown across the border.

#include <stan/io/json/json_data.hpp>
#include <stan/math/rev/functor/gradient.hpp>
#ifdef STAN_MODEL_FVAR_VAR
#include <stan/math/mix/functor/hessian_times_vector.hpp>
#endif
#include <xla/ffi/api/ffi.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <exception>
#include <limits>
#include <map>
#include <memory>
#include <mutex>
#include <sstream>
#include <string>
#include <vector>

namespace mongepatch {

using Model = std::shared_ptr<stan::model::model_base>;
using Vector = Eigen::VectorXd;
using Row = Eigen::Map<Vector>;
using ConstRow = Eigen::Map<const Vector>;

const double NOT_A_NUMBER = std::numeric_limits<double>::quiet_NaN();
const double INFINITE = std::numeric_limits<double>::infinity();

std::map<std::uint32_t, Model> models;
std::mutex guard;

// The model of a number; none where it is gone, as when a program outlives the target that it was compiled for.
Model model_of(std::uint32_t number) {
  std::lock_guard<std::mutex> lock(guard);
  auto found = models.find(number);
  return found == models.end() ? Model() : found->second;
}

// The log density of unconstrained parameters with the Jacobians of their transforms, up to a constant.
struct LogDensity {
  stan::model::model_base& model;
  template <typename T>
  T operator()(const Eigen::Matrix<T, Eigen::Dynamic, 1>& x) const {
    Eigen::Matrix<T, Eigen::Dynamic, 1> copy = x;  // Stan does not promise to leave it alone
    return model.log_prob_propto_jacobian(copy, nullptr);
  }
};

// Each thread that derives needs a tape of its own.
void begin_tape() { static thread_local stan::math::ChainableStack tape; }

#ifdef STAN_MODEL_FVAR_VAR
Vector product(const LogDensity& density, const Vector& x, const Vector& v) {
  double value;
  Vector made(x.size());
  stan::math::hessian_times_vector(density, x, v, value, made);
  return made;
}
#else
// Hv ≈ (g(x + tv) − g(x − tv))/2t, for densities that can be derived but once. No coordinate moves by more than the cube
// root of the rounding unit, where what rounding costs is what curvature costs; or by that share of itself where it is
// above 1: unconstrained coordinates are about 1 in size. t goes with 1/|v|, so that c·v has c times the product.
Vector product(const LogDensity& density, const Vector& x, const Vector& v) {
  const double reach = (v.array().abs() / x.array().abs().max(1.0)).maxCoeff();
  if (reach == 0.0) return Vector::Zero(x.size());
  const double t = std::cbrt(std::numeric_limits<double>::epsilon()) / reach;
  const Vector ahead = x + t * v, behind = x - t * v;
  Vector there(x.size()), back(x.size());
  double value;
  stan::math::gradient(density, ahead, value, there);
  stan::math::gradient(density, behind, value, back);
  return (there - back) / (2.0 * t);
}
#endif

void write(const std::string& text, char* out, long capacity) {
  std::strncpy(out, text.c_str(), capacity - 1);
  out[capacity - 1] = '\0';
}

void gradients(stan::model::model_base& model, long count, const double* x, double* values, double* slopes) {
  begin_tape();
  const LogDensity density{model};
  const long size = model.num_params_r();
  Vector position(size), slope(size);
  for (long i = 0; i < count; ++i) {
    try {
      position = ConstRow(x + i * size, size);
      stan::math::gradient(density, position, values[i], slope);
    } catch (const std::exception&) {
      values[i] = -INFINITE;
      slope.setConstant(NOT_A_NUMBER);
    }
    Row(slopes + i * size, size) = slope;
  }
}

void products(stan::model::model_base& model, long count, const double* x, const double* v, double* out) {
  begin_tape();
  const LogDensity density{model};
  const long size = model.num_params_r();
  for (long i = 0; i < count; ++i) {
    Row made(out + i * size, size);
    try {
      made = product(density, ConstRow(x + i * size, size), ConstRow(v + i * size, size));
    } catch (const std::exception&) {
      made.setConstant(NOT_A_NUMBER);
    }
  }
}

}  // namespace mongepatch

extern "C" {

int mongepatch_create(std::uint32_t number, const char* json, unsigned int seed, char* message, long capacity) {
  try {
    std::istringstream stream(json);
    stan::json::json_data data(stream);
    mongepatch::Model model(&new_model(data, seed, nullptr));
    std::lock_guard<std::mutex> lock(mongepatch::guard);
    mongepatch::models[number] = model;
    return 0;
  } catch (const std::exception& error) {
    mongepatch::write(error.what(), message, capacity);
    return 1;
  }
}

void mongepatch_destroy(std::uint32_t number) {
  std::lock_guard<std::mutex> lock(mongepatch::guard);
  mongepatch::models.erase(number);
}

long mongepatch_dimension(std::uint32_t number) { return mongepatch::model_of(number)->num_params_r(); }

// Whether products with Hessians are exact. Not all of Stan can be derived twice.
int mongepatch_is_exact() {
#ifdef STAN_MODEL_FVAR_VAR
  return 1;
#else
  return 0;
#endif
}

// Stan's names of all scalars of a draw, one a line; returns the length of the text.
long mongepatch_names(std::uint32_t number, char* out, long capacity) {
  std::vector<std::string> names;
  mongepatch::model_of(number)->constrained_param_names(names, true, true);
  std::string text;
  for (const std::string& name : names) text += name + "\n";
  if (capacity > 0) mongepatch::write(text, out, capacity);
  return text.size();
}

void mongepatch_gradients(std::uint32_t number, long count, const double* x, double* values, double* slopes) {
  mongepatch::gradients(*mongepatch::model_of(number), count, x, values, slopes);
}

void mongepatch_products(std::uint32_t number, long count, const double* x, const double* v, double* out) {
  mongepatch::products(*mongepatch::model_of(number), count, x, v, out);
}

// Parameters, transformed parameters and generated quantities, `width` numbers for each position.
void mongepatch_constrain(std::uint32_t number, long count, const double* x, const std::uint32_t* seeds, long width,
                          double* out) {
  mongepatch::begin_tape();
  const mongepatch::Model model = mongepatch::model_of(number);
  const long size = model->num_params_r();
  mongepatch::Vector position(size), values;
  std::fill(out, out + count * width, mongepatch::NOT_A_NUMBER);
  for (long i = 0; i < count; ++i) {
    try {
      auto rng = stan::services::util::create_rng(seeds[i], 1);
      position = mongepatch::ConstRow(x + i * size, size);
      model->write_array(rng, position, values, true, true, nullptr);
      std::copy_n(values.data(), std::min<long>(values.size(), width), out + i * width);
    } catch (const std::exception&) {
    }
  }
}

}  // extern "C"

namespace mongepatch {

namespace ffi = xla::ffi;
using Number = ffi::Buffer<ffi::U32>;

template <ffi::DataType type>
std::vector<double> doubles(const ffi::Buffer<type>& buffer) {
  return {buffer.typed_data(), buffer.typed_data() + buffer.element_count()};
}

ffi::Error gone() { return ffi::Error(ffi::ErrorCode::kFailedPrecondition, "The target of this Stan model is gone."); }

template <ffi::DataType type>
ffi::Error xla_gradients(Number number, ffi::Buffer<type> x, ffi::Result<ffi::Buffer<type>> values,
                         ffi::Result<ffi::Buffer<type>> slopes) {
  const Model model = model_of(number.typed_data()[0]);
  if (!model) return gone();
  const std::vector<double> positions = doubles(x);
  std::vector<double> value(values->element_count()), slope(positions.size());
  gradients(*model, value.size(), positions.data(), value.data(), slope.data());
  std::copy(value.begin(), value.end(), values->typed_data());
  std::copy(slope.begin(), slope.end(), slopes->typed_data());
  return ffi::Error::Success();
}

template <ffi::DataType type>
ffi::Error xla_products(Number number, ffi::Buffer<type> x, ffi::Buffer<type> v, ffi::Result<ffi::Buffer<type>> out) {
  const Model model = model_of(number.typed_data()[0]);
  if (!model) return gone();
  const std::vector<double> positions = doubles(x), vectors = doubles(v);
  std::vector<double> made(positions.size());
  products(*model, positions.size() / model->num_params_r(), positions.data(), vectors.data(), made.data());
  std::copy(made.begin(), made.end(), out->typed_data());
  return ffi::Error::Success();
}

template <ffi::DataType type, typename Of = ffi::Buffer<type>>
auto gradients_binding() {
  return ffi::Ffi::Bind().Arg<Number>().template Arg<Of>().template Ret<Of>().template Ret<Of>();
}

template <ffi::DataType type, typename Of = ffi::Buffer<type>>
auto products_binding() {
  return ffi::Ffi::Bind().Arg<Number>().template Arg<Of>().template Arg<Of>().template Ret<Of>();
}

}  // namespace mongepatch

XLA_FFI_DEFINE_HANDLER_SYMBOL(mongepatch_xla_gradients_float64, mongepatch::xla_gradients<xla::ffi::F64>,
                              mongepatch::gradients_binding<xla::ffi::F64>());
XLA_FFI_DEFINE_HANDLER_SYMBOL(mongepatch_xla_gradients_float32, mongepatch::xla_gradients<xla::ffi::F32>,
                              mongepatch::gradients_binding<xla::ffi::F32>());
XLA_FFI_DEFINE_HANDLER_SYMBOL(mongepatch_xla_products_float64, mongepatch::xla_products<xla::ffi::F64>,
                              mongepatch::products_binding<xla::ffi::F64>());
XLA_FFI_DEFINE_HANDLER_SYMBOL(mongepatch_xla_products_float32, mongepatch::xla_products<xla::ffi::F32>,
                              mongepatch::products_binding<xla::ffi::F32>());
