import { createHash } from "node:crypto"
import { readFileSync, writeFileSync } from "node:fs"
import { operations } from "./Document.js"

/** An operation that has succeeded: what was sent and what came back, as JSON. */
export interface Recorded {
  readonly body?: unknown
  readonly answer?: unknown
}

const file = new URL("../../src/http/openapi/examples.json", import.meta.url)

/** True when this run is to keep what it sees as the examples of the document. */
export const isRecording = process.env["REINS_RECORD_EXAMPLES"] === "1"

/**
 * Keeps recorded operations as the examples of the document, in place of those that it had for them. What differs from run to run becomes
 * what it always is in examples.
 */
export const keepExamples = (recorded: ReadonlyMap<string, Recorded>): void => {
  const before: Readonly<Record<string, Recorded>> = JSON.parse(readFileSync(file, "utf8"))
  const stable = stabilizer()
  const kept = operations.flatMap(({ name }) => {
    const own = recorded.get(name)
    const known = own === undefined ? before[name] : stable(own)
    return known === undefined ? [] : [[name, known] as const]
  })
  writeFileSync(file, `${JSON.stringify(Object.fromEntries(kept), null, 2)}\n`)
}

/** The most items of a list in an example. */
const mostItems = 2

/** The longest text of an example, in characters. */
const longest = 600

const stabilizer = () => {
  const ids = new Map<string, string>()
  const numbered = (prefix: string, id: string): string => {
    const known = ids.get(id) ?? `${prefix}_01k${String(ids.size + 1).padStart(23, "0")}`
    ids.set(id, known)
    return known
  }
  const hex = new Map<string, string>()
  const hashed = (digest: string): string => {
    const known = hex.get(digest) ?? createHash("sha256").update(String(hex.size)).digest("hex").slice(0, digest.length)
    hex.set(digest, known)
    return known
  }
  const text = (value: string, key: string): string =>
    (secrets[key] ?? value)
      .replace(/ SCRIPT:\[[\s\S]*$/, "")
      .replace(/\b([a-z]{2,5})_[0-7][0-9a-hjkmnp-tv-z]{25}/g, (id, prefix: string) => numbered(prefix, id))
      .replace(/\b(?:[0-9a-f]{64}|[0-9a-f]{40})\b/g, hashed)
      .replace(/\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}\.\d{3}Z/g, "2026-01-01T12:00:00.000Z")
      .replace(/https?:\/\/127\.0\.0\.1:\d+/g, "https://git.example")
      .replace(/\/(?:tmp|work)\/[\w./-]+/g, "/srv/reins")
      .replace(/\b(?:person\d+|[\w-]+)@example\.com/g, "ann@example.com")
      .slice(0, longest)
  const stable = (value: unknown, key: string): unknown => {
    if (typeof value === "string") return text(value, key)
    if (Array.isArray(value)) return value.slice(0, mostItems).map((item) => stable(item, key))
    if (typeof value !== "object" || value === null) return value
    return Object.fromEntries(Object.entries(value).map(([name, inner]) => [name, stable(inner, name)]))
  }
  return ({ answer, body }: Recorded): Recorded => ({
    ...(body !== undefined && { body: stable(body, "") }),
    ...(answer !== undefined && { answer: stable(answer, "") })
  })
}

/** Texts that nobody should see in a document, although they are good for nothing. */
const secrets: Readonly<Record<string, string>> = {
  api_key: "sk-...",
  token: "...",
  password: "a quiet heron at noon",
  secret: "rk_...",
  csrf_token: "6d0f...",
  fingerprint: "5f2c9a7d",
  last4: "3f9a",
  worker_id: "server-1",
  base_url: "https://gateway.example/v1"
}
