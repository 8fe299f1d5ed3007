// SPDX-License-Identifier: Apache-2.0
#include "heddle/core/seam/address.hpp"

#include <algorithm>
#include <charconv>
#include <optional>

#include "heddle/core/base/error.hpp"

namespace heddle {
namespace {

template <class Number>
bool parse_number(std::string_view text, int base, Number& value) {
    if (text.empty()) { return false; }
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value, base);
    return error == std::errc{} && end == text.data() + text.size();
}

/// Four decimal numbers without leading zeros, which some take for octal.
bool parse_ip4(std::string_view text, std::uint8_t* bytes) {
    for (int at = 0; at < 4; ++at) {
        const std::size_t dot = at < 3 ? text.find('.') : text.size();
        if (dot == std::string_view::npos) { return false; }
        const std::string_view part = text.substr(0, dot);
        if (part.size() > 1 && part[0] == '0') { return false; }
        if (!parse_number(part, 10, bytes[at])) { return false; }
        text.remove_prefix(std::min(dot + 1, text.size()));
    }
    return text.empty();
}

/// Eight groups, one run of them as "::", the last two perhaps in ip4's form.
bool parse_ip6(std::string_view text, std::array<std::uint8_t, 16>& bytes) {
    std::array<std::uint8_t, 16> found{};
    std::size_t count = 0;
    std::optional<std::size_t> gap;
    if (text.starts_with("::")) {
        gap = 0;
        text.remove_prefix(2);
    }
    while (!text.empty()) {
        if (count > 14) { return false; }
        const std::size_t colon = text.find(':');
        const std::string_view part = text.substr(0, colon);
        if (part.find('.') != std::string_view::npos) {
            if (colon != std::string_view::npos || count > 12 || !parse_ip4(part, found.data() + count)) {
                return false;
            }
            count += 4;
            break;
        }
        std::uint16_t group = 0;
        if (part.size() > 4 || !parse_number(part, 16, group)) { return false; }
        found[count++] = static_cast<std::uint8_t>(group >> 8);
        found[count++] = static_cast<std::uint8_t>(group & 0xff);
        if (colon == std::string_view::npos) { break; }
        text.remove_prefix(colon + 1);
        if (text.starts_with(':')) {
            if (gap) { return false; }
            gap = count;
            text.remove_prefix(1);
        } else if (text.empty()) {
            return false;
        }
    }
    if (gap ? count > 14 : count != 16) { return false; }
    bytes = {};
    const std::size_t head = gap.value_or(count);
    std::copy_n(found.begin(), head, bytes.begin());
    std::copy_n(found.begin() + static_cast<std::ptrdiff_t>(head), count - head,
                bytes.end() - static_cast<std::ptrdiff_t>(count - head));
    return true;
}

std::string text_of_ip6(const std::array<std::uint8_t, 16>& bytes) {
    std::array<std::uint16_t, 8> groups{};
    for (std::size_t at = 0; at < 8; ++at) {
        groups[at] = static_cast<std::uint16_t>((bytes[2 * at] << 8) | bytes[2 * at + 1]);
    }
    // The first of the longest runs of zeros, if it has two groups or more, is what "::" stands for.
    std::size_t best = 8;
    std::size_t best_size = 1;
    for (std::size_t at = 0; at < 8;) {
        std::size_t end = at;
        while (end < 8 && groups[end] == 0) { ++end; }
        if (end - at > best_size) {
            best = at;
            best_size = end - at;
        }
        at = std::max(end, at + 1);
    }
    std::string text;
    for (std::size_t at = 0; at < 8;) {
        if (at == best) {
            text += "::";
            at += best_size;
            continue;
        }
        if (!text.empty() && text.back() != ':') { text += ':'; }
        char digits[4];
        const auto [end, error] = std::to_chars(digits, digits + sizeof digits, groups[at], 16);
        text.append(digits, end);
        ++at;
    }
    return text;
}

}  // namespace

Result<Address> Address::parse_host(std::string_view host) {
    Address address;
    if (parse_ip4(host, address.bytes.data())) {
        address.family = AddressFamily::ip4;
        return address;
    }
    address.bytes = {};
    const std::size_t percent = host.find('%');
    if (parse_ip6(host.substr(0, percent), address.bytes) &&
        (percent == std::string_view::npos || parse_number(host.substr(percent + 1), 10, address.scope))) {
        address.family = AddressFamily::ip6;
        return address;
    }
    return InputError{"address", "an ip4 or ip6 address", "\"" + std::string(host) + "\""};
}

Result<Address> Address::parse(std::string_view text) {
    const InputError error{"address", "\"host:port\" or \"[host]:port\"", "\"" + std::string(text) + "\""};
    const std::size_t colon = text.rfind(':');
    if (colon == std::string_view::npos) { return error; }
    std::string_view host = text.substr(0, colon);
    const bool bracketed = host.size() >= 2 && host.front() == '[' && host.back() == ']';
    if (bracketed) { host = host.substr(1, host.size() - 2); }
    Result<Address> address = parse_host(host);
    if (!address) { return error; }
    if (bracketed != (address->family == AddressFamily::ip6)) { return error; }
    if (!parse_number(text.substr(colon + 1), 10, address->port)) { return error; }
    return address;
}

Address Address::ip(std::string_view host, std::uint16_t port) {
    Result<Address> address = parse_host(host);
    if (!address) { throw ValueError(address.error().text()); }
    address->port = port;
    return std::move(*address);
}

Address Address::local(std::string_view path) {
    Address address;
    address.family = AddressFamily::local;
    address.path = path;
    return address;
}

std::string Address::host() const {
    switch (family) {
        case AddressFamily::ip4:
            return std::to_string(bytes[0]) + "." + std::to_string(bytes[1]) + "." + std::to_string(bytes[2]) + "." +
                   std::to_string(bytes[3]);
        case AddressFamily::ip6: return text_of_ip6(bytes) + (scope != 0 ? "%" + std::to_string(scope) : "");
        case AddressFamily::local: return path;
        case AddressFamily::none: break;
    }
    return {};
}

std::string Address::text() const {
    switch (family) {
        case AddressFamily::ip4: return host() + ":" + std::to_string(port);
        case AddressFamily::ip6: return "[" + host() + "]:" + std::to_string(port);
        default: return host();
    }
}

}  // namespace heddle
