import { type Option, Schema } from "effect"

// Reads JSON of other programs. Programs of Windows and some proxies put a byte order mark before the text, which `JSON.parse` refuses.

/** The value of a text in JSON; undefined for any other text. */
export const foreignJson = (text: string): unknown => {
  try {
    return JSON.parse(text.startsWith("\ufeff") ? text.slice(1) : text)
  } catch {
    return undefined
  }
}

/** Gives the function that reads a text in JSON by a schema. It gives none for a text that is no JSON, or that does not fit. */
export const readJson = <A, I>(schema: Schema.Schema<A, I>): ((text: string) => Option.Option<A>) => {
  const read = Schema.decodeUnknownOption(schema)
  return (text) => read(foreignJson(text))
}
