#include "report/importers/pprof_message.h"

#include <fmt/format.h>

#include <protozero/pbf_reader.hpp>

namespace fbleprof::importers::pprof {
namespace {

using protozero::pbf_reader;
using protozero::pbf_wire_type;

pbf_reader reader_of(std::string_view bytes) { return pbf_reader(bytes.data(), bytes.size()); }

std::string_view view_of(protozero::data_view view) { return {view.data(), view.size()}; }

// Repeated numbers are packed or separate.
template <class Number>
void add_numbers(pbf_reader& reader, std::vector<Number>& out) {
  if (reader.wire_type() == pbf_wire_type::length_delimited) {
    for (const std::uint64_t value : reader.get_packed_uint64()) {
      out.push_back(static_cast<Number>(value));
    }
  } else {
    out.push_back(static_cast<Number>(reader.get_uint64()));
  }
}

// Calls `field(tag)` for each varint of a message; skips other types.
template <class Field>
void each_number(std::string_view bytes, Field field) {
  pbf_reader reader = reader_of(bytes);
  while (reader.next()) {
    if (reader.wire_type() == pbf_wire_type::varint) {
      const protozero::pbf_tag_type tag = reader.tag();  // reading the value may forget it
      field(tag, reader.get_uint64());
    } else {
      reader.skip();
    }
  }
}

ValueType read_value_type(std::string_view bytes) {
  ValueType out;
  each_number(bytes, [&](protozero::pbf_tag_type tag, std::uint64_t value) {
    if (tag == 1) out.type = value;
    if (tag == 2) out.unit = value;
  });
  return out;
}

Mapping read_mapping(std::string_view bytes, std::uint64_t& id) {
  Mapping out;
  each_number(bytes, [&](protozero::pbf_tag_type tag, std::uint64_t value) {
    if (tag == 1) id = value;
    if (tag == 2) out.start = value;
    if (tag == 3) out.limit = value;
    if (tag == 4) out.offset = value;
    if (tag == 5) out.file = value;
    if (tag == 6) out.build_id = value;
  });
  return out;
}

Line read_line(std::string_view bytes) {
  Line out;
  each_number(bytes, [&](protozero::pbf_tag_type tag, std::uint64_t value) {
    if (tag == 1) out.function = value;
    if (tag == 2) out.line = static_cast<std::int64_t>(value);
  });
  return out;
}

Location read_location(std::string_view bytes, std::uint64_t& id) {
  Location out;
  pbf_reader reader = reader_of(bytes);
  while (reader.next()) {
    const bool number = reader.wire_type() == pbf_wire_type::varint;
    if (reader.tag() == 1 && number) {
      id = reader.get_uint64();
    } else if (reader.tag() == 2 && number) {
      out.mapping = reader.get_uint64();
    } else if (reader.tag() == 3 && number) {
      out.address = reader.get_uint64();
    } else if (reader.tag() == 4 && reader.wire_type() == pbf_wire_type::length_delimited) {
      out.lines.push_back(read_line(view_of(reader.get_view())));
    } else {
      reader.skip();
    }
  }
  return out;
}

Function read_function(std::string_view bytes, std::uint64_t& id) {
  Function out;
  each_number(bytes, [&](protozero::pbf_tag_type tag, std::uint64_t value) {
    if (tag == 1) id = value;
    if (tag == 2) out.name = value;
    if (tag == 3) out.system_name = value;
    if (tag == 4) out.file = value;
    if (tag == 5) out.start_line = static_cast<std::int64_t>(value);
  });
  return out;
}

Label read_label(std::string_view bytes) {
  Label out;
  each_number(bytes, [&](protozero::pbf_tag_type tag, std::uint64_t value) {
    if (tag == 1) out.key = value;
    if (tag == 2) out.text = value;
    if (tag == 3) out.number = static_cast<std::int64_t>(value);
    if (tag == 4) out.unit = value;
  });
  return out;
}

void read_field(pbf_reader& reader, std::uint64_t offset, Message& out) {
  if (reader.wire_type() == pbf_wire_type::varint) {
    const protozero::pbf_tag_type tag = reader.tag();
    const std::uint64_t value = reader.get_uint64();
    if (tag == 9) out.time_ns = static_cast<std::int64_t>(value);
    if (tag == 10) out.duration_ns = static_cast<std::int64_t>(value);
    if (tag == 13) out.comments.push_back(value);
    if (tag == 14) out.default_type = value;
    return;
  }
  if (reader.wire_type() != pbf_wire_type::length_delimited) {
    reader.skip();
    return;
  }
  if (reader.tag() == 13) {
    add_numbers(reader, out.comments);
    return;
  }
  const protozero::pbf_tag_type tag = reader.tag();
  const std::string_view bytes = view_of(reader.get_view());
  std::uint64_t id = 0;
  switch (tag) {
    case 1:
      out.sample_types.push_back(read_value_type(bytes));
      break;
    case 2:
      out.samples.emplace_back(offset, bytes);
      break;
    case 3:
      out.mappings.push_back(read_mapping(bytes, id));
      out.mapping_index.emplace(id, static_cast<std::uint32_t>(out.mappings.size() - 1));
      break;
    case 4:
      out.locations.push_back(read_location(bytes, id));
      out.location_index.emplace(id, static_cast<std::uint32_t>(out.locations.size() - 1));
      break;
    case 5:
      out.functions.push_back(read_function(bytes, id));
      out.function_index.emplace(id, static_cast<std::uint32_t>(out.functions.size() - 1));
      break;
    case 6:
      out.strings.push_back(bytes);
      break;
    default:
      break;
  }
}

Error damage(const std::string& name, std::uint64_t offset) {
  return {name, offset, "no well-formed pprof profile here (offset as decompressed)",
          "is the file cut off? copy it again"};
}

}  // namespace

Result<Message> read(std::string_view bytes, const std::string& name) {
  Message message;
  pbf_reader reader = reader_of(bytes);
  std::uint64_t offset = 0;
  try {
    while (reader.next()) {
      read_field(reader, offset, message);
      offset = bytes.size() - reader.length();
    }
  } catch (const protozero::exception&) {
    return damage(name, offset);
  }
  return message;
}

Status read_sample(const Message& message, std::size_t index, const std::string& name,
                   Sample& sample) {
  sample.locations.clear();
  sample.values.clear();
  sample.labels.clear();
  const auto& [offset, bytes] = message.samples[index];
  try {
    pbf_reader reader = reader_of(bytes);
    while (reader.next()) {
      const bool fits = reader.wire_type() == pbf_wire_type::varint ||
                        reader.wire_type() == pbf_wire_type::length_delimited;
      if (reader.tag() == 1 && fits) {
        add_numbers(reader, sample.locations);
      } else if (reader.tag() == 2 && fits) {
        add_numbers(reader, sample.values);
      } else if (reader.tag() == 3 && reader.wire_type() == pbf_wire_type::length_delimited) {
        sample.labels.push_back(read_label(view_of(reader.get_view())));
      } else {
        reader.skip();
      }
    }
  } catch (const protozero::exception&) {
    return damage(name, offset);
  }
  return {};
}

}  // namespace fbleprof::importers::pprof
