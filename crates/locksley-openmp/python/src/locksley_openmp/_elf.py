"""What the dynamic linker reads in an ELF file (`man 5 elf`), of 64 bits and little-endian."""
import collections
import mmap
import struct

Symbol = collections.namedtuple("Symbol", "name version is_weak")

PT_DYNAMIC, PT_INTERP = 2, 3
SHT_DYNAMIC, SHT_DYNSYM, SHT_GNU_VERNEED, SHT_GNU_VERSYM = 6, 11, 0x6FFFFFFE, 0x6FFFFFFF
DT_NEEDED, DT_SONAME = 1, 14


class NotElf(ValueError):
    """The file is no ELF file of that kind, or it is damaged."""


class Elf:
    """An ELF file: `machine`, `interpreter`, `needed`, `soname`, `undefined` and `defined` symbols.
    """

    @classmethod
    def read(cls, path):
        """Reads a file. Raises OSError if it cannot be read, and NotElf if it is something else."""
        with open(path, "rb") as file:
            if file.read(6) != b"\x7fELF\2\1":
                raise NotElf(f"{path} is no ELF file of 64 bits")
            with mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as data:
                try:
                    return cls(data)
                except (struct.error, IndexError, UnicodeDecodeError) as error:
                    raise NotElf(f"{path} is damaged: {error}") from None

    def __init__(self, data):
        self.machine, = struct.unpack_from("<H", data, 18)
        segments = _table(data, "<IIQQQQQQ", 32, 54)
        sections = _table(data, "<IIQQQQIIQQ", 40, 58)
        self.is_dynamic = any(it[0] == PT_DYNAMIC for it in segments)
        interpreters = [data[it[2]:it[2] + it[5]] for it in segments if it[0] == PT_INTERP]
        self.interpreter = interpreters[0].rstrip(b"\0").decode() if interpreters else None
        self.needed, self.soname = [], None
        self.undefined, self.defined = [], set()
        by_type = {it[1]: it for it in sections}
        if SHT_DYNAMIC in by_type:
            self._read_dynamic(data, sections, by_type[SHT_DYNAMIC])
        if SHT_DYNSYM in by_type:
            self._read_symbols(data, sections, by_type)

    def _read_dynamic(self, data, sections, section):
        strings = sections[section[6]][4]
        for tag, value in struct.iter_unpack("<qQ", data[section[4]:section[4] + section[5]]):
            if tag == DT_NEEDED:
                self.needed.append(_string(data, strings + value))
            elif tag == DT_SONAME:
                self.soname = _string(data, strings + value)

    def _read_symbols(self, data, sections, by_type):
        section = by_type[SHT_DYNSYM]
        strings = sections[section[6]][4]
        names = _needed_versions(data, sections, by_type.get(SHT_GNU_VERNEED))
        versions = by_type.get(SHT_GNU_VERSYM)
        symbols = struct.iter_unpack("<IBBHQQ", data[section[4]:section[4] + section[5]])
        for number, (offset, info, _, home, _, _) in enumerate(symbols):
            if offset == 0:
                continue
            name = _string(data, strings + offset)
            if home != 0:
                self.defined.add(name)
                continue
            index = struct.unpack_from("<H", data, versions[4] + 2 * number)[0] if versions else 0
            self.undefined.append(Symbol(name, names.get(index & 0x7FFF), info >> 4 == 2))


def _table(data, form, offset_at, size_at):
    """A table of headers: where it is, and the sizes and number of its entries."""
    offset, = struct.unpack_from("<Q", data, offset_at)
    size, count = struct.unpack_from("<HH", data, size_at)
    return [struct.unpack_from(form, data, offset + size * it) for it in range(count)]


def _string(data, start):
    return data[start:data.find(b"\0", start)].decode()


def _needed_versions(data, sections, section):
    """The names of versions of other libraries' symbols, by index."""
    names = {}
    if section is None:
        return names
    strings, file = sections[section[6]][4], section[4]
    for _ in range(section[7]):
        _, count, _, first, next_file = struct.unpack_from("<HHIII", data, file)
        entry = file + first
        for _ in range(count):
            _, _, index, name, next_entry = struct.unpack_from("<IHHII", data, entry)
            names[index] = _string(data, strings + name)
            entry += next_entry
        file += next_file
    return names
