import { connect, type Socket } from "node:net"
import type { Passage } from "@reins/machine/outbound/WayOut"
import { Effect, Redacted, type Scope } from "effect"

/** The header by which a client shows the name and the password of a proxy's URL. */
export const authorization = ({ url }: Pick<Passage, "url">): string => {
  const { password, username } = new URL(Redacted.value(url))
  return `Proxy-Authorization: Basic ${Buffer.from(`${username}:${password}`).toString("base64")}\r\n`
}

/** The words of a proxy, and the connection to it. */
export interface Said {
  readonly status: number
  readonly text: string
  readonly socket: Socket
}

/** Sends the head of a request to a proxy, byte for byte, and gives the first thing that comes back. */
export const say = (port: number, head: string): Effect.Effect<Said, never, Scope.Scope> =>
  Effect.acquireRelease(
    Effect.sync(() => connect(port, "127.0.0.1")),
    (socket) => Effect.sync(() => socket.destroy())
  ).pipe(
    Effect.flatMap((socket) =>
      Effect.async<Said>((resume) => {
        const done = (text: string) =>
          resume(Effect.succeed({ status: Number(/^HTTP\/1\.1 (\d{3})/.exec(text)?.[1] ?? 0), text, socket }))
        socket.once("data", (data) => done(data.toString()))
        socket.once("close", () => done(""))
        socket.once("error", () => done(""))
        socket.write(`${head}\r\n`)
      })
    )
  )

/** Asks a proxy for a tunnel. */
export const tunnelTo = (passage: Pick<Passage, "port" | "url">, authority: string) =>
  say(passage.port, `CONNECT ${authority} HTTP/1.1\r\nHost: ${authority}\r\n${authorization(passage)}`)

/** Asks a proxy for a page without TLS. */
export const pageAt = (passage: Pick<Passage, "port" | "url">, url: string) =>
  say(passage.port, `GET ${url} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n${authorization(passage)}`)
