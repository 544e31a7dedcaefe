import { Schema } from "effect"

const longest = 2_000

const webUrl = (text: string): URL | undefined => {
  if (text.length > longest || !URL.canParse(text)) return undefined
  const url = new URL(text)
  const isWeb = url.protocol === "https:" || url.protocol === "http:"
  return isWeb && url.username === "" && url.password === "" ? url : undefined
}

/** The address of a page that another program names: http or https, without a name and a password, in the form of the standard. Any other is refused. */
export const ForeignUrl = Schema.String.pipe(
  Schema.filter((text) => webUrl(text) !== undefined || "no address of a web page"),
  Schema.transform(Schema.String, {
    strict: true,
    decode: (text) => webUrl(text)?.href ?? text,
    encode: (text) => text
  })
)
