// A compiled Stan model as C functions for ctypes, and as two functions that XLA calls without Python.
// This file is appended to the C++ code that stanc writes for the model.
//
// The functions of httpstan's own modules read the data and build the model at each call, and use one random seed.
// Here a model is built once and found by its id, and one call computes many positions. Errors at a position become
// numbers that are not finite; no exception leaves these functions.

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

struct LoadedModel {
  std::unique_ptr<stan::model::model_base> model;
  bool is_exact;  // whether Hessian-vector products are Stan's second derivatives, and not differences
};

using ModelPointer = std::shared_ptr<LoadedModel>;
using Vector = Eigen::VectorXd;
using Row = Eigen::Map<Vector>;
using ConstRow = Eigen::Map<const Vector>;

const double NOT_A_NUMBER = std::numeric_limits<double>::quiet_NaN();
const double INFINITE = std::numeric_limits<double>::infinity();

std::map<std::uint32_t, ModelPointer> models;
std::mutex models_mutex;

// The model with an id; none if it is destroyed, as when a compiled JAX program outlives its target.
ModelPointer find_model(std::uint32_t id) {
  std::lock_guard<std::mutex> lock(models_mutex);
  auto found = models.find(id);
  return found == models.end() ? ModelPointer() : found->second;
}

// The log density of unconstrained parameters with the Jacobians of their transforms, up to a constant.
struct LogDensity {
  stan::model::model_base& model;
  template <typename T>
  T operator()(const Eigen::Matrix<T, Eigen::Dynamic, 1>& x) const {
    Eigen::Matrix<T, Eigen::Dynamic, 1> copy = x;  // Stan may change its argument
    return model.log_prob_propto_jacobian(copy, nullptr);
  }
};

// Each thread that differentiates needs a tape of its own.
void create_thread_tape() { static thread_local stan::math::ChainableStack tape; }

// Hv ≈ (g(x + tv) − g(x − tv))/2t. The largest change of a coordinate, relative to max(|x|, 1), is the cube root of the
// rounding unit, at which the errors of rounding and of truncation are about equal. t is proportional to 1/|v|, so that
// the product with c·v is c times that with v.
Vector central_difference(const LogDensity& density, const Vector& x, const Vector& v) {
  const double length = (v.array().abs() / x.array().abs().max(1.0)).maxCoeff();
  if (length == 0.0) return Vector::Zero(x.size());
  const double t = std::cbrt(std::numeric_limits<double>::epsilon()) / length;
  const Vector ahead = x + t * v, behind = x - t * v;
  Vector gradient_ahead(x.size()), gradient_behind(x.size());
  double value;
  stan::math::gradient(density, ahead, value, gradient_ahead);
  stan::math::gradient(density, behind, value, gradient_behind);
  return (gradient_ahead - gradient_behind) / (2.0 * t);
}

Vector hessian_vector_product(const LogDensity& density, const Vector& x, const Vector& v, bool is_exact) {
#ifdef STAN_MODEL_FVAR_VAR
  if (is_exact) {
    double value;
    Vector product(x.size());
    stan::math::hessian_times_vector(density, x, v, value, product);
    return product;
  }
#endif
  return central_difference(density, x, v);
}

// Seeds a random number generator for one draw. Stan's own function takes 200 microseconds, longer than most draws. The
// words of the state may be any numbers below 2^61 − 1; here SplitMix64 makes them.
template <int size, unsigned int multiplier, boost::int64_t special>
void seed(boost::random::mixmax_engine<size, multiplier, special>& generator, std::uint64_t counter) {
  const std::uint64_t modulus = (std::uint64_t(1) << 61) - 1;
  std::uint64_t sum = 0;
  std::ostringstream words;
  for (int i = 0; i < size; ++i) {
    std::uint64_t word = (counter += 0x9e3779b97f4a7c15);
    word = (word ^ (word >> 30)) * 0xbf58476d1ce4e5b9;
    word = (word ^ (word >> 27)) * 0x94d049bb133111eb;
    word = ((word ^ (word >> 31)) >> 3) % modulus;
    sum = ((sum + word) & modulus) + ((sum + word) >> 61);
    words << ' ' << word;
  }
  std::istringstream state(std::to_string(size) + " 1 " + std::to_string(sum) + words.str());
  state >> generator;
}

void copy_text(const std::string& text, char* out, long capacity) {
  std::strncpy(out, text.c_str(), capacity - 1);
  out[capacity - 1] = '\0';
}

void gradients(LoadedModel& loaded, long count, const double* x, double* values, double* gradients_out) {
  create_thread_tape();
  const LogDensity density{*loaded.model};
  const long size = loaded.model->num_params_r();
  Vector position(size), gradient(size);
  for (long i = 0; i < count; ++i) {
    try {
      position = ConstRow(x + i * size, size);
      stan::math::gradient(density, position, values[i], gradient);
    } catch (const std::exception&) {
      values[i] = -INFINITE;
      gradient.setConstant(NOT_A_NUMBER);
    }
    Row(gradients_out + i * size, size) = gradient;
  }
}

