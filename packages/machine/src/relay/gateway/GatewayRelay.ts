import http, {
  type ClientRequest,
  type IncomingMessage,
  type OutgoingHttpHeaders,
  type ServerResponse
} from "node:http"
import https from "node:https"
import { pipeline, Transform } from "node:stream"
import { urlToHttpOptions } from "node:url"
import { createBrotliDecompress, createGunzip, createInflate } from "node:zlib"
import { Redacted } from "effect"
import { formsOf, type Scrubber, scrubber } from "../../harness/Secrets.js"
import { connectionHeaders } from "../../outbound/ConnectionHeaders.js"
import { EgressFailed } from "../../outbound/EgressTunnel.js"
import { AddressRefused, type GuardedAgents, limitConnecting } from "../../outbound/GuardedAgents.js"
import { credentialFields } from "../Presented.js"
import { refuse } from "../Refusal.js"
import { type CallTap, tapOf } from "./CallTap.js"
import { type OpenLoan, presentedFields } from "./GatewayLoan.js"
import type { CallLeave } from "./ModelCall.js"
import { blankSplitSecrets, comesInLines } from "./SplitSecrets.js"

/** One request of an agent. `target` is the path and the query that the gateway is asked for. */
export interface Exchange {
  readonly loan: OpenLoan
  readonly target: string
  readonly request: IncomingMessage
  readonly response: ServerResponse
  /** The leave of a model call that an observer has let out. */
  readonly leave?: CallLeave | undefined
}

/** The headers that are not passed on. They belong to one connection, or are cookies, which would carry state from one agent to another. */
const notPassedOn = new Set([...connectionHeaders, "http2-settings", "cookie", "set-cookie"])

const passedOn = ({ headers, headersDistinct }: IncomingMessage): ReadonlyArray<[string, ReadonlyArray<string>]> => {
  const named = (headers.connection ?? "").toLowerCase().split(/[\s,]+/)
  return Object.entries(headersDistinct).flatMap(
    ([name, values]): ReadonlyArray<[string, ReadonlyArray<string>]> =>
      values === undefined || notPassedOn.has(name) || named.includes(name) ? [] : [[name, values]]
  )
}

const requestHeaders = ({ loan, request }: Exchange): OutgoingHttpHeaders => {
  const [key, token] = [Redacted.value(loan.key), Redacted.value(loan.token)]
  const headers: OutgoingHttpHeaders = {}
  for (const [name, values] of passedOn(request)) {
    if (name === "host" || name === "expect" || values.some((value) => value.includes(token))) continue
    headers[name] = [...values]
  }
  for (const name of presentedFields(request.headers, request.url ?? "")) {
    headers[name] = credentialFields.get(name)?.(key)
  }
  if (request.headers["transfer-encoding"] !== undefined) headers["transfer-encoding"] = "chunked"
  // The key could not be found in a compressed answer.
  headers["accept-encoding"] = "identity"
  return headers
}

/** Blanks secrets in a stream of bytes. Bytes are held back only while they may be the beginning of a secret. */
const blankSecrets = ({ partialLength, scrub }: Scrubber): Transform => {
  let rest = ""
  return new Transform({
    transform(chunk: Buffer, _encoding, done) {
      const text = scrub(rest + chunk.toString("latin1"))
      const ready = text.length - partialLength(text)
      rest = text.slice(ready)
      done(null, Buffer.from(text.slice(0, ready), "latin1"))
    },
    flush(done) {
      done(null, Buffer.from(rest, "latin1"))
    }
  })
}

/**
 * Blanks the token in a request, because an agent that prints its environment sends the token to the model. The blanked text keeps its length,
 * which the headers have already announced.
 */
const blankToken = ({ token }: OpenLoan): Transform => {
  const text = Redacted.value(token)
  return blankSecrets({ ...scrubber({ token }), scrub: (body) => body.replaceAll(text, "*".repeat(text.length)) })
}

const decoders: Readonly<Record<string, () => Transform>> = {
  gzip: createGunzip,
  "x-gzip": createGunzip,
  deflate: createInflate,
  br: createBrotliDecompress
}

/** The decoders that make the body of the answer readable; undefined when there is none for its encoding. */
const decodersOf = (answer: IncomingMessage): ReadonlyArray<Transform> | undefined => {
  const encoding = answer.headers["content-encoding"]?.trim().toLowerCase() ?? ""
  if (encoding === "" || encoding === "identity") return []
  const make = decoders[encoding]
  return make === undefined ? undefined : [make()]
}

const isRedirect = (status: number): boolean => status >= 300 && status < 400 && status !== 304

