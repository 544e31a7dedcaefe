import { connect } from "node:net"
import { Effect } from "effect"

/** Ways to write a path that a router or a proxy may take for the path itself. */
export const otherSpellings = (path: string): ReadonlyArray<string> => {
  const name = path.slice(1)
  const first = name.charAt(0)
  const hex = first.charCodeAt(0).toString(16)
  return [
    `${path}/`,
    `${path}//`,
    `/${path}`,
    `//${path}`,
    `${path};x`,
    `${path};`,
    `/;x${path}`,
    `${path}%3Bx`,
    `${path}%2F`,
    `${path}%00`,
    `${path}%20`,
    `${path}.`,
    `${path}/.`,
    `${path}/..${path}`,
    `/.${path}`,
    `/%2e${path}`,
    `/x/..${path}`,
    `/x/%2e%2e${path}`,
    `/%${hex}${name.slice(1)}`,
    `/%${hex.toUpperCase()}${name.slice(1)}`,
    `/%25${hex}${name.slice(1)}`,
    `/${first.toUpperCase()}${name.slice(1)}`,
    path.toUpperCase(),
    `\\${name}`,
    `/\\${name}`,
    `${path}\\`
  ]
}

/** Asks for a path as it is written, which no client of HTTP does, and gives the whole answer. */
export const askRaw = (port: number, path: string, method = "GET"): Effect.Effect<string> =>
  Effect.async((resume) => {
    let answer = ""
    const socket = connect(port, "127.0.0.1", () =>
      socket.write(
        `${method} ${path} HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 0\r\nIdempotency-Key: k\r\nConnection: close\r\n\r\n`
      )
    )
    socket.setEncoding("utf8").on("data", (chunk) => {
      answer += chunk
    })
    socket.once("close", () => resume(Effect.succeed(answer)))
    socket.once("error", () => {})
    return Effect.sync(() => socket.destroy())
  })

/** The status of an answer. */
export const statusOf = (answer: string): number => Number(/^HTTP\/1\.1 (\d{3})/.exec(answer)?.[1] ?? 0)
