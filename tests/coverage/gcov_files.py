"""Reads what gcc and gcov's counters wrote, .gcno and .gcda: the control flow of functions, with counts.

gcov's own output does not tell which branches belong together, nor which are clean-up after an exception.
"""
import collections
import struct

FUNCTION, ARCS, LINES, COUNTERS = 0x01000000, 0x01430000, 0x01450000, 0x01A10000
ENTRY, EXIT = 0, 1
ON_TREE, FAKE, FALL_THROUGH = 1, 2, 4
HEAD = 16  # magic, version, stamp, checksum


class Words:
    def __init__(self, path):
        with open(path, "rb") as file:
            self.data = file.read()
        self.at = HEAD

    def words(self, count):
        self.at += 4 * count
        return struct.unpack_from(f"<{count}I", self.data, self.at - 4 * count)

    def word(self):
        return self.words(1)[0]

    def string(self):
        size = self.word()
        self.at += size
        return self.data[self.at - size:self.at].rstrip(b"\0").decode()

    def records(self):
        """Tag and length of each record, whose contents the caller may read."""
        while self.at + 8 <= len(self.data):
            tag, length = self.words(2)
            length -= length >> 31 << 32  # negative: counters that are all 0, and not in the file
            end = self.at + max(0, length)
            yield tag, length
            self.at = end


class Arc:
    __slots__ = ("source", "target", "flags", "count")

    def __init__(self, source, target, flags):
        self.source, self.target, self.flags, self.count = source, target, flags, None


class Function:
    def __init__(self, is_compilers, file, line, column, end_line):
        self.is_compilers = is_compilers  # an implicit member, or the start-up of static objects
        self.file, self.line, self.column, self.end_line = file, line, column, end_line
        self.arcs = []
        self.lines = collections.defaultdict(list)  # block -> (file, line)

    def solve(self, counters):
        """Only some arcs have a counter. The others follow: what enters a block leaves it."""
        counters = iter(counters)
        entered, left = collections.Counter(), collections.Counter()
        unknown = collections.defaultdict(set)

        def know(arc, count):
            arc.count = count
            left[arc.source] += count
            entered[arc.target] += count

        for arc in self.arcs:
            if arc.flags & ON_TREE:
                unknown[arc.source].add(arc)
                unknown[arc.target].add(arc)
            else:
                know(arc, next(counters))
        todo = list(unknown)
        while todo:
            block = todo.pop()
            if block in (ENTRY, EXIT) or len(unknown[block]) != 1:
                continue
            arc = unknown[block].pop()
            other = arc.source if arc.target == block else arc.target
            unknown[other].discard(arc)
            know(arc, max(0, (left[block] - entered[block]) * (1 if arc.target == block else -1)))
            todo.append(other)

    def runs(self):
        """Block -> how often it ran."""
        entered = collections.Counter()
        for arc in self.arcs:
            entered[arc.target] += arc.count
            if arc.source == ENTRY:
                entered[ENTRY] += arc.count
        return entered

    def branches(self):
        """(File, line) -> the counts of each block that ends on the line, and has a choice.

        A call that may throw has no choice. It is a block with an arc to the exit, for calls that never return, one to
        the next block, and others to handlers and clean-up. Nor does clean-up that only an exception reaches count: it
        is a copy of the usual one, on the same lines. Handlers, which have lines of their own, do.
        """
        if self.is_compilers:
            return {}
        arcs = collections.defaultdict(list)
        calls = set()
        for arc in self.arcs:
            if not arc.flags & FAKE:
                arcs[arc.source].append(arc)
            elif arc.source != ENTRY:
                calls.add(arc.source)
        throwing = {block for block in calls if any(not arc.flags & FALL_THROUGH for arc in arcs[block])}
        reached, todo = {ENTRY}, [ENTRY]
        while todo:
            block = todo.pop()
            new = {arc.target for arc in arcs[block]
                   if block not in throwing or arc.flags & FALL_THROUGH} - reached
            reached |= new
            todo += new
        usual = {place for block in reached for place in self.lines[block]}
        found = collections.defaultdict(list)
        for block, leaving in sorted(arcs.items()):
            if len(leaving) < 2 or block in throwing or not self.lines[block]:
                continue
            place = self.lines[block][-1]
            if block in reached or place not in usual:
                found[place].append([arc.count for arc in leaving])
        return found


def read_functions(notes_path, counts_path, is_wanted):
    """The folder of the compilation, and the functions of source files that are wanted: is_wanted(folder, file)."""
    notes, counts = Words(notes_path), Words(counts_path)
    folder = notes.string()
    notes.word()
    functions, function = {}, None
    for tag, length in notes.records():
        if tag == FUNCTION:
            identity = notes.words(3)[0]
            notes.string()
            is_compilers, file = notes.word() != 0, notes.string()
            function = Function(is_compilers, file, *notes.words(3)) if is_wanted(folder, file) else None
            if function:
                functions[identity] = function
        elif tag == ARCS and function:
            source, *arcs = notes.words(length // 4)
            function.arcs += [Arc(source, *arc) for arc in zip(arcs[::2], arcs[1::2])]
        elif tag == LINES and function:
            block, file = notes.word(), ""
            while (line := notes.word()) or (file := notes.string()):
                if line:
                    function.lines[block].append((file, line))
    for tag, length in counts.records():
        if tag == FUNCTION:
            function = functions.get(counts.word()) if length else None
        elif tag == COUNTERS and function:
            function.solve(struct.unpack_from(f"<{length // 8}q", counts.data, counts.at) if length > 0 else
                           [0] * (-length // 8))
    return folder, [each for each in functions.values() if each.arcs and each.arcs[0].count is not None]
