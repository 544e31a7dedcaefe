import { foreignJson } from "@reins/base/base/ForeignJson"
import { Outbound } from "@reins/machine/outbound/Outbound"
import { Clock, Effect } from "effect"
import { type OauthClient, readMetadata } from "./ClientMetadata.js"
import { OauthRefused } from "./OauthRefused.js"

/** The longest document, in bytes. */
const mostBytes = 32 * 1024
const timeoutMs = 5000
const longestUrl = 500

/** A document counts for so many milliseconds. The next request of the app fetches it again. */
const freshMs = 60 * 60 * 1000
const mostKept = 200

/** True for an id that can be the URL of a document: https, with a path, and written as URLs are. */
export const isDocumentUrl = (id: string): boolean => {
  if (id.length > longestUrl || !id.startsWith("https://") || !URL.canParse(id)) return false
  const { hash, href, password, pathname, username } = new URL(id)
  return href === id && hash === "" && username === "" && password === "" && pathname !== "/"
}

/**
 * Gives the function that fetches the document of an app (OAuth Client ID Metadata Document). It follows no redirect and reaches no private host. A
 * document of another `client_id`, or of an app that proves itself with a secret or a key, is refused.
 */
export const makeClientDocuments = Effect.gen(function* () {
  const outbound = yield* Outbound
  const kept = new Map<string, { readonly client: OauthClient; readonly untilMs: number }>()

  const fetch = Effect.fnUntraced(function* (id: string) {
    const { body, headers, status } = yield* outbound
      .fetch(id, { headers: { accept: "application/json" } }, { timeoutMs, maxBytes: mostBytes })
      .pipe(Effect.mapError(({ message }) => refused(`Its document cannot be read. ${message}`)))
    if (status !== 200) return yield* refused(`Its document cannot be read. The answer has the status ${status}.`)
    if (!/^application\/(?:[\w.+-]+\+)?json\s*(?:;|$)/i.test(headers["content-type"] ?? ""))
      return yield* refused("Its document is not JSON.")
    const document = foreignJson(body)
    if (document === undefined) return yield* refused("Its document is not JSON.")
    const { client_id, client_secret, token_endpoint_auth_method }: Readonly<Record<string, unknown>> =
      typeof document === "object" && document !== null ? { ...document } : {}
    if (client_id !== id) return yield* refused("Its document is that of another app.")
    if (client_secret !== undefined || (token_endpoint_auth_method ?? "none") !== "none")
      return yield* refused("Its document names a way to prove itself that is not served here. Only `none` is.")
    const metadata = yield* readMetadata(document)
    const client: OauthClient = { id, host: new URL(id).host, ...metadata }
    return client
  })

  return Effect.fnUntraced(function* (id: string) {
    const nowMs = yield* Clock.currentTimeMillis
    const known = kept.get(id)
    if (known !== undefined && known.untilMs > nowMs) return known.client
    kept.delete(id)
    const client = yield* fetch(id)
    const [oldest] = kept.keys()
    if (kept.size >= mostKept && oldest !== undefined) kept.delete(oldest)
    kept.set(id, { client, untilMs: nowMs + freshMs })
    return client
  })
})

const refused = (description: string) => new OauthRefused({ error: "invalid_client", description })
