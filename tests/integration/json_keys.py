"""json_keys.py JSON.md SECTION [VARIANT] < document: the document has the fields that SECTION of
JSON.md lists, no others, and each of its lists the fields of its own table. VARIANT chooses among
tables of the whole document. Prints what differs, and lists of which no row was seen."""
import json
import re
import sys

AROUND = "around all views of a metric"


def words(text):
    return re.findall(r"`([^`]+)`", text)


def sections(path):
    """Heading -> [(title of the first column, set of fields)]."""
    found, tables, table = {}, None, None
    for line in open(path, encoding="utf-8"):
        if line.startswith("## "):
            tables = found.setdefault(line[3:].strip(), [])
        if not line.startswith("|"):
            table = None
        elif tables is not None:
            first = line.split("|")[1].strip()
            if table is None:
                table = set()
                tables.append((first, table))
            else:
                table.update(words(first))
    return found


def main():
    page, wanted = sys.argv[1:3]
    variant = sys.argv[3] if len(sys.argv) > 3 else ""
    all_sections = sections(page)
    titles = [t for t in all_sections if wanted in t.split(", ")]
    if not titles:
        sys.exit(f"{wanted}: no such section")
    whole, lists = set(), {}
    for title, fields in all_sections[titles[0]]:
        if not title.startswith("in "):
            if variant in title:
                whole |= fields
            continue
        for path in words(title):
            lists[path] = fields
            if "." not in path:
                whole.add(path)
    document = json.load(sys.stdin)
    # Views of runs have no metric; those of a metric say so by the field.
    if "metric" in document:
        for _, fields in all_sections[AROUND]:
            whole |= fields
    whole |= {"schema", "view"}
    wrong, seen = [], set()

    def compare(where, got, fields):
        for name in sorted(got - fields):
            wrong.append(f"{where}: {name} is not documented")
        for name in sorted(fields - got):
            wrong.append(f"{where}: no {name}")

    def walk(path, rows):
        for row in rows:
            seen.add(path)
            compare(path, set(row), lists[path] - absent(path))
            for name, value in row.items():
                below = f"{path}.{name}"
                if below in lists:
                    walk(below, value)

    # Fields that an option leaves out.
    def absent(path):
        if wanted != "annotate" or path != "functions":
            return set()
        return {"source": {"instructions"}, "asm": {"lines"}}.get(variant, set())

    compare(wanted, set(document), whole)
    for path in lists:
        if "." not in path:
            walk(path, document.get(path, []))
    unseen = [p for p in lists if p not in seen]
    print("\n".join(sorted(set(wrong))), end="\n" if wrong else "")
    if unseen:
        print("no rows: " + " ".join(unseen))


main()
