// SPDX-License-Identifier: Apache-2.0
// Addresses: what their texts say, and which texts are none.
#include "heddle/core/seam/address.hpp"

#include <gtest/gtest.h>

#include "heddle/core/base/error.hpp"

namespace heddle {
namespace {

TEST(Address, ReadsItsOwnText) {
    for (const char* text : {"127.0.0.1:80", "0.0.0.0:0", "255.255.255.255:65535", "[::]:1", "[::1]:443", "[1::]:2",
                             "[fe80::1%2]:3", "[2001:db8::1:0:0:1]:4", "[1:2:3:4:5:6:7:8]:5", "[1:0:3:4:5:6:7:8]:6"}) {
        const Result<Address> address = Address::parse(text);
        ASSERT_TRUE(address) << text;
        EXPECT_EQ(address->text(), text);
        EXPECT_EQ(*Address::parse(address->text()), *address);
    }
}

TEST(Address, ReadsAllFormsOfOneAddress) {
    for (const char* text : {"::ffff:1.2.3.4", "0:0:0:0:0:ffff:102:304", "::FFFF:0102:0304", "0::ffff:1.2.3.4"}) {
        const Result<Address> address = Address::parse_host(text);
        ASSERT_TRUE(address) << text;
        EXPECT_EQ(address->host(), "::ffff:102:304");
    }
    EXPECT_EQ(Address::parse_host("1:2:3:4:5:6:7::")->host(), "1:2:3:4:5:6:7:0");
    EXPECT_EQ(Address::parse_host("::2:3:4:5:6:7:8")->host(), "0:2:3:4:5:6:7:8");
}

TEST(Address, RefusesWhatIsNone) {
    for (const char* text : {"",
                             ":",
                             "80",
                             "127.0.0.1",
                             "127.0.0.1:",
                             "127.0.0.1:65536",
                             "127.0.0.1:-1",
                             "127.0.0:80",
                             "127.0.0.1.5:80",
                             "127.0.0.256:80",
                             "127.0.0.01:80",
                             "1..2.3:80",
                             "localhost:80",
                             "[127.0.0.1]:80",
                             "::1:80",
                             "[::1:80",
                             "[::1]",
                             "[1:2:3:4:5:6:7]:80",
                             "[1:2:3:4:5:6:7:8:9]:80",
                             "[1::2::3]:80",
                             "[:1]:80",
                             "[1:]:80",
                             "[12345::]:80",
                             "[::g]:80",
                             "[::1%]:80",
                             "[::1%eth0]:80",
                             "[1.2.3.4::]:80",
                             "[::1.2.3]:80",
                             "127.0.0.1:8 ",
                             " 127.0.0.1:8"}) {
        EXPECT_FALSE(Address::parse(text)) << text;
    }
    EXPECT_THROW(static_cast<void>(Address::ip("localhost", 80)), ValueError);
    EXPECT_NE(Address::parse("nonsense").error().text().find("nonsense"), std::string::npos);
}

TEST(Address, OfTheFileSystemIsItsPath) {
    const Address address = Address::local("/run/service");
    EXPECT_EQ(address.family, AddressFamily::local);
    EXPECT_EQ(address.text(), "/run/service");
}

}  // namespace
}  // namespace heddle
