import fc from "fast-check"

/**
 * Texts of any code points but halves of surrogate pairs. They are those of `fc.string` with the unit `binary`, which makes a table of all code points
 * that takes a second and stays in the process.
 */
export const anyText = (constraints: fc.ArrayConstraints = {}): fc.Arbitrary<string> =>
  fc.array(codePoint, constraints).map((points) => String.fromCodePoint(...points))

const halves = { first: 0xd800, count: 0x800 }

const codePoint = fc
  .integer({ min: 0, max: 0x10ffff - halves.count })
  .map((point) => (point < halves.first ? point : point + halves.count))
