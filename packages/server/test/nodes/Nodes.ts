import { mkdtempSync, rmSync } from "node:fs"
import { connect, createServer, type Socket } from "node:net"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { PasswordCost } from "@reins/core/identity/Passwords"
import { type Config, load } from "@reins/server/Config"
import * as Installation from "@reins/server/cli/operator/Installation"
import { serverLayer } from "@reins/server/cli/operator/Serve"
import { steadyPort } from "@reins/testing/process/Ports"
import { migratedPostgresDatabase } from "@reins/testing/store/Databases"
import { Effect, Exit, Layer, Redacted, Scope } from "effect"
import { Caller, quiet } from "../Service.js"

/** The way by which other nodes reach one, with what is on it. */
export interface Way {
  readonly port: number
  /** The connections that are open now, and those that ever were. */
  readonly connections: () => { readonly open: number; readonly ever: number }
  /** Breaks the open connections. */
  readonly cut: () => void
  /** Takes nothing more from the node, so that whoever sends something to another one is not read. */
  readonly hold: () => void
}

const wayTo = (port: number) =>
  Effect.acquireRelease(
    Effect.promise(async () => {
      const open = new Set<Socket>()
      let ever = 0
      const server = createServer((from) => {
        const to = connect(port, "127.0.0.1")
        open.add(to)
        ever++
        from.pipe(to).pipe(from)
        for (const [own, other] of [
          [from, to],
          [to, from]
        ] as const) {
          own.on("error", () => other.destroy())
          own.once("close", () => {
            other.destroy()
            open.delete(to)
          })
        }
      })
      await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve))
      const address = server.address()
      const way: Way = {
        port: typeof address === "object" && address !== null ? address.port : 0,
        connections: () => ({ open: open.size, ever }),
        cut: () => {
          for (const socket of open) socket.destroy()
        },
        hold: () => {
          for (const socket of open) socket.unpipe().pause()
        }
      }
      return { way, server }
    }),
    ({ server, way }) =>
      Effect.sync(() => {
        way.cut()
        server.close()
      })
  ).pipe(Effect.map(({ way }) => way))

const build = Effect.fnUntraced(function* (
  name: string,
  settings: Readonly<Record<string, string>>,
  { directory, url }: { readonly directory: string; readonly url: string }
) {
  const port = yield* Effect.promise(steadyPort)
  const way = yield* wayTo(port)
  const config = yield* load(
    {
      port: String(port),
      data_dir: join(directory, name),
      key_file: join(directory, "keyring.json"),
      database_url: url,
      smtp_url: "smtp://127.0.0.1:9",
      node: name,
      node_address: `http://127.0.0.1:${way.port}`,
      // Nodes with data directories of their own need executors with paths of their own.
      executor: "bubblewrap",
      rate_limit: "off",
      prewarm: "off",
      ...settings
    },
    {},
    directory
  )
  const scope = yield* Effect.acquireRelease(Scope.make(), (open) => Scope.close(open, Exit.void))
  const context = yield* Scope.extend(Layer.build(serviceOf(config)), scope)
  /** Runs an effect with the services of the node. */
  const on = <A, E>(effect: Effect.Effect<A, E, Services>) => Effect.provide(effect, context)
  return { name, url: Redacted.make(url), way, on, stop: Scope.close(scope, Exit.void) }
})

const serviceOf = (config: Config) =>
  Caller.layer.pipe(
    Layer.provideMerge(serverLayer(config, { notice: 0 })),
    Layer.provideMerge(Installation.workingLayer(config)),
    Layer.provide([quiet, PasswordCost.layerTest])
  )

type Services = Layer.Layer.Success<ReturnType<typeof serviceOf>>

/** A node in this process. */
export type TestNode = Effect.Effect.Success<ReturnType<typeof build>>

/** Starts nodes of one installation in this process, without workers, until the scope closes. */
export const nodesOf = Effect.fnUntraced(function* <const Names extends readonly [string, ...Array<string>]>(
  names: Names,
  settings: Readonly<Record<string, string>> = {}
) {
  const directory = yield* Effect.acquireRelease(
    Effect.sync(() => mkdtempSync(join(tmpdir(), "reins-nodes-"))),
    (path) => Effect.sync(() => rmSync(path, { recursive: true, force: true }))
  )
  const url = Redacted.value(yield* migratedPostgresDatabase)
  const nodes = yield* Effect.forEach(names, (name) => build(name, settings, { directory, url }))
  // Boundary: the list has a node for each name.
  return nodes as { [K in keyof Names]: TestNode }
})
