import { createHash } from "node:crypto"
import { setImmediate } from "node:timers/promises"
import type { FileStat, TreeFile } from "./Capture.js"

// Reads and edits index files as gitformat-index(5) describes them, in versions 2 and 3. git would start a process and read all of it each time.

/** An index file. For each entry it knows where it starts, and the begin and the end of its name. The last start is the end of all entries. */
export interface IndexFile {
  readonly bytes: Buffer
  readonly starts: Uint32Array
  readonly names: Uint32Array
  readonly ends: Uint32Array
}

const headerBytes = 12
const checksumBytes = 20
/** The times, the device and the inode, the mode, the owner and the size come before the id. */
const idAt = 40
const modeAt = 24
const flagsAt = 60

const extended = 0x4000
const stages = 0x3000
const assumedUnchanged = 0x8000
const longestName = 0x0fff

/** Work on so many entries is done at once. Then others have their turn. */
const piece = 8192

const flagsIn = (bytes: Buffer, start: number): number => bytes.readUInt16BE(start + flagsAt)

const nameEnd = (bytes: Buffer, flags: number, name: number): number => {
  const length = flags & longestName
  return length < longestName ? name + length : bytes.indexOf(0, name + longestName)
}

/** True where every extension may be passed over. A split and a sparse index have one that may not, whose name begins with a small letter. */
const isWhole = (bytes: Buffer, from: number): boolean => {
  const end = bytes.length - checksumBytes
  let at = from
  while (at < end) {
    const [first = 0] = bytes.subarray(at, at + 1)
    if (at + 8 > end || first < 0x41 || first > 0x5a) return false
    at += 8 + bytes.readUInt32BE(at + 4)
  }
  return at === end
}

/** Reads an index. Null for one that is damaged, or has another form. */
export const readIndex = async (bytes: Buffer): Promise<IndexFile | null> => {
  const end = bytes.length - checksumBytes
  if (end < headerBytes || bytes.toString("latin1", 0, 4) !== "DIRC") return null
  const version = bytes.readUInt32BE(4)
  const count = bytes.readUInt32BE(8)
  if ((version !== 2 && version !== 3) || count * (flagsAt + 4) > end) return null
  const index = {
    bytes,
    starts: new Uint32Array(count + 1),
    names: new Uint32Array(count),
    ends: new Uint32Array(count)
  }
  let start = headerBytes
  for (let at = 0; at < count; at += 1) {
    if (at % piece === piece - 1) await setImmediate()
    if (start + flagsAt + 4 > end) return null
    const flags = flagsIn(bytes, start)
    const name = start + flagsAt + ((flags & extended) === 0 ? 2 : 4)
    const stop = nameEnd(bytes, flags, name)
    if (stop <= name || stop >= end || bytes[stop] !== 0) return null
    index.starts[at] = start
    index.names[at] = name
    index.ends[at] = stop
    // One to eight bytes of zero make the length a multiple of eight.
    start += (stop - start + 8) & ~7
    if (start > end) return null
  }
  index.starts[count] = start
  return isWhole(bytes, start) ? index : null
}

/** An index without an entry. */
export const emptyIndex: IndexFile = {
  bytes: Buffer.concat([Buffer.from("DIRC\0\0\0\x02\0\0\0\0", "latin1"), Buffer.alloc(checksumBytes)]),
  starts: new Uint32Array([headerBytes]),
  names: new Uint32Array(),
  ends: new Uint32Array()
}

const countOf = ({ names }: IndexFile): number => names.length

const startOf = ({ starts }: IndexFile, at: number): number => starts[at] ?? 0

const nameOf = ({ names }: IndexFile, at: number): number => names[at] ?? 0

const endOf = ({ ends }: IndexFile, at: number): number => ends[at] ?? 0

const pathOf = (index: IndexFile, at: number): string =>
  index.bytes.toString("latin1", nameOf(index, at), endOf(index, at))

const fileOf = (index: IndexFile, at: number): TreeFile => {
  const start = startOf(index, at)
  const mode = index.bytes.readUInt32BE(start + modeAt)
  return { mode: mode.toString(8).padStart(6, "0"), id: index.bytes.toString("hex", start + idAt, start + flagsAt) }
}

const compareNames = (left: IndexFile, leftAt: number, right: IndexFile, rightAt: number): number =>
  left.bytes.compare(
    right.bytes,
    nameOf(right, rightAt),
    endOf(right, rightAt),
    nameOf(left, leftAt),
    endOf(left, leftAt)
  )

const flagsOf = (index: IndexFile, at: number): number => flagsIn(index.bytes, startOf(index, at))

const modeOf = (index: IndexFile, at: number): number => index.bytes.readUInt32BE(startOf(index, at) + modeAt)

