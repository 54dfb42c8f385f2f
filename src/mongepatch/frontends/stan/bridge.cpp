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
#include <utility>
#include <vector>

namespace mongepatch {

struct Known {
  std::unique_ptr<stan::model::model_base> model;
  bool is_exact;  // whether products with Hessians are Stan's own, and not differences
};

using Model = std::shared_ptr<Known>;
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

// Hv ≈ (g(x + tv) − g(x − tv))/2t. No coordinate moves by more than the cube root of the rounding unit, where what
// rounding costs is what curvature costs; or by that share of itself where it is above 1: unconstrained coordinates are
// about 1 in size. t goes with 1/|v|, so that c·v has c times the product.
Vector difference(const LogDensity& density, const Vector& x, const Vector& v) {
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

Vector product(const LogDensity& density, const Vector& x, const Vector& v, bool is_exact) {
#ifdef STAN_MODEL_FVAR_VAR
  if (is_exact) {
    double value;
    Vector made(x.size());
    stan::math::hessian_times_vector(density, x, v, value, made);
    return made;
  }
#endif
  return difference(density, x, v);
}

// A generator that is good for one draw. Stan's way to seed one takes 200 microseconds, more than most draws; the words of
// the state may be any numbers below 2^61 − 1, here those of SplitMix64.
template <int size, unsigned int multiplier, boost::int64_t special>
void seed(boost::random::mixmax_engine<size, multiplier, special>& generator, std::uint64_t number) {
  const std::uint64_t modulus = (std::uint64_t(1) << 61) - 1;
  std::uint64_t sum = 0;
  std::ostringstream words;
  for (int i = 0; i < size; ++i) {
    std::uint64_t word = (number += 0x9e3779b97f4a7c15);
    word = (word ^ (word >> 30)) * 0xbf58476d1ce4e5b9;
    word = (word ^ (word >> 27)) * 0x94d049bb133111eb;
    word = ((word ^ (word >> 31)) >> 3) % modulus;
    sum = ((sum + word) & modulus) + ((sum + word) >> 61);
    words << ' ' << word;
  }
  std::istringstream state(std::to_string(size) + " 1 " + std::to_string(sum) + words.str());
  state >> generator;
}

void write(const std::string& text, char* out, long capacity) {
  std::strncpy(out, text.c_str(), capacity - 1);
  out[capacity - 1] = '\0';
}

void gradients(Known& known, long count, const double* x, double* values, double* slopes) {
  begin_tape();
  const LogDensity density{*known.model};
  const long size = known.model->num_params_r();
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

void products(Known& known, long count, const double* x, const double* v, double* out) {
  begin_tape();
  const LogDensity density{*known.model};
  const long size = known.model->num_params_r();
  for (long i = 0; i < count; ++i) {
    Row made(out + i * size, size);
    try {
      made = product(density, ConstRow(x + i * size, size), ConstRow(v + i * size, size), known.is_exact);
    } catch (const std::exception&) {
      made.setConstant(NOT_A_NUMBER);
    }
  }
}

}  // namespace mongepatch

extern "C" {

int mongepatch_create(std::uint32_t number, const char* json, unsigned int seed, int exact, char* message,
                      long capacity) {
  try {
    std::istringstream stream(json);
    stan::json::json_data data(stream);
#ifdef STAN_MODEL_FVAR_VAR
    const bool is_exact = exact != 0;
#else
    const bool is_exact = false;  // not all of Stan can be derived twice
#endif
    std::unique_ptr<stan::model::model_base> built(&new_model(data, seed, nullptr));
    mongepatch::Model model(new mongepatch::Known{std::move(built), is_exact});
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

long mongepatch_dimension(std::uint32_t number) { return mongepatch::model_of(number)->model->num_params_r(); }

int mongepatch_is_exact(std::uint32_t number) { return mongepatch::model_of(number)->is_exact; }

// Stan's names of all scalars of a draw, one a line; returns the length of the text.
long mongepatch_names(std::uint32_t number, char* out, long capacity) {
  std::vector<std::string> names;
  mongepatch::model_of(number)->model->constrained_param_names(names, true, true);
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
  const mongepatch::Model known = mongepatch::model_of(number);
  const stan::model::model_base& model = *known->model;
  const long size = model.num_params_r();
  auto rng = stan::services::util::create_rng(0, 1);
  mongepatch::Vector position(size), values;
  std::fill(out, out + count * width, mongepatch::NOT_A_NUMBER);
  for (long i = 0; i < count; ++i) {
    try {
      mongepatch::seed(rng, seeds[i]);
      position = mongepatch::ConstRow(x + i * size, size);
      model.write_array(rng, position, values, true, true, nullptr);
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
  products(*model, positions.size() / model->model->num_params_r(), positions.data(), vectors.data(), made.data());
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
