"""float32 arrays in .npz, with only the standard library."""
import ast
import io
import math
import random
import struct
import zipfile


def write(path, shapes, seed=1):
    """Writes random arrays of these shapes."""
    numbers = random.Random(seed)
    with zipfile.ZipFile(path, 'w') as file:
        for name, shape in shapes.items():
            count = math.prod(shape)
            write_array(file, name, shape, '<f4', struct.pack(f'<{count}f', *(numbers.gauss(0, 1) for _ in range(count))))


def write_array(file, name, shape, dtype, data):
    head = f"{{'descr': {dtype!r}, 'fortran_order': False, 'shape': {tuple(shape)!r}, }}"
    head += ' ' * (-(len(head) + 11) % 64) + '\n'
    file.writestr(f'{name}.npy', b'\x93NUMPY\x01\x00' + struct.pack('<H', len(head)) + head.encode() + data)


def write_rows(path, first, count, target):
    """Writes rows [first, first + count) of all arrays."""
    with zipfile.ZipFile(path) as file, zipfile.ZipFile(target, 'w') as out:
        for name in file.namelist():
            head, data = parts_of(file.read(name))
            row = len(data) // head['shape'][0]
            write_array(out, name.removesuffix('.npy'), (count, *head['shape'][1:]), head['descr'],
                        data[first * row:(first + count) * row])


def parts_of(array):
    """Returns the header and the data bytes of a .npy."""
    data = io.BytesIO(array)
    data.read(8)
    head = ast.literal_eval(data.read(struct.unpack('<H', data.read(2))[0]).decode())
    return head, data.read()


def read(path):
    """Returns the flattened arrays by name."""
    out = {}
    with zipfile.ZipFile(path) as file:
        for name in file.namelist():
            head, rest = parts_of(file.read(name))
            kind = {'<f8': 'd', '<f4': 'f', '<f2': 'e', '<i8': 'q', '<i4': 'i', '|b1': '?'}[head['descr']]
            out[name.removesuffix('.npy')] = struct.unpack(f'<{len(rest) // struct.calcsize(kind)}{kind}', rest)
    return out


def largest_difference(first, second):
    """Returns the largest difference over all arrays."""
    one, other = read(first), read(second)
    assert one.keys() == other.keys(), (one.keys(), other.keys())
    return max((abs(x - y) for name in one for x, y in zip(one[name], other[name], strict=True)), default=0.0)
