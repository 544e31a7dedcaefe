// The archive from which a kernel takes its first files (cpio, "newc").

const padded = (bytes) => Buffer.concat([bytes, Buffer.alloc((4 - (bytes.length % 4)) % 4)])

const field = (value) => value.toString(16).padStart(8, "0")

const entry = (number, { bytes, mode, path }) => {
  const fields = [number, mode, 0, 0, 1, 0, bytes.length, 0, 0, 0, 0, path.length + 1, 0]
  const header = Buffer.from(`070701${fields.map(field).join("")}${path}\0`)
  return Buffer.concat([padded(header), padded(bytes)])
}

/** The archive of programs, with the directories that they are in. */
export const archiveOf = (files) => {
  const directories = new Set(
    files.flatMap(({ path }) =>
      path
        .split("/")
        .slice(0, -1)
        .map((_, index, names) => names.slice(0, index + 1).join("/"))
    )
  )
  const all = [
    ...[...directories].map((path) => ({ path, mode: 0o040755, bytes: Buffer.alloc(0) })),
    ...files.map(({ bytes, path }) => ({ path, mode: 0o100755, bytes })),
    { path: "TRAILER!!!", mode: 0, bytes: Buffer.alloc(0) }
  ]
  return Buffer.concat(all.map((each, index) => entry(index + 1, each)))
}
