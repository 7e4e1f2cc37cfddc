"""An OTLP request of profiles, as protoc decodes it, and what the format demands of it."""
import functools
import os
import subprocess
from collections import Counter, defaultdict

HERE = os.path.dirname(os.path.abspath(__file__))


def decode(data):
    """(the request as nested {field: [values]}, the names of fields that otlp.proto has not)."""
    text = subprocess.run(["protoc", "--proto_path=" + HERE, "otlp.proto",
                           "--decode=otlp.ExportProfilesServiceRequest"],
                          input=data, stdout=subprocess.PIPE, check=True).stdout.decode()
    messages = [defaultdict(list)]
    unknown = []
    for line in text.splitlines():
        name, is_value, value = line.strip().partition(": ")
        if is_value:
            messages[-1][name].append(value[1:-1] if value[0] == '"' else value)
        elif name == "}":
            messages.pop()
        else:
            name, value = name.removesuffix(" {"), defaultdict(list)
            messages[-1][name].append(value)
            messages.append(value)
        if name.isdigit():
            unknown.append(name)
    return messages[0], unknown


def plain(attributes):
    """{key: value} of key-value messages whose keys are texts."""
    return {a["key"][0]: next(iter(a["value"][0].values()))[0] for a in attributes}


class Request:
    """The parts of a request, and in `broken` which rules of the format it breaks."""

    def __init__(self, data):
        self.message, unknown = decode(data)
        self.broken = [f"unknown field {field}" for field in unknown]
        of_resource = self.message["resource_profiles"][0]
        self.resource = plain(of_resource["resource"][0]["attributes"])
        self.scope = of_resource["scope_profiles"][0]["scope"][0]
        self.profiles = of_resource["scope_profiles"][0]["profiles"]
        self.tables = self.message["dictionary"][0]
        self.texts = self.tables["string_table"]
        self._used = defaultdict(set)
        self._check()

    def _expect(self, what, holds):
        if not holds:
            self.broken.append(what)

    def _entry(self, table, index):
        self._used[table].add(index)
        self._expect(f"{table}[{index}] is there", 0 <= index < len(self.tables[table]))
        return self.tables[table][index]

    def text(self, message, field):
        return self._entry("string_table", int((message[field] or ["0"])[0]))

    def attributes(self, message):
        """{key: value} of a message that refers to the table of attributes."""
        entries = [self._entry("attribute_table", int(i)) for i in message["attribute_indices"]]
        keys = [self.text(entry, "key_strindex") for entry in entries]
        self._expect("an attribute is told once", len(set(keys)) == len(keys))
        return {key: next(iter(entry["value"][0].values()))[0]
                for key, entry in zip(keys, entries)}

    @functools.cache
    def _location(self, index):
        """Names of functions, the innermost first."""
        location = self._entry("location_table", int(index))
        self._entry("mapping_table", int((location["mapping_index"] or ["0"])[0]))
        self.attributes(location)
        return [self.text(self._entry("function_table", int(line["function_index"][0])),
                          "name_strindex") for line in location["lines"]]

    @functools.cache
    def _stack(self, index):
        """Names of functions, leaf first."""
        return [name for location in self._entry("stack_table", int(index))["location_indices"]
                for name in self._location(location)]

    def metric(self, profile):
        return self.text(profile["sample_type"][0], "type_strindex")

    def values(self, profile):
        """[(the value of a sample, its stack, its attributes)]"""
        return [(int(sample["values"][0]), self._stack(sample["stack_index"][0]), self.attributes(sample))
                for sample in profile["samples"]]

    def _check(self):
        for name, table in self.tables.items():
            empty = table[0] == "" if name == "string_table" else not table[0]
            if name == "link_table":
                empty = table[0] == {"trace_id": [r"\000" * 16], "span_id": [r"\000" * 8]}
            self._expect(f"{name}[0] is empty", empty)
            self._expect(f"{name} has no entry twice", len(set(map(repr, table))) == len(table))
        self._expect("there are all tables", len(self.tables) == 7)
        for profile in self.profiles:
            for value in profile["sample_type"] + profile["period_type"]:
                self.text(value, "type_strindex")
                self.text(value, "unit_strindex")
            self.attributes(profile)
            self.values(profile)
            identities = Counter((s["stack_index"][0], tuple(s["attribute_indices"]))
                                 for s in profile["samples"])
            self._expect("a sample is told once", max(identities.values(), default=1) == 1)
            self._expect("a sample has one value",
                         all(len(s["values"]) == 1 for s in profile["samples"]))
        for mapping in self.tables["mapping_table"][1:]:
            self.text(mapping, "filename_strindex")
            self.attributes(mapping)
        for function in self.tables["function_table"][1:]:
            for field in ("name_strindex", "system_name_strindex", "filename_strindex"):
                self.text(function, field)
        # Mappings and functions are complete, and each of these is used.
        for table in ("string_table", "attribute_table", "stack_table"):
            unused = set(range(1, len(self.tables[table]))) - self._used[table]
            self._expect(f"all of {table} is used, {sorted(unused)[:3]} are not", not unused)
