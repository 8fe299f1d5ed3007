// SPDX-License-Identifier: Apache-2.0
#include "heddle/simreactor/world/modules.hpp"

#include <cxxabi.h>
#include <elf.h>
#include <link.h>
#include <errno.h>  // program_invocation_short_name

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iterator>
#include <map>
#include <memory>
#include <span>
#include <string_view>

namespace heddle::sim {
namespace {

struct Range {
    std::uintptr_t low = 0;
    std::uintptr_t high = 0;
};

struct Loaded {
    std::vector<Modules::Segment> writable;
    std::vector<Range> all;
    std::uintptr_t program = 0;  // where the main program was loaded
};

constexpr const char* own_file = "/proc/self/exe";

std::string name_of(const char* path) {
    const std::string_view text = path;
    const std::size_t slash = text.rfind('/');
    return std::string(slash == std::string_view::npos ? text : text.substr(slash + 1));
}

int add_module(dl_phdr_info* info, std::size_t, void* into) {
    auto& loaded = *static_cast<Loaded*>(into);
    const bool is_program = loaded.all.empty();  // it comes first
    if (is_program) { loaded.program = info->dlpi_addr; }
    const std::string name = is_program ? name_of(program_invocation_short_name) : name_of(info->dlpi_name);
    for (const ElfW(Phdr)& segment : std::span(info->dlpi_phdr, info->dlpi_phnum)) {
        if (segment.p_type != PT_LOAD) { continue; }
        const std::uintptr_t low = info->dlpi_addr + segment.p_vaddr;
        loaded.all.push_back({low, low + segment.p_memsz});
        if ((segment.p_flags & PF_W) != 0) { loaded.writable.push_back({low, low + segment.p_memsz, info->dlpi_addr, name}); }
    }
    return 0;
}

const Loaded& loaded() {
    static const Loaded modules = [] {
        Loaded found;
        dl_iterate_phdr(&add_module, &found);
        std::ranges::sort(found.writable, {}, &Modules::Segment::low);
        return found;
    }();
    return modules;
}

struct Symbol {
    std::uint64_t size = 0;
    std::string name;
};

/// A table of the file, if its header says nothing impossible.
template <class T>
std::vector<T> table(const std::string& file, std::uint64_t offset, std::uint64_t bytes) {
    if (offset > file.size() || bytes > file.size() - offset) { return {}; }
    std::vector<T> rows(bytes / sizeof(T));
    std::memcpy(rows.data(), file.data() + offset, rows.size() * sizeof(T));
    return rows;
}

/// Variables of the main program, by their addresses in its file.
const std::map<std::uint64_t, Symbol>& symbols() {
    static const std::map<std::uint64_t, Symbol> known = [] {
        std::map<std::uint64_t, Symbol> found;
        std::ifstream in(own_file, std::ios::binary);
        const std::string file{std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
        if (file.size() < sizeof(Elf64_Ehdr) || std::memcmp(file.data(), ELFMAG, SELFMAG) != 0 || file[EI_CLASS] != ELFCLASS64) { return found; }
        Elf64_Ehdr header;
        std::memcpy(&header, file.data(), sizeof header);
        const std::vector<Elf64_Shdr> sections = table<Elf64_Shdr>(file, header.e_shoff, std::uint64_t{header.e_shnum} * sizeof(Elf64_Shdr));
        for (const Elf64_Shdr& section : sections) {
            if (section.sh_type != SHT_SYMTAB || section.sh_link >= sections.size()) { continue; }
            const std::vector<char> names = table<char>(file, sections[section.sh_link].sh_offset, sections[section.sh_link].sh_size);
            for (const Elf64_Sym& symbol : table<Elf64_Sym>(file, section.sh_offset, section.sh_size)) {
                if (ELF64_ST_TYPE(symbol.st_info) != STT_OBJECT || symbol.st_size == 0 || symbol.st_name >= names.size()) { continue; }
                const char* mangled = names.data() + symbol.st_name;
                int status = 0;
                const std::unique_ptr<char, void (*)(void*)> plain(abi::__cxa_demangle(mangled, nullptr, nullptr, &status), std::free);
                found.try_emplace(symbol.st_value, Symbol{symbol.st_size, plain ? plain.get() : mangled});
            }
        }
        return found;
    }();
    return known;
}

}  // namespace

const std::vector<Modules::Segment>& Modules::segments() { return loaded().writable; }

Modules::Segment Modules::thread_variables() {
    Segment found;
    dl_iterate_phdr(
        [](dl_phdr_info* info, std::size_t, void* into) {
            Segment& segment = *static_cast<Segment*>(into);
            for (const ElfW(Phdr)& part : std::span(info->dlpi_phdr, info->dlpi_phnum)) {
                if (part.p_type != PT_TLS || info->dlpi_tls_data == nullptr) { continue; }
                segment.low = segment.base = reinterpret_cast<std::uintptr_t>(info->dlpi_tls_data);
                segment.high = segment.low + part.p_memsz;
            }
            return 1;  // the main program comes first
        },
        &found);
    found.module = name_of(program_invocation_short_name);
    return found;
}

bool Modules::holds(const void* address) {
    const auto at = reinterpret_cast<std::uintptr_t>(address);
    return std::ranges::any_of(loaded().all, [at](const Range& range) { return at >= range.low && at < range.high; });
}

std::string Modules::symbol(std::uintptr_t address) {
    const std::uint64_t offset = address - loaded().program;
    auto after = symbols().upper_bound(offset);
    if (after == symbols().begin()) { return {}; }
    --after;
    const std::uint64_t inside = offset - after->first;
    if (inside >= after->second.size) { return {}; }
    return inside == 0 ? after->second.name : after->second.name + "+" + std::to_string(inside);
}

}  // namespace heddle::sim
