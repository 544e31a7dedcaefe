import http, { type IncomingMessage, type OutgoingHttpHeaders, type ServerResponse } from "node:http"
import type { Socket } from "node:net"
import { type Duplex, pipeline } from "node:stream"
import { urlToHttpOptions } from "node:url"
import * as Token from "@reins/base/secrets/Token"
import type { Redacted } from "effect"
import { hostOf, portOf } from "./Address.js"
import { AddressRefused } from "./AddressRefused.js"
import { connectionHeaders } from "./ConnectionHeaders.js"
import type { Connect } from "./Dial.js"
import { EgressFailed } from "./EgressTunnel.js"

/** The leave of one program to connect to some hosts through the proxy. */
export interface Leave {
  readonly id: string
  readonly token: Redacted.Redacted
  /** Undefined for a place that the program may connect to, else the sentence that refuses it. */
  readonly refusal: (host: string, port: number) => string | undefined
  readonly connect: Connect
  /** For requests without TLS, which go to the hosts only that the operator allows. */
  readonly agent: http.Agent
  /** Its connections, which end with it. */
  readonly open: Set<Duplex>
  /** Hears why a connection was refused. */
  readonly refused: (message: string) => void
}

/** The leaves that have not ended, by id. */
export type Leaves = ReadonlyMap<string, Leave>

/** More than any package manager or git opens at once. */
const maxOpen = 256

const find = (leaves: Leaves, { headers }: IncomingMessage): Leave | undefined => {
  const given = /^Basic +([\w+/=]+)$/i.exec(headers["proxy-authorization"] ?? "")?.[1] ?? ""
  const [id = "", token = ""] = Buffer.from(given, "base64").toString("utf8").split(":")
  const leave = leaves.get(id)
  return leave !== undefined && Token.matches(token, leave.token) ? leave : undefined
}

interface Refusal {
  readonly status: number
  readonly message: string
}

const noLeave: Refusal = { status: 407, message: "The proxy credentials are not valid, or their time is over." }
const malformed: Refusal = { status: 400, message: "The address cannot be read." }
const crowded: Refusal = { status: 429, message: "There are too many connections already." }

/** The reason to refuse a request for a place, and undefined where there is none. */
const refusalOf = (leave: Leave, host: string, port: number): Refusal | undefined => {
  if (leave.open.size >= maxOpen) return crowded
  const message = leave.refusal(host, port)
  if (message === undefined) return undefined
  leave.refused(message)
  return { status: 403, message }
}

const failureOf = (leave: Leave, error: NodeJS.ErrnoException): Refusal => {
  if (error instanceof EgressFailed) return { status: 502, message: error.message }
  if (!(error instanceof AddressRefused)) {
    return { status: 502, message: `The host cannot be reached${error.code === undefined ? "" : ` (${error.code})`}.` }
  }
  leave.refused(error.message)
  return { status: 403, message: error.message }
}

const hold = (leave: Leave, stream: Duplex): void => {
  if (leave.open.has(stream)) return
  leave.open.add(stream)
  stream.once("close", () => leave.open.delete(stream))
}

const headersOf = ({ message, status }: Refusal): OutgoingHttpHeaders => ({
  "content-type": "text/plain; charset=utf-8",
  "content-length": Buffer.byteLength(message) + 1,
  connection: "close",
  ...(status === 407 && { "proxy-authenticate": 'Basic realm="reins"' })
})

const refuseTunnel = (client: Duplex, refusal: Refusal): void => {
  const head = Object.entries(headersOf(refusal)).map(([name, value]) => `${name}: ${value}`)
  client.end(
    [`HTTP/1.1 ${refusal.status} ${http.STATUS_CODES[refusal.status]}`, ...head, "", `${refusal.message}\n`].join(
      "\r\n"
    )
  )
}

