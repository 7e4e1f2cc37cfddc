#include "report/push/request.h"

#include <fmt/format.h>
#include <rapidjson/stringbuffer.h>
#include <rapidjson/writer.h>

#include <algorithm>

namespace fbleprof::push {

namespace {

std::string without(std::string text, std::string_view special) {
  for (char& c : text) {
    if (special.find(c) != std::string_view::npos || static_cast<unsigned char>(c) < ' ') c = '_';
  }
  return text;
}

// How the server treats each sample type. Its units are samples, objects and bytes.
std::string sample_type_config(const Upload& upload) {
  rapidjson::StringBuffer buffer;
  rapidjson::Writer<rapidjson::StringBuffer> json(buffer);
  json.StartObject();
  for (const auto& [name, unit] : upload.sample_types) {
    json.Key(name.c_str());
    json.StartObject();
    json.Key("units");
    json.String(unit == "bytes" ? "bytes" : "samples");
    json.Key("display-name");
    json.String(name.c_str());
    json.Key("aggregation");
    json.String("sum");
    json.Key("sampled");
    json.Bool(name == "samples");
    json.EndObject();
  }
  json.EndObject();
  return buffer.GetString();
}

void add_part(std::string& body, const std::string& boundary, std::string_view name,
              std::string_view content_type, std::string_view content) {
  body += fmt::format(
      "--{}\r\nContent-Disposition: form-data; name=\"{}\"; filename=\"{}\"\r\n"
      "Content-Type: {}\r\n\r\n",
      boundary, name, name, content_type);
  body += content;
  body += "\r\n";
}

}  // namespace

std::string application_name(const std::string& name,
                             const std::vector<std::pair<std::string, std::string>>& labels) {
  std::string out = without(name, "{},=\" ");
  if (labels.empty()) return out;
  out += "{";
  for (std::size_t i = 0; i < labels.size(); ++i) {
    out += fmt::format("{}{}={}", i == 0 ? "" : ",", without(labels[i].first, "{},=\" .-/"),
                       without(labels[i].second, "{},=\""));
  }
  return out + "}";
}

std::string percent_encode(std::string_view text) {
  std::string out;
  for (const char c : text) {
    const bool plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
                       c == '-' || c == '.' || c == '_' || c == '~';
    if (plain) {
      out += c;
    } else {
      out += fmt::format("%{:02X}", static_cast<unsigned char>(c));
    }
  }
  return out;
}

Request ingest_request(const std::string& server, const Upload& upload) {
  Request request;
  request.url = fmt::format("{}/ingest?name={}&from={}&until={}&format=pprof", server,
                            percent_encode(application_name(upload.name, upload.labels)),
                            upload.from_s, upload.until_s);
  if (upload.rate_hz != 0) request.url += fmt::format("&sampleRate={}", upload.rate_hz);
  request.url += "&spyName=fbleprof";

  // A boundary must not occur in the content.
  std::string boundary = "fbleprof-form";
  while (upload.profile.find(boundary) != std::string::npos) boundary += "-x";
  request.content_type = "multipart/form-data; boundary=" + boundary;
  add_part(request.body, boundary, "profile", "application/octet-stream", upload.profile);
  add_part(request.body, boundary, "sample_type_config", "application/json",
           sample_type_config(upload));
  request.body += fmt::format("--{}--\r\n", boundary);
  return request;
}

Request otlp_post(const std::string& server, const Upload& upload) {
  Request request;
  request.url = server + "/v1development/profiles";
  request.content_type = "application/x-protobuf";
  request.content_encoding = "gzip";
  request.body = upload.profile;
  return request;
}

}  // namespace fbleprof::push
