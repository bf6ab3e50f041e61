// SPDX-License-Identifier: MIT
//
// timbre for C++: a header over the C ABI, nothing to link but libtimbre.
//
//   timbre::Engine engine;
//   timbre::Model model = engine.load("en_US-joe-medium.onnx");
//   std::vector<float> audio = model.speak(timbre::Request("Hello there, traveller.")).read_all();
//   timbre::VoiceLease voice = engine.voices().get("npc/guard-7");
//   std::span<const float> g = voice.tensor("g").values<float>();
//
// Invariants
//   * Handles and leases move and do not copy; a destructor gives them back and never throws. An empty one (moved from)
//     may only be destroyed or assigned to.
//   * A negative status becomes a timbre::Exception on the caller's side; nothing is thrown through the C ABI.
//   * The open structs of the C headers appear as derived structs that begin life with their defaults. They add no
//     member, only ways to fill in views; their fields are documented in c/*.h. Views must outlive the call only.
#pragma once

#include "timbre/wrapper/engine.hpp"
#include "timbre/wrapper/exception.hpp"
#include "timbre/wrapper/lease.hpp"
#include "timbre/wrapper/model.hpp"
#include "timbre/wrapper/speech.hpp"
#include "timbre/wrapper/tensor.hpp"
#include "timbre/wrapper/voices.hpp"