/** The host and port of a CONNECT request, the host as a URL has it, so that each place has one spelling. */
const placeOf = (authority: string): { readonly host: string; readonly port: number } | undefined => {
  const port = Number(/:(\d{1,5})$/.exec(authority)?.[1])
  if (!/^[^/?#@\s\\]+$/.test(authority) || !(port > 0) || !URL.canParse(`http://${authority}`)) return undefined
  return { host: hostOf(new URL(`http://${authority}`)), port }
}

const tunnel = (leaves: Leaves) => (request: IncomingMessage, client: Duplex, head: Buffer) => {
  client.on("error", () => client.destroy())
  const leave = find(leaves, request)
  if (leave === undefined) return refuseTunnel(client, noLeave)
  const place = placeOf(request.url ?? "")
  if (place === undefined) return refuseTunnel(client, malformed)
  const refusal = refusalOf(leave, place.host, place.port)
  if (refusal !== undefined) return refuseTunnel(client, refusal)
  hold(leave, client)
  const gone = new AbortController()
  let reached: Socket | undefined
  client.once("close", () => {
    gone.abort()
    reached?.destroy()
  })
  leave.connect(place.host, place.port, gone.signal).then(
    (upstream) => {
      if (client.destroyed) return void upstream.destroy()
      reached = upstream
      hold(leave, upstream)
      join(client, upstream, head)
    },
    (error: NodeJS.ErrnoException) => refuseTunnel(client, failureOf(leave, error))
  )
}

const join = (client: Duplex, upstream: Socket, head: Buffer): void => {
  client.write("HTTP/1.1 200 Connection established\r\n\r\n")
  if (head.length > 0) upstream.write(head)
  // Either side that breaks off ends the other.
  pipeline(client, upstream, client, () => {
    client.destroy()
    upstream.destroy()
  })
}

const passedOn = ({ headersDistinct }: IncomingMessage): OutgoingHttpHeaders =>
  Object.fromEntries(Object.entries(headersDistinct).filter(([name]) => !connectionHeaders.has(name)))

const refuseRequest = (response: ServerResponse, refusal: Refusal): void => {
  if (response.headersSent) return void response.destroy()
  response.writeHead(refusal.status, headersOf(refusal)).end(`${refusal.message}\n`)
}

/** Passes a request without TLS on, which a client sends with the whole URL. */
const forward = (leaves: Leaves) => (request: IncomingMessage, response: ServerResponse) => {
  const leave = find(leaves, request)
  if (leave === undefined) return refuseRequest(response, noLeave)
  const url = URL.canParse(request.url ?? "") ? new URL(request.url ?? "") : undefined
  if (url?.protocol !== "http:") return refuseRequest(response, malformed)
  const refusal = refusalOf(leave, hostOf(url), portOf(url))
  if (refusal !== undefined) return refuseRequest(response, refusal)
  hold(leave, request.socket)
  const headers = { ...passedOn(request), host: url.host }
  const options = { ...urlToHttpOptions(url), auth: null, agent: leave.agent, method: request.method, headers }
  const asked = http.request(options, (answer) => {
    response.writeHead(answer.statusCode ?? 502, passedOn(answer))
    pipeline(answer, response, () => asked.destroy())
  })
  asked.on("error", (error) => refuseRequest(response, failureOf(leave, error)))
  response.once("close", () => asked.destroy())
  request.pipe(asked)
}

/**
 * A proxy for those who have a leave, which they show as name and password. It opens tunnels (CONNECT), and passes on requests without TLS.
 * Every connection is checked against the leave, and then by the guard.
 */
export const connectProxy = (leaves: Leaves): http.Server =>
  http
    // A body may take longer than any fixed time. Only the headers have to arrive soon.
    .createServer({ requestTimeout: 0, headersTimeout: 10_000, connectionsCheckingInterval: 5_000 }, forward(leaves))
    .on("connect", tunnel(leaves))
    .on("upgrade", (_request, socket) => socket.destroy())