/** True for two entries with the same path, mode and id. */
const isSameEntry = (left: IndexFile, leftAt: number, right: IndexFile, rightAt: number): boolean => {
  if (modeOf(left, leftAt) !== modeOf(right, rightAt)) return false
  const [one, other] = [startOf(left, leftAt) + idAt, startOf(right, rightAt) + idAt]
  // The id, the flags and the name are one piece, so most entries take one look.
  if (left.bytes.compare(right.bytes, other, endOf(right, rightAt), one, endOf(left, leftAt)) === 0) return true
  return (
    left.bytes.compare(right.bytes, other, other + 20, one, one + 20) === 0 &&
    compareNames(left, leftAt, right, rightAt) === 0
  )
}

/** A path at which two indexes differ, with the entry of each. */
export interface IndexDifference {
  readonly path: string
  readonly left: TreeFile | undefined
  readonly right: TreeFile | undefined
}

/** The paths (latin1) at which two indexes have another mode or id. */
export const indexDifferences = async (left: IndexFile, right: IndexFile): Promise<ReadonlyArray<IndexDifference>> => {
  const found: Array<IndexDifference> = []
  const [lefts, rights] = [countOf(left), countOf(right)]
  let [one, other] = [0, 0]
  for (let steps = 1; one < lefts || other < rights; steps += 1) {
    if (steps % piece === 0) await setImmediate()
    if (one < lefts && other < rights && isSameEntry(left, one, right, other)) {
      one += 1
      other += 1
      continue
    }
    const order = one === lefts ? 1 : other === rights ? -1 : compareNames(left, one, right, other)
    found.push({
      path: order <= 0 ? pathOf(left, one) : pathOf(right, other),
      left: order <= 0 ? fileOf(left, one) : undefined,
      right: order >= 0 ? fileOf(right, other) : undefined
    })
    if (order <= 0) one += 1
    if (order >= 0) other += 1
  }
  return found
}

/** True when an index has the entries of another one, none of them in a conflict or with a flag that `git add` does not give. */
export const hasEntriesOf = async (index: IndexFile, other: IndexFile): Promise<boolean> => {
  const count = countOf(index)
  if (count !== countOf(other)) return false
  for (let at = 0; at < count; at += 1) {
    if ((flagsOf(index, at) & (extended | stages)) !== 0 || !isSameEntry(index, at, other, at)) return false
    if (at % piece === piece - 1) await setImmediate()
  }
  return true
}

const linkMode = 0o160000

/** The submodules of an index. */
export const indexLinks = (index: IndexFile): Promise<ReadonlyMap<string, TreeFile>> =>
  entriesWhere(index, (at) => modeOf(index, at) === linkMode)

/** The entries whose last name is this one, by path (latin1). */
export const indexNamed = (index: IndexFile, name: string): Promise<ReadonlyMap<string, TreeFile>> => {
  const wanted = Buffer.from(name, "latin1")
  const last = wanted.at(-1)
  return entriesWhere(index, (at) => {
    const end = endOf(index, at)
    const begin = end - wanted.length
    if (index.bytes[end - 1] !== last || begin < nameOf(index, at)) return false
    const isLast = begin === nameOf(index, at) || index.bytes[begin - 1] === slash
    return isLast && index.bytes.compare(wanted, 0, wanted.length, begin, end) === 0
  })
}

const slash = 0x2f

/** All entries by path (latin1). */
export const indexEntries = (index: IndexFile): Promise<ReadonlyMap<string, TreeFile>> =>
  entriesWhere(index, () => true)

const entriesWhere = async (
  index: IndexFile,
  isWanted: (at: number) => boolean
): Promise<ReadonlyMap<string, TreeFile>> => {
  const found = new Map<string, TreeFile>()
  for (let at = 0; at < countOf(index); at += 1) {
    if (at % piece === piece - 1) await setImmediate()
    if (isWanted(at)) found.set(pathOf(index, at), fileOf(index, at))
  }
  return found
}

/** All paths (latin1) of an index, in its order. */
export function* indexPaths(index: IndexFile): Generator<string> {
  for (let at = 0; at < countOf(index); at += 1) yield pathOf(index, at)
}

/** The position of the first entry whose name does not come before this one. */
const positionOf = (index: IndexFile, name: Buffer): number => {
  let [low, high] = [0, countOf(index)]
  while (low < high) {
    const middle = (low + high) >>> 1
    if (index.bytes.compare(name, 0, name.length, nameOf(index, middle), endOf(index, middle)) < 0) low = middle + 1
    else high = middle
  }
  return low
}

/** An entry, and what its flags say of it. */
export interface FlaggedEntry {
  readonly file: TreeFile
  /** It needs no file in the working tree, or git was told to take it as unchanged. */
  readonly isHidden: boolean
}

const skipsWorktree = 0x4000

