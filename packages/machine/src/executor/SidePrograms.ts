import { randomBytes } from "node:crypto"
import { join } from "node:path"
import { Boot } from "@reins/base/base/Boot"
import { CoreConfig } from "@reins/base/base/CoreConfig"
import { fn } from "@reins/base/base/Traced"
import type { NetworkAccess } from "@reins/base/domain/NetworkAccess"
import { Context, Effect, Layer, type Redacted, type Scope, type Stream } from "effect"
import { removeTree } from "../files/RemoveTree.js"
import { destinationsOf } from "../outbound/NetworkRules.js"
import { proxyVariables, WayOut } from "../outbound/WayOut.js"
import { type AgentExit, type Executor, ExecutorError } from "./Executor.js"
import { Executors } from "./Executors.js"

/** A program of a project that is no agent. */
export interface SideProgram {
  /** The program and its arguments, without a shell. */
  readonly argv: ReadonlyArray<string>
  readonly environment: Readonly<Record<string, string | Redacted.Redacted>>
  /** The hosts that it may connect to; none where it is absent. */
  readonly network: NetworkAccess | undefined
}

/** A program that runs. It speaks in lines. */
export interface RunningProgram {
  readonly lines: Stream.Stream<string, ExecutorError>
  readonly write: (line: string) => Effect.Effect<void, ExecutorError>
  readonly exit: Effect.Effect<AgentExit>
  /** The last line that it has written to stderr. The line may hold secrets. */
  readonly lastWords: Effect.Effect<string>
}

/** A shell waits for a line, which comes once the proxy can be reached, and becomes the program. */
const whenOpen = 'read -r line && exec "$@"'

const noSandbox = new ExecutorError({
  kind: "unavailable",
  message:
    "Programs of projects run in a sandbox of their own, and this server has none. Let the operator install bubblewrap, or Podman or Docker."
})

const rootOf = (dataDir: string, bootId: string): string => join(dataDir, "programs", bootId)

/**
 * Runs programs of projects, each in a sandbox of its own. Each has its own home, secrets and list of hosts, and nothing of any
 * session. Without a sandbox no such program is run.
 */
export class SidePrograms extends Context.Tag("@reins/core/executor/SidePrograms")<
  SidePrograms,
  {
    /** Starts a program. Closing the scope leaves no process of it, and nothing of its home. */
    readonly open: (program: SideProgram) => Effect.Effect<RunningProgram, ExecutorError, Scope.Scope>
    /** Removes the homes that programs of ended boots have left. */
    readonly sweep: (bootIds: ReadonlyArray<string>) => Effect.Effect<void>
  }
>() {
  static readonly layer = Layer.effect(
    SidePrograms,
    Effect.gen(function* () {
      const { dataDir } = yield* CoreConfig
      const { bootId } = yield* Boot
      const executors = yield* Executors
      const wayOut = yield* WayOut

      /** The first executor, in the order of the catalog, that keeps a program in and away from the network. */
      const sandbox = Effect.gen(function* () {
        for (const name of executors.names) {
          const found = yield* Effect.option(executors.get(name))
          if (found._tag === "Some" && isSandbox(found.value)) return found.value
        }
        return yield* noSandbox
      })

      const home = Effect.acquireRelease(
        Effect.sync(() => join(rootOf(dataDir, bootId), randomBytes(8).toString("hex"))),
        (path) => Effect.promise(() => removeTree(path).catch(() => undefined))
      )

      return SidePrograms.of({
        open: fn("SidePrograms.open")(function* ({ argv, environment, network }) {
          const executor = yield* sandbox
          const root = yield* home
          const destinations = network === undefined ? undefined : destinationsOf(network)
          const passage = destinations === undefined ? undefined : yield* wayOut.open(destinations)
          const process = yield* executor.spawn({
            leaseId: `program-${randomBytes(12).toString("hex")}`,
            executable: "/bin/sh",
            args: ["-c", whenOpen, "sh", ...argv],
            workspaceDir: join(root, "work"),
            homeDir: join(root, "home"),
            ...(executor.ownPaths === true && { seenAt: { workspaceDir: "/program/work", homeDir: "/program/home" } }),
            tmpDir: join(root, "home", "tmp"),
            programDirs: [],
            relayPorts: passage === undefined ? [] : [passage.port],
            environment: { ...environment, ...(passage && proxyVariables(passage)) },
            stop: { stdin_eof_ms: 1000, sigterm_ms: 1000 }
          })
          // One that has ended by now tells why by its exit.
          yield* Effect.ignore(process.write("go"))
          const { exit, lines, write } = process
          const lastWords = Effect.map(process.stderrTail, (text) => text.trim().split("\n").at(-1) ?? "")
          return { exit, lastWords, lines, write }
        }),
        sweep: (bootIds) =>
          Effect.forEach(
            bootIds,
            (id) => Effect.promise(() => removeTree(rootOf(dataDir, id)).catch(() => undefined)),
            { discard: true }
          )
      })
    })
  )
}

const isSandbox = ({ isolation }: Executor): boolean =>
  isolation.level === "sandbox" && isolation.network === "restricted"
