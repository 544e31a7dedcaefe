import http from "node:http"
import https from "node:https"
import type { Socket } from "node:net"
import type { Egress } from "@reins/base/base/Egress"
import { Redacted } from "effect"
import { hostOf, portOf } from "./Address.js"

/** The proxy was not reached, or does not connect. `message` is for the operator and holds no credential. */
export class EgressFailed extends Error {
  readonly code = "ERR_EGRESS_PROXY"
  constructor(
    message: string,
    /** The status of the proxy's refusal; undefined when it gave none. */
    readonly status?: number
  ) {
    super(message)
  }

  /** True for an answer after which another address of the host may do. */
  get mayTryAnother(): boolean {
    return this.status !== undefined && this.status >= 500
  }
}

const placeOf = (host: string, port: number): string => `${host.includes(":") ? `[${host}]` : host}:${port}`

const authorizationOf = ({ password, username }: URL): Record<string, string> => {
  if (username === "" && password === "") return {}
  const login = Buffer.from(`${decodeURIComponent(username)}:${decodeURIComponent(password)}`)
  return { "proxy-authorization": `Basic ${login.toString("base64")}` }
}

const refusalOf = (proxy: URL, place: string, status: number): EgressFailed => {
  const who = `The proxy ${proxy.host} (REINS_EGRESS_PROXY)`
  return status === 407
    ? new EgressFailed(`${who} does not accept its name and password (407). Correct them in the setting.`, status)
    : new EgressFailed(
        `${who} does not connect to ${place} (${status}). Allow the host in the proxy, or name it in REINS_EGRESS_DIRECT.`,
        status
      )
}

/** Asks the proxy to connect to a place. The socket is the connection to that place. It fails with `EgressFailed`. */
export const tunnelTo = (egress: Egress, host: string, port: number, signal: AbortSignal): Promise<Socket> =>
  new Promise((resolve, reject) => {
    const proxy = new URL(Redacted.value(egress.proxy))
    const place = placeOf(host, port)
    const { request } = proxy.protocol === "https:" ? https : http
    const asked = request({
      agent: false,
      host: hostOf(proxy),
      port: portOf(proxy),
      method: "CONNECT",
      path: place,
      headers: { host: place, ...authorizationOf(proxy) }
    })
    const giveUp = () => asked.destroy(new EgressFailed(`The proxy ${proxy.host} (REINS_EGRESS_PROXY) took too long.`))
    signal.addEventListener("abort", giveUp)
    asked.once("close", () => signal.removeEventListener("abort", giveUp))
    asked.once("connect", ({ statusCode = 0 }, socket, head) => {
      signal.removeEventListener("abort", giveUp)
      if (statusCode < 200 || statusCode > 299) {
        socket.destroy()
        return reject(refusalOf(proxy, place, statusCode))
      }
      if (head.length > 0) socket.unshift(head)
      resolve(socket)
    })
    asked.once("error", (error: NodeJS.ErrnoException) =>
      reject(
        error instanceof EgressFailed
          ? error
          : new EgressFailed(
              `The proxy ${proxy.host} (REINS_EGRESS_PROXY) cannot be reached${error.code === undefined ? "" : ` (${error.code})`}.`
            )
      )
    )
    if (signal.aborted) giveUp()
    else asked.end()
  })