/** The entry of a path (latin1). That of a conflict is not hidden. */
export const indexEntry = (index: IndexFile, path: string): FlaggedEntry | undefined => {
  const name = Buffer.from(path, "latin1")
  const at = positionOf(index, name)
  if (at === countOf(index) || pathOf(index, at) !== path) return undefined
  const flags = flagsOf(index, at)
  const more = (flags & extended) === 0 ? 0 : index.bytes.readUInt16BE(startOf(index, at) + flagsAt + 2)
  const isPlain = (flags & stages) === 0
  return {
    file: fileOf(index, at),
    isHidden: isPlain && ((flags & assumedUnchanged) !== 0 || (more & skipsWorktree) !== 0)
  }
}

/** True when every name comes before the next one. An index of others may say anything. */
export const isSorted = async (index: IndexFile): Promise<boolean> => {
  for (let at = 1; at < countOf(index); at += 1) {
    if (at % piece === 0) await setImmediate()
    const order = compareNames(index, at - 1, index, at)
    if (order > 0 || (order === 0 && (flagsOf(index, at) & stages) === 0)) return false
  }
  return true
}

const secondsOf = (time: bigint): bigint => time / 1_000_000_000n

/** True where both times of a file lie in an earlier second. Whatever is written since then has a later time of change. */
export const isSettled = ({ ctimeNs, mtimeNs }: FileStat, since: bigint): boolean =>
  secondsOf(ctimeNs) < secondsOf(since) && secondsOf(mtimeNs) < secondsOf(since)

const entryBytes = (path: string, { id, mode }: TreeFile, stat: FileStat | undefined): Buffer => {
  const name = Buffer.from(path, "latin1")
  const entry = Buffer.alloc((flagsAt + 2 + name.length + 8) & ~7)
  if (stat !== undefined) {
    const { ctimeNs, dev, gid, ino, mtimeNs, size, uid } = stat
    const times = [ctimeNs, mtimeNs].flatMap((time) => [secondsOf(time), time % 1_000_000_000n])
    const low = [...times, dev, ino, 0n, uid, gid, size]
    for (const [at, value] of low.entries()) entry.writeUInt32BE(Number(BigInt.asUintN(32, value)), 4 * at)
  }
  entry.writeUInt32BE(Number.parseInt(mode, 8), modeAt)
  entry.write(id, idAt, "hex")
  entry.writeUInt16BE(Math.min(name.length, longestName), flagsAt)
  name.copy(entry, flagsAt + 2)
  return entry
}

/** The entry of a path. With the state of its file git takes that file as unchanged while its state is the same. */
export interface NewEntry {
  readonly file: TreeFile
  readonly stat: FileStat | undefined
}

/**
 * The bytes of an index without some paths and with others (latin1). An entry keeps its times only where they are earlier than the second `since`. git
 * looks at the file of an entry without times. It would not see that a file has changed twice in one second.
 */
export const editedIndex = async (
  index: IndexFile,
  edits: ReadonlyMap<string, NewEntry | null>,
  since: bigint
): Promise<Buffer> => {
  const pieces: Array<Buffer> = []
  const doubtful = await unsettled(index, Number(BigInt.asUintN(32, secondsOf(since))))
  const body = doubtful.length === 0 ? index.bytes : Buffer.from(index.bytes)
  for (const at of doubtful) body.fill(0, startOf(index, at), startOf(index, at) + modeAt)
  let copied = 0
  let count = countOf(index)
  const sorted = [...edits].sort(([left], [right]) => (left < right ? -1 : 1))
  for (const [path, entry] of sorted) {
    const at = positionOf(index, Buffer.from(path, "latin1"))
    const isThere = at < countOf(index) && pathOf(index, at) === path
    pieces.push(body.subarray(startOf(index, copied), startOf(index, at)))
    copied = isThere ? at + 1 : at
    if (entry !== null) pieces.push(entryBytes(path, entry.file, entry.stat))
    count += (entry === null ? 0 : 1) - (isThere ? 1 : 0)
  }
  pieces.push(body.subarray(startOf(index, copied), startOf(index, countOf(index))))
  const header = Buffer.from(index.bytes.subarray(0, headerBytes))
  header.writeUInt32BE(count, 8)
  const written = Buffer.concat([header, ...pieces])
  const hash = createHash("sha1")
  for (let at = 0; at < written.length; at += 1024 * 1024) {
    if (at > 0) await setImmediate()
    hash.update(written.subarray(at, at + 1024 * 1024))
  }
  return Buffer.concat([written, hash.digest()])
}

/** The entries with a time of this second or later. */
const unsettled = async (index: IndexFile, since: number): Promise<ReadonlyArray<number>> => {
  const found: Array<number> = []
  for (let at = 0; at < countOf(index); at += 1) {
    if (at % piece === piece - 1) await setImmediate()
    const start = startOf(index, at)
    if (index.bytes.readUInt32BE(start) >= since || index.bytes.readUInt32BE(start + 8) >= since) found.push(at)
  }
  return found
}