/** Passes the gateway's answer on and blanks the key in it. */
const passBack = (
  { loan, request, response }: Exchange,
  answer: IncomingMessage,
  upstream: ClientRequest,
  call: CallTap | undefined
): void => {
  const status = answer.statusCode ?? 502
  const decoders = request.method === "HEAD" ? [] : decodersOf(answer)
  const unfit = isRedirect(status)
    ? `answers with a redirect (${status}), which is not followed. Change the connection's base_url to where it leads.`
    : decoders === undefined
      ? "compresses its answer in a form that was not requested."
      : undefined
  if (unfit !== undefined || decoders === undefined) {
    const message = `The gateway at ${loan.gateway.origin} ${unfit}`
    refuse(response, 502, "gateway_error", message)
    call?.replaced(502, message)
    upstream.destroy()
    return
  }
  const key = scrubber({ key: loan.key })
  const forms = comesInLines(answer.headers["content-type"]) ? formsOf({ key: loan.key }) : []
  const inPieces = forms.length === 0 ? [] : [blankSplitSecrets(forms)]
  const headers: OutgoingHttpHeaders = {}
  for (const [name, values] of passedOn(answer)) {
    if (name !== "content-length" && name !== "content-encoding") headers[name] = values.map(key.scrub)
  }
  response.writeHead(status, headers)
  response.flushHeaders()
  // The pipeline destroys the response when the answer breaks off, so the agent sees the break too.
  const steps = [answer, ...decoders]
  call?.hearAnswer(status, answer.headers, steps)
  // Each step of the pipeline listens for the end of the response, and there are more than node takes for a leak.
  response.setMaxListeners(mostListeners)
  pipeline([...steps, blankSecrets(key), ...inPieces, response], (failure) =>
    call?.end(failure === undefined || failure === null ? "whole" : "cut")
  )
}

/** Twice as many as a pipeline of all steps has. */
const mostListeners = 32

const causes: Readonly<Record<string, string>> = {
  ECONNREFUSED: "it refuses connections",
  ECONNRESET: "it closed the connection without an answer",
  EPIPE: "it closed the connection without an answer",
  ENOTFOUND: "its name is unknown",
  EAI_AGAIN: "its name cannot be looked up at the moment",
  ETIMEDOUT: "it does not answer",
  EHOSTUNREACH: "no network route leads to it",
  ENETUNREACH: "no network route leads to it",
  EPROTO: "it does not speak TLS",
  ERR_SSL_WRONG_VERSION_NUMBER: "it does not speak TLS"
}

/** A connection that closes without an error was closed before the answer. */
const causeOf = (failure: NodeJS.ErrnoException | undefined): string => {
  if (failure instanceof EgressFailed) return failure.message.replace(/^The/, "the").replace(/\.$/, "")
  const code = failure === undefined ? "ECONNRESET" : (failure.code ?? "")
  const known = causes[code]
  if (known !== undefined) return known
  if (code.startsWith("HPE_")) return "it does not speak HTTP"
  return /CERT|SIGNATURE|ERR_TLS/.test(code)
    ? `its TLS certificate is not accepted (${code}; NODE_EXTRA_CA_CERTS names a file with further authorities)`
    : `the connection failed${code === "" ? "" : ` (${code})`}`
}

/**
 * Asks the gateway and streams its answer back. When the agent has gone, the request to the gateway ends at once. `pieceMs` is the longest time between two
 * pieces of a request.
 */
export const relay = (exchange: Exchange, pools: GuardedAgents, pieceMs: number): void => {
  const { loan, request, response, target } = exchange
  const call = tapOf(request.method, target, loan, exchange.leave)
  call?.hear(request, response)
  const secure = loan.gateway.protocol === "https:"
  const { hostname, port } = urlToHttpOptions(loan.gateway)
  const options = { hostname, port, path: target, method: request.method, headers: requestHeaders(exchange) }
  const upstream = secure
    ? https.request({ ...options, agent: pools.https })
    : http.request({ ...options, agent: pools.http })
  upstream.once("socket", (socket) => socket.unref())
  limitConnecting(upstream, () =>
    upstream.destroy(Object.assign(new Error("connecting took too long"), { code: "ETIMEDOUT" }))
  )
  upstream.once("response", (answer) => passBack(exchange, answer, upstream, call))
  let failure: NodeJS.ErrnoException | undefined
  upstream.on("error", (error) => {
    failure ??= error
  })
  upstream.once("close", () => {
    // The rest of the request has nowhere to go. It has to be read before the agent takes an answer.
    request.unpipe().resume()
    if (response.headersSent) return
    if (response.destroyed) return call?.end("cut")
    // A status of 400 stops the agent: it would repeat a request to a failing gateway, and a refused address stays refused.
    const refused = failure instanceof AddressRefused ? failure : undefined
    const message = refused
      ? refused.message
      : `The gateway at ${loan.gateway.origin} could not be reached: ${causeOf(failure)}. Check the gateway and the connection's base_url.`
    const status = refused ? 400 : 502
    call?.replaced(status, message)
    refuse(response, status, refused ? "gateway_refused" : "gateway_unreachable", message)
  })
  response.once("close", () => upstream.destroy())
  endIdle(request, pieceMs)
  request.pipe(blankToken(loan)).pipe(upstream)
}

/** Ends a request of which nothing comes any more, although the gateway would take it. */
const endIdle = (request: IncomingMessage, pieceMs: number): void => {
  let seen = -1
  const timer = setInterval(() => {
    const { bytesRead } = request.socket
    if (bytesRead === seen && !request.complete && !request.isPaused()) request.socket.destroy()
    seen = request.isPaused() ? -1 : bytesRead
  }, pieceMs).unref()
  const stop = () => clearInterval(timer)
  request.once("end", stop).once("close", stop)
}