void products(LoadedModel& loaded, long count, const double* x, const double* v, double* out) {
  create_thread_tape();
  const LogDensity density{*loaded.model};
  const long size = loaded.model->num_params_r();
  for (long i = 0; i < count; ++i) {
    Row product(out + i * size, size);
    try {
      product = hessian_vector_product(density, ConstRow(x + i * size, size), ConstRow(v + i * size, size),
                                       loaded.is_exact);
    } catch (const std::exception&) {
      product.setConstant(NOT_A_NUMBER);
    }
  }
}

}  // namespace mongepatch

extern "C" {

int mongepatch_create(std::uint32_t id, const char* json, unsigned int seed, int exact, char* message,
                      long capacity) {
  try {
    std::istringstream stream(json);
    stan::json::json_data data(stream);
#ifdef STAN_MODEL_FVAR_VAR
    const bool is_exact = exact != 0;
#else
    const bool is_exact = false;  // not all of Stan is twice differentiable
#endif
    std::unique_ptr<stan::model::model_base> built(&new_model(data, seed, nullptr));
    mongepatch::ModelPointer model(new mongepatch::LoadedModel{std::move(built), is_exact});
    std::lock_guard<std::mutex> lock(mongepatch::models_mutex);
    mongepatch::models[id] = model;
    return 0;
  } catch (const std::exception& error) {
    mongepatch::copy_text(error.what(), message, capacity);
    return 1;
  }
}

void mongepatch_destroy(std::uint32_t id) {
  std::lock_guard<std::mutex> lock(mongepatch::models_mutex);
  mongepatch::models.erase(id);
}

long mongepatch_dimension(std::uint32_t id) { return mongepatch::find_model(id)->model->num_params_r(); }

int mongepatch_is_exact(std::uint32_t id) { return mongepatch::find_model(id)->is_exact; }

// Stan's names of all scalars of a draw, one per line; returns the length of the text.
long mongepatch_names(std::uint32_t id, char* out, long capacity) {
  std::vector<std::string> names;
  mongepatch::find_model(id)->model->constrained_param_names(names, true, true);
  std::string text;
  for (const std::string& name : names) text += name + "\n";
  if (capacity > 0) mongepatch::copy_text(text, out, capacity);
  return text.size();
}

void mongepatch_gradients(std::uint32_t id, long count, const double* x, double* values, double* out) {
  mongepatch::gradients(*mongepatch::find_model(id), count, x, values, out);
}

void mongepatch_products(std::uint32_t id, long count, const double* x, const double* v, double* out) {
  mongepatch::products(*mongepatch::find_model(id), count, x, v, out);
}

// Parameters, transformed parameters and generated quantities: `width` numbers per position.
void mongepatch_constrain(std::uint32_t id, long count, const double* x, const std::uint32_t* seeds, long width,
                          double* out) {
  mongepatch::create_thread_tape();
  const mongepatch::ModelPointer loaded = mongepatch::find_model(id);
  const stan::model::model_base& model = *loaded->model;
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
using ModelId = ffi::Buffer<ffi::U32>;

template <ffi::DataType type>
std::vector<double> to_doubles(const ffi::Buffer<type>& buffer) {
  return {buffer.typed_data(), buffer.typed_data() + buffer.element_count()};
}

ffi::Error destroyed() {
  return ffi::Error(ffi::ErrorCode::kFailedPrecondition, "The target of this Stan model no longer exists.");
}

template <ffi::DataType type>
ffi::Error xla_gradients(ModelId id, ffi::Buffer<type> x, ffi::Result<ffi::Buffer<type>> values,
                         ffi::Result<ffi::Buffer<type>> out) {
  const ModelPointer model = find_model(id.typed_data()[0]);
  if (!model) return destroyed();
  const std::vector<double> positions = to_doubles(x);
  std::vector<double> value(values->element_count()), gradient(positions.size());
  gradients(*model, value.size(), positions.data(), value.data(), gradient.data());
  std::copy(value.begin(), value.end(), values->typed_data());
  std::copy(gradient.begin(), gradient.end(), out->typed_data());
  return ffi::Error::Success();
}

template <ffi::DataType type>
ffi::Error xla_products(ModelId id, ffi::Buffer<type> x, ffi::Buffer<type> v, ffi::Result<ffi::Buffer<type>> out) {
  const ModelPointer model = find_model(id.typed_data()[0]);
  if (!model) return destroyed();
  const std::vector<double> positions = to_doubles(x), vectors = to_doubles(v);
  std::vector<double> product(positions.size());
  products(*model, positions.size() / model->model->num_params_r(), positions.data(), vectors.data(), product.data());
  std::copy(product.begin(), product.end(), out->typed_data());
  return ffi::Error::Success();
}

template <ffi::DataType type, typename Of = ffi::Buffer<type>>
auto gradients_binding() {
  return ffi::Ffi::Bind().Arg<ModelId>().template Arg<Of>().template Ret<Of>().template Ret<Of>();
}

template <ffi::DataType type, typename Of = ffi::Buffer<type>>
auto products_binding() {
  return ffi::Ffi::Bind().Arg<ModelId>().template Arg<Of>().template Arg<Of>().template Ret<Of>();
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
