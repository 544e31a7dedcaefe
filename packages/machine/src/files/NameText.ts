import { isUtf8 } from "node:buffer"

// The one form in which names that came from a disk or from git stand in texts. A name is bytes, and most names are UTF-8.

/**
 * A name as text: UTF-8 as it is, any other name in double quotes with its other bytes in octal, as git quotes names: `"caf\351.txt"`. A name that
 * looks like that form itself is quoted too, so `nameBytes` gives back every name.
 */
export const nameText = (name: Uint8Array): string => {
  const isText = isUtf8(name)
  if (isText) {
    const text = Buffer.from(name.buffer, name.byteOffset, name.byteLength).toString("utf8")
    if (!isQuoted(text)) return text
  }
  return `"${escaped(Buffer.from(name), true)}"`
}

/** The bytes of a name that `nameText` wrote. Any other text stands for its UTF-8. */
export const nameBytes = (text: string): Buffer => {
  if (!isQuoted(text)) return Buffer.from(text)
  const bytes = unquoted(text.slice(1, -1))
  return nameText(bytes) === text ? bytes : Buffer.from(text)
}

/** A path as text, each of its names by itself. */
export const pathText = (path: Uint8Array): string => {
  const bytes = Buffer.from(path.buffer, path.byteOffset, path.byteLength)
  if (isUtf8(bytes) && !bytes.includes(quote)) return bytes.toString("utf8")
  const names = bytes.toString("latin1").split("/")
  return names.map((name) => nameText(Buffer.from(name, "latin1"))).join("/")
}

/** The names of a path that `pathText` wrote, as bytes. */
export const pathNames = (text: string): ReadonlyArray<Buffer> => text.split("/").map(nameBytes)

/** The bytes of a path that `pathText` wrote. */
export const pathBytes = (text: string): Buffer =>
  text.includes('"')
    ? Buffer.from(
        text
          .split("/")
          .map((name) => nameBytes(name).toString("latin1"))
          .join("/"),
        "latin1"
      )
    : Buffer.from(text)

/** The path of an entry of a directory. */
export const beneath = (directory: string | Buffer, name: Buffer): Buffer =>
  Buffer.concat([Buffer.from(directory), Buffer.from("/"), name])

/** A path in a sentence, within quotation marks. */
export const quotedPath = (path: Uint8Array): string => {
  const text = pathText(path)
  return text.split("/").some(isQuoted) ? text : JSON.stringify(text)
}

/** Bytes as text for people: UTF-8 as it is, each other byte in octal, as in `caf\351`. */
export const bytesText = (bytes: Buffer): string => (isUtf8(bytes) ? bytes.toString("utf8") : escaped(bytes, false))

const quote = 0x22
const backslash = 0x5c

/** Each backslash of the inside begins an escape, and there is at least one of them. */
const inside = /^(?:[^"\\]|\\[23][0-7]{2}|\\["\\])+$/

const isQuoted = (text: string): boolean =>
  text.startsWith('"') && text.endsWith('"') && text.includes("\\") && inside.test(text.slice(1, -1))

const unquoted = (text: string): Buffer =>
  Buffer.concat(
    text
      .split(/(\\[0-7]{3}|\\["\\])/)
      .map((part) =>
        /^\\[0-7]{3}$/.test(part)
          ? Buffer.from([Number.parseInt(part.slice(1), 8)])
          : Buffer.from(/^\\["\\]$/.test(part) ? part.slice(1) : part)
      )
  )

const lengthOf = (lead: number): number => (lead >= 0xf0 ? 4 : lead >= 0xe0 ? 3 : lead >= 0xc0 ? 2 : 1)

const octal = (byte: number): string => `\\${byte.toString(8).padStart(3, "0")}`

const escaped = (bytes: Buffer, isName: boolean): string => {
  const parts: Array<string> = []
  let from = 0
  const flush = (to: number) => {
    if (to > from) parts.push(bytes.toString("utf8", from, to))
  }
  for (let at = 0; at < bytes.length; ) {
    const byte = bytes[at] ?? 0
    if (isName && (byte === quote || byte === backslash)) {
      flush(at)
      parts.push(`\\${String.fromCharCode(byte)}`)
      at += 1
      from = at
    } else if (byte < 0x80) at += 1
    else {
      const end = at + lengthOf(byte)
      if (end <= bytes.length && isUtf8(bytes.subarray(at, end))) at = end
      else {
        flush(at)
        parts.push(octal(byte))
        at += 1
        from = at
      }
    }
  }
  flush(bytes.length)
  return parts.join("")
}
