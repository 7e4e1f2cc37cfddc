#include "report/push/otlp_answer.h"

#include <protozero/pbf_reader.hpp>

namespace fbleprof::push {

namespace {

// Field numbers of profiles_service.proto and of google.rpc.Status.
namespace field {
enum Answer : std::uint32_t { kPartialSuccess = 1 };
enum PartialSuccess : std::uint32_t { kRejected = 1, kMessage = 2 };
enum Status : std::uint32_t { kReason = 2 };
}  // namespace field

bool is_protobuf(const Response& response) {
  return response.content_type.starts_with("application/x-protobuf");
}

}  // namespace

OtlpAnswer otlp_answer(const Response& response) {
  if (!is_protobuf(response)) return {};
  OtlpAnswer answer;
  try {
    protozero::pbf_reader message(response.body);
    while (message.next(field::kPartialSuccess, protozero::pbf_wire_type::length_delimited)) {
      protozero::pbf_reader part = message.get_message();
      while (part.next()) {
        switch (part.tag_and_type()) {
          case protozero::tag_and_type(field::kRejected, protozero::pbf_wire_type::varint):
            answer.rejected = part.get_int64();
            break;
          case protozero::tag_and_type(field::kMessage, protozero::pbf_wire_type::length_delimited):
            answer.message = part.get_string();
            break;
          default:
            part.skip();
        }
      }
    }
  } catch (const protozero::exception&) {
    return {};
  }
  return answer;
}

std::string otlp_reason(const Response& response) {
  if (!is_protobuf(response)) return response.body;
  std::string reason;
  try {
    protozero::pbf_reader status(response.body);
    while (status.next(field::kReason, protozero::pbf_wire_type::length_delimited)) {
      reason = status.get_string();
    }
  } catch (const protozero::exception&) {
    return {};
  }
  return reason;
}

}  // namespace fbleprof::push
