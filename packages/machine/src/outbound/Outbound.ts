import http, { type ClientRequest, type IncomingHttpHeaders } from "node:http"
import https from "node:https"
import { CoreConfig } from "@reins/base/base/CoreConfig"
import { limited } from "@reins/base/base/Limited"
import { fn } from "@reins/base/base/Traced"
import { Context, Data, Effect, Layer } from "effect"
import { connectTimeoutMs, type GuardOptions } from "./Dial.js"
import { EgressFailed } from "./EgressTunnel.js"
import { AddressRefused, type GuardedAgents, guardedAgents, limitConnecting } from "./GuardedAgents.js"
import { BodyEnd, BodyStart } from "./KeptBody.js"

/** A request. Its headers and its body appear in no error, because they may hold secrets. */
export interface OutboundRequest {
  readonly method?: string
  readonly headers?: Readonly<Record<string, string>>
  readonly body?: string | Uint8Array
}

export interface OutboundLimits {
  /** The time limit for the whole request, 30 seconds by default. Connecting may take at most 10 seconds of it. With `bodyWaitMs` it ends with the headers. */
  readonly timeoutMs?: number
  /** The longest body that is accepted, 1 MiB by default. */
  readonly maxBytes?: number
  /**
   * With it the status alone decides. An answer of any status, a redirect too, is a success once its headers are there. Its body is what arrives within
   * so many milliseconds and `maxBytes`, also when the connection breaks in it.
   */
  readonly bodyWaitMs?: number
  /**
   * With it the body is the end of what comes, at most so many bytes, however much that is. `maxBytes` does not count then, and `cut` says that more came.
   */
  readonly tailBytes?: number
  /** With it a redirect is an answer too, for a caller that decides where it may lead. */
  readonly answersRedirects?: true
}

export interface OutboundAnswer {
  readonly status: number
  readonly headers: IncomingHttpHeaders
  readonly body: string
  /** True when the body is the end of a longer one. */
  readonly cut?: true
}

/**
 * The reason why there is no answer.
 * - `refused_address`: the host was not asked, because it is private or has no TLS.
 * - `redirect`: the answer leads elsewhere and was not followed.
 * - `tls`: the certificate is not accepted, or the host speaks no TLS.
 */
export class OutboundError extends Data.TaggedError("OutboundError")<{
  readonly kind: "refused_address" | "unreachable" | "timeout" | "too_large" | "redirect" | "tls"
  /** A sentence for a person. It names the host and nothing else of the request. */
  readonly message: string
}> {}

/** Sends requests to the hosts that users name, such as gateways and forges. It is no way into private networks. */
export class Outbound extends Context.Tag("@reins/core/outbound/Outbound")<
  Outbound,
  {
    /** Sends one request on a connection of its own. An answer of any status is a success, except for a redirect. */
    readonly fetch: (
      url: string,
      request?: OutboundRequest,
      limits?: OutboundLimits
    ) => Effect.Effect<OutboundAnswer, OutboundError>
    /** Agents for `node:http` and `node:https` that connect only to the hosts that `fetch` reaches. The caller destroys them. */
    readonly agents: (options: http.AgentOptions) => GuardedAgents
  }
>() {
  static readonly layerWith = (guard: GuardOptions) =>
    Layer.sync(Outbound, () => {
      const agents = guardedAgents(guard, { keepAlive: false })
      return Outbound.of({
        fetch: fn("Outbound.fetch")((url, request = {}, limits = {}) =>
          URL.canParse(url) && /^https?:$/.test(new URL(url).protocol)
            ? fetch(agents, new URL(url), request, limits)
            : Effect.fail(new OutboundError({ kind: "refused_address", message: "It is not an http or https URL." }))
        ),
        agents: (options) => guardedAgents(guard, options)
      })
    })

  static readonly layer = Layer.unwrapEffect(
    Effect.map(CoreConfig, ({ allowPrivateHosts, egress }) => Outbound.layerWith({ allowPrivateHosts, egress }))
  )
}

const fetch = (
  agents: GuardedAgents,
  url: URL,
  request: OutboundRequest,
  { answersRedirects, bodyWaitMs, maxBytes = 1024 * 1024, tailBytes, timeoutMs = 30_000 }: OutboundLimits
) =>
  limited(
    answerTo(agents, url, request, {
      answersRedirects: answersRedirects === true,
      bodyWaitMs,
      maxBytes,
      tailBytes,
      timeoutMs
    }),
    Effect.timeoutFail({ duration: timeoutMs + (bodyWaitMs ?? 0), onTimeout: () => late(url, timeoutMs) })
  )

