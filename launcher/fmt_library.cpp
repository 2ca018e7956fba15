// The parts of fmt that its headers only declare, compiled once: Debian's libfmt-dev brings a
// shared library only, the command is static, and with FMT_HEADER_ONLY every file takes eight
// seconds.
#include <fmt/format-inl.h>

FMT_BEGIN_NAMESPACE
namespace detail {
// The templates among them, as far as the command needs them.
template dragonbox::decimal_fp<float> dragonbox::to_decimal(float) noexcept;
template dragonbox::decimal_fp<double> dragonbox::to_decimal(double) noexcept;
template thousands_sep_result<char> thousands_sep_impl<char>(locale_ref);
template char decimal_point_impl(locale_ref);
}  // namespace detail
FMT_END_NAMESPACE
