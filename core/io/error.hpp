/*
 * InputError: what is wrong with something that a person gave us, in one line.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#pragma once

#include <stdexcept>

namespace foresight::io {

/// what() is one line without a newline: the place, the reason and, where it helps, the remedy.
class InputError : public std::runtime_error {
public:
    using std::runtime_error::runtime_error;
};

} // namespace foresight::io