const late = (url: URL, timeoutMs: number) =>
  new OutboundError({ kind: "timeout", message: `${url.host} did not answer within ${timeoutMs / 1000} seconds.` })

interface DecidedLimits {
  readonly answersRedirects: boolean
  readonly bodyWaitMs: number | undefined
  readonly maxBytes: number
  readonly tailBytes: number | undefined
  readonly timeoutMs: number
}

const answerTo = (
  agents: GuardedAgents,
  url: URL,
  { body, headers = {}, method = "GET" }: OutboundRequest,
  { answersRedirects, bodyWaitMs, maxBytes, tailBytes, timeoutMs }: DecidedLimits
) =>
  Effect.async<OutboundAnswer, OutboundError>((resume) => {
    const options = { method, headers: { "accept-encoding": "identity", ...headers } }
    const failed = (kind: OutboundError["kind"], what: string) =>
      Effect.fail(new OutboundError({ kind, message: `${url.host} ${what}` }))
    let request: ClientRequest
    try {
      request =
        url.protocol === "https:"
          ? https.request(url, { ...options, agent: agents.https })
          : http.request(url, { ...options, agent: agents.http })
    } catch {
      // The error of Node may quote the header, so it is not passed on.
      return resume(failed("unreachable", "cannot be asked: a header has characters that headers cannot have."))
    }
    const statusDecides = bodyWaitMs !== undefined
    let patience: NodeJS.Timeout | undefined
    const end = (result: Effect.Effect<OutboundAnswer, OutboundError>) => {
      clearTimeout(patience)
      resume(result)
      request.destroy()
    }
    let broken = (error: Error) => end(failureOf(url, error))
    if (statusDecides) patience = setTimeout(() => end(Effect.fail(late(url, timeoutMs))), timeoutMs)
    limitConnecting(request, () => end(failed("timeout", `took over ${connectTimeoutMs / 1000} seconds to connect.`)))
    request.on("error", (error) => broken(error))
    request.once("response", (answer) => {
      const status = answer.statusCode ?? 0
      if (!statusDecides && !answersRedirects && status >= 300 && status < 400 && status !== 304) {
        return end(failed("redirect", `answers with a redirect (${status}), which is not followed.`))
      }
      const kept = tailBytes === undefined ? new BodyStart() : new BodyEnd(tailBytes)
      const answered = () => end(Effect.succeed({ status, headers: answer.headers, ...kept.body() }))
      if (statusDecides) {
        clearTimeout(patience)
        patience = setTimeout(answered, bodyWaitMs)
        broken = answered
      }
      answer.on("error", (error) => broken(error))
      answer.on("data", (chunk: Buffer) => {
        const over = kept.size + chunk.length - maxBytes
        if (tailBytes !== undefined || over <= 0) return kept.add(chunk)
        if (!statusDecides) return end(failed("too_large", `answers with more than ${maxBytes} bytes.`))
        kept.add(chunk.subarray(0, chunk.length - over))
        answered()
      })
      answer.on("end", answered)
    })
    request.end(body)
    return Effect.sync(() => {
      clearTimeout(patience)
      request.destroy()
    })
  })

const failureOf = (url: URL, error: NodeJS.ErrnoException) => {
  if (error instanceof AddressRefused) {
    return Effect.fail(new OutboundError({ kind: "refused_address", message: error.message }))
  }
  if (error instanceof EgressFailed)
    return Effect.fail(new OutboundError({ kind: "unreachable", message: error.message }))
  const code = error.code ?? ""
  const kind = tlsFailure.test(code) ? "tls" : code === "ETIMEDOUT" ? "timeout" : "unreachable"
  const what = { tls: "has no TLS that can be accepted", timeout: "does not answer", unreachable: "cannot be reached" }
  return Effect.fail(
    new OutboundError({ kind, message: `${url.host} ${what[kind]}${code === "" ? "" : ` (${code})`}.` })
  )
}

const tlsFailure = /CERT|SIGNATURE|ISSUER|ERR_TLS|ERR_SSL|^EPROTO$/
