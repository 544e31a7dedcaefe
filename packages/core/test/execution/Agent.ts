import { execFileSync } from "node:child_process"
import { cpSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { assert } from "@effect/vitest"
import { Boot } from "@reins/base/base/Boot"
import { CoreConfig } from "@reins/base/base/CoreConfig"
import type { Event } from "@reins/base/domain/Event"
import type { ConnectionId, SessionId, UploadId, WorkspaceId } from "@reins/base/domain/Ids"
import type { Principal } from "@reins/base/domain/Principal"
import type { ReinsError } from "@reins/base/domain/ReinsError"
import type { RequestInvalid } from "@reins/base/domain/RequestInvalid"
import * as Core from "@reins/core/Core"
import { Connections } from "@reins/core/connections/Connections"
import * as Embedded from "@reins/core/Embedded"
import { EventFeed } from "@reins/core/events/EventFeed"
import { PasswordCost } from "@reins/core/identity/Passwords"
import { Messages } from "@reins/core/sessions/Messages"
import type { MessageSend } from "@reins/core/sessions/messages/ConversationApi"
import { type Turn, turnStates } from "@reins/core/sessions/rows/Turn"
import { Turns } from "@reins/core/sessions/Turns"
import type { Bell } from "@reins/core/store/Bell"
import type { Database } from "@reins/core/store/Database"
import type { Bench } from "@reins/machine/bench/Bench"
import { agentPlaces } from "@reins/machine/bench/SessionPaths"
import { Manifests } from "@reins/machine/harness/Manifests"
import { testExecutor } from "@reins/testing/executor/TestExecutor"
import { cacheWithSmallAgent, smallAgents } from "@reins/testing/harness/SmallAgent"
import { onFreshDatabase } from "@reins/testing/store/FreshDatabase"
import { Chunk, Effect, Layer, Logger, LogLevel, Schedule, Stream } from "effect"
import { type Gateway, script, startGateway } from "reins-example-scripted-gateway/gateway.mjs"

export const temporaryDirectory = Effect.acquireRelease(
  Effect.sync(() => mkdtempSync(join(tmpdir(), "reins-test-"))),
  (path) => Effect.sync(() => rmSync(path, { recursive: true, force: true }))
)

/** Where the agents are installed, shared by all runs. */
const cacheDir = process.env["REINS_CACHE_DIR"] === undefined ? {} : { cacheDir: process.env["REINS_CACHE_DIR"] }

const configOf = (dataDir: string, config: Partial<CoreConfig["Type"]>) => ({
  dataDir,
  executors: [testExecutor] as const,
  allowLocalRepositories: true,
  allowPrivateHosts: ["127.0.0.1"],
  maxRunningTurns: 2,
  turnDeadlineMs: 120_000,
  agentFreeMemory: 0,
  prewarm: false,
  ...cacheDir,
  ...config
})

const cheap = Layer.merge(Logger.minimumLogLevel(LogLevel.Warning), PasswordCost.layerTest)

/** A whole installation on a data directory, working its own jobs, as an embedding program has it. */
export const installation = (
  dataDir: string,
  config: Partial<CoreConfig["Type"]> = {},
  manifests: typeof Manifests.layer = Manifests.layer,
  bench?: Layer.Layer<Bench>
) =>
  onFreshDatabase(
    dataDir,
    Layer.provide(Embedded.layer(configOf(dataDir, config), { manifests, ...(bench && { bench }) }), cheap)
  )

/** The same on any database. */
const installationOn = (
  database: Layer.Layer<Database | Bell>,
  dataDir: string,
  config: Partial<CoreConfig["Type"]>,
  manifests: typeof Manifests.layer
) =>
  Core.worker.pipe(
    Layer.provideMerge(Core.layerWith({ manifests })),
    Layer.provideMerge(Layer.mergeAll(CoreConfig.layer(configOf(dataDir, config)), database, Boot.layerSingle)),
    Layer.provide(cheap)
  )

/** The workspace of a session as its agent finds it on the executor of the tests. */
export const seenBy = (sessionId: SessionId, workTree: string): string =>
  testExecutor === "bubblewrap" ? agentPlaces(sessionId).workspaceDir : workTree

/** An emulated machine is some ten times slower. */
const patience = process.env["REINS_TEST_EMULATED"] === undefined ? "90 seconds" : "15 minutes"

export const isTurnEnd = (event: Event): boolean =>
  /^turn\.(?:succeeded|failed|cancelled|interrupted)$/.test(event.type)

export const say = (text: string): string => script("Say it.", { say: text })

/** Sends a message of the owner and waits for its turn, which has to succeed. */
export const sayIn = Effect.fnUntraced(function* (sessionId: string, text: string) {
  const { principal } = yield* Embedded.owner
  const { turn_id: id } = yield* (yield* Messages).send(principal, sessionId, { content: say(text) })
  const look = Effect.flatMap(Turns, (turns) => turns.get(principal, id ?? ""))
  yield* Effect.repeat(look, {
    until: ({ state }) => turnStates.isTerminal(state),
    schedule: Schedule.spaced("20 millis")
  })
  const turn = yield* look
  assert.strictEqual(turn.state, "succeeded", JSON.stringify(turn))
})

/** The secret that must appear nowhere. */
export const canary = "canary-Zq8rT2vX5nB7mK1p"

/** Runs a test in an installation of its own, with an account and a connection of the kind to a scripted gateway. */
export const withAgent = <A, E, R>(
  kind: "alpha_gateway" | "beta",
  body: (given: {
    readonly directory: string
    readonly dataDir: string
    readonly gateway: Gateway
    readonly principal: Principal
    readonly workspaceId: WorkspaceId
    readonly connectionId: ConnectionId
    /** The events of a session from the first one to the first that is wanted. */
    readonly eventsUntil: (sessionId: string, wanted: (event: Event) => boolean) => Effect.Effect<ReadonlyArray<Event>>
    /** Sends a message and gives back its turn once that has ended. */
    readonly runTurn: (
      sessionId: string,
      content: MessageSend["content"],
      attachments?: ReadonlyArray<UploadId>
    ) => Effect.Effect<Turn, ReinsError | RequestInvalid>
  }) => Effect.Effect<A, E, R>,
  config: Partial<CoreConfig["Type"]> = {},
  /** The small agent, unless it is the real ones that a test is about (`Manifests.layer`). */
  manifests: typeof Manifests.layer = smallAgents,
  /** Where everything is kept instead of in the SQLite database of an embedding program. */
  database?: Layer.Layer<Database | Bell>,
  /** The machine of the sessions instead of this one. */
  bench?: Layer.Layer<Bench>
) =>
  Effect.gen(function* () {
    const directory = yield* temporaryDirectory
    const dataDir = join(directory, "data")
    const gateway = yield* Effect.acquireRelease(
      Effect.promise(() => startGateway({ apiKey: canary })),
      (open) => Effect.promise(() => open.close())
    )
    const inside = Effect.gen(function* () {
      const { principal, workspaceId } = yield* Embedded.owner
      const connections = yield* Connections
      const connection = yield* connections.create(principal, workspaceId, {
        kind,
        label: "scripted",
        credential: { base_url: gateway.url, api_key: canary }
      })
      yield* connections.update(principal, connection.id, { preferred_model: "scripted-1" })
      const feed = yield* EventFeed
      const messages = yield* Messages
      const turns = yield* Turns
      const eventsUntil = (sessionId: string, wanted: (event: Event) => boolean) =>
        feed
          .stream(principal, sessionId, { after: 0 })
          .pipe(
            Stream.takeUntil(wanted),
            Stream.runCollect,
            Effect.map(Chunk.toReadonlyArray),
            Effect.timeout(patience),
            Effect.orDie
          )
      const runTurn = Effect.fnUntraced(function* (
        sessionId: string,
        content: MessageSend["content"],
        attachments: ReadonlyArray<UploadId> = []
      ) {
        const { turn_id: id } = yield* messages.send(principal, sessionId, { content, attachments })
        yield* eventsUntil(sessionId, (event) => event.turn_id === id && isTurnEnd(event))
        return yield* turns.get(principal, id ?? "")
      })
      return yield* body({
        directory,
        dataDir,
        gateway,
        principal,
        workspaceId,
        connectionId: connection.id,
        eventsUntil,
        runTurn
      })
    })
    return yield* database === undefined
      ? Effect.provide(inside, installation(dataDir, config, manifests, bench))
      : Effect.provide(inside, installationOn(database, dataDir, config, manifests))
  })

/** As `withAgent` with the small agent, in the sandbox. */
export const withSandboxedAgent = <A, E, R>(
  body: Parameters<typeof withAgent<A, E, R>>[1],
  config: Partial<CoreConfig["Type"]> = {}
) =>
  Effect.flatMap(temporaryDirectory, (directory) =>
    withAgent(
      "alpha_gateway",
      body,
      { executors: ["bubblewrap"], cacheDir: cacheWithSmallAgent(directory), ...config },
      Manifests.layer
    )
  )

/** Runs git as somebody. */
export const git = (cwd: string, ...args: ReadonlyArray<string>) =>
  execFileSync(
    "git",
    ["-c", "user.name=Test", "-c", "user.email=test@localhost", "-c", "init.defaultBranch=main", ...args],
    { cwd, encoding: "utf8" }
  ).trim()

let original: string | undefined

/** A bare repository with one commit: a small project whose test fails. This process makes it once, because git takes ten processes for it. */
export const makeRemote = (directory: string) => {
  if (original === undefined) {
    const root = mkdtempSync(join(tmpdir(), "reins-test-"))
    process.once("exit", () => rmSync(root, { recursive: true, force: true }))
    makeOriginal(root)
    original = root
  }
  const remote = join(directory, "remote.git")
  cpSync(join(original, "remote.git"), remote, { recursive: true })
  return { url: remote, git: (...args: ReadonlyArray<string>) => git(remote, ...args) }
}

const makeOriginal = (root: string): void => {
  const source = join(root, "source")
  mkdirSync(source, { recursive: true })
  writeFileSync(join(source, "sum.js"), "export const sum = (a, b) => a - b\n")
  writeFileSync(
    join(source, "sum.test.js"),
    'import { sum } from "./sum.js"\nif (sum(2, 2) !== 4) throw new Error("2 + 2 is not 4")\n'
  )
  writeFileSync(join(source, "package.json"), '{ "name": "sum", "type": "module" }\n')
  git(source, "init", "--quiet")
  git(source, "add", ".")
  git(source, "commit", "--quiet", "-m", "A sum that is wrong")
  git(root, "clone", "--quiet", "--template=", "--bare", source, "remote.git")
  git(join(root, "remote.git"), "config", "receive.autogc", "false")
}
