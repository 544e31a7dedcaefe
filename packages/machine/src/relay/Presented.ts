import type { IncomingHttpHeaders } from "node:http"

/** The header fields in which a borrower may present its token, with the form of a credential in each. */
export const credentialFields: ReadonlyMap<string, (key: string) => string> = new Map([
  ["authorization", (key: string) => `Bearer ${key}`],
  ["x-api-key", (key: string) => key],
  ["api-key", (key: string) => key],
  ["x-goog-api-key", (key: string) => key]
])

/** The values of `key` in the query of a URL. */
export const keysInQuery = (url: string): ReadonlyArray<string> => {
  const at = url.indexOf("?")
  return at < 0 ? [] : new URLSearchParams(url.slice(at + 1)).getAll("key")
}

/** Every credential in the header of a request. */
export const credentialsIn = (headers: IncomingHttpHeaders): ReadonlyArray<string> =>
  [...credentialFields.keys()].flatMap((name) => {
    const value = headers[name]
    if (value === undefined) return []
    return name === "authorization" ? [/^Bearer +(\S+)$/i.exec(String(value))?.[1] ?? ""] : [String(value)]
  })
