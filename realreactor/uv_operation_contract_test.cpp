// SPDX-License-Identifier: Apache-2.0
// The libuv backend keeps the contract of handles and operations, on the operating system's own sockets, files, names
// and children.
#include <dirent.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>

#include "heddle/core/seam/contract/operations.hpp"
#include "heddle/realreactor/testing/uv_rig.hpp"
#include "heddle/realreactor/uv.hpp"

namespace heddle::contract {
namespace {

class UvEnvironment final : public OperationEnvironment {
public:
    UvEnvironment() {
        directory_ = real::testing::new_folder();
        // What libuv opens once in a process is open from here on.
        OperationSink sink;
        real::UvReactor first;
        first.startup(sink);
        first.shutdown();
        // A port that was ours a moment ago, and that we keep from everybody else without listening.
        taken_ = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
        sockaddr_in address{};
        address.sin_family = AF_INET;
        address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
        socklen_t size = sizeof address;
        EXPECT_EQ(::bind(taken_, reinterpret_cast<const sockaddr*>(&address), size), 0);
        EXPECT_EQ(::getsockname(taken_, reinterpret_cast<sockaddr*>(&address), &size), 0);
        taken_port_ = ntohs(address.sin_port);
    }
    ~UvEnvironment() override {
        ::close(taken_);
        std::filesystem::remove_all(directory_);
    }

    Reactor& reactor() override { return reactor_; }
    Address here() override { return Address::ip("127.0.0.1", 0); }
    Address nobody() override { return Address::ip("127.0.0.1", taken_port_); }
    std::string free_path() override { return directory_ + "/" + std::to_string(++last_name_); }
    std::string new_directory() override {
        const std::string path = free_path();
        make_directory(path);
        return path;
    }
    void make_directory(const std::string& path) override { EXPECT_TRUE(std::filesystem::create_directory(path)); }
    void put_file(const std::string& path, std::string_view content) override { std::ofstream(path) << content; }
    std::optional<std::string> file(const std::string& path) override {
        std::ifstream stream(path);
        if (!stream) { return std::nullopt; }
        return std::string(std::istreambuf_iterator<char>(stream), {});
    }
    std::string known_name() override { return "localhost"; }
    std::string unknown_name() override { return "nowhere.invalid"; }
    std::vector<std::string> copier() override { return {"cat"}; }
    std::vector<std::string> ender(int code) override { return {"sh", "-c", "exit " + std::to_string(code)}; }
    std::vector<std::string> sleeper() override { return {"sleep", "1000"}; }
    std::size_t open_descriptors() override { return real::testing::open_descriptors(); }

private:
    real::UvReactor reactor_;
    std::string directory_;
    std::size_t last_name_ = 0;
    int taken_ = -1;
    std::uint16_t taken_port_ = 0;
};

const OperationBackend libuv{"libuv", [] { return std::make_unique<UvEnvironment>(); }};

INSTANTIATE_TEST_SUITE_P(Uv, OperationContract, ::testing::Values(libuv), operation_backend_name);
INSTANTIATE_TEST_SUITE_P(Uv, DatagramContract, ::testing::Values(libuv), operation_backend_name);
INSTANTIATE_TEST_SUITE_P(Uv, FileContract, ::testing::Values(libuv), operation_backend_name);
INSTANTIATE_TEST_SUITE_P(Uv, OutsideContract, ::testing::Values(libuv), operation_backend_name);

}  // namespace
}  // namespace heddle::contract
