import { spawnSync } from "node:child_process"
import { cpSync, existsSync, mkdtempSync, rmSync } from "node:fs"
import type { IncomingMessage, ServerResponse } from "node:http"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { Boot } from "@reins/base/base/Boot"
import { CoreConfig } from "@reins/base/base/CoreConfig"
import type { Event } from "@reins/base/domain/Event"
import { ChangesetId, newId, type SessionId } from "@reins/base/domain/Ids"
import type { ReinsError } from "@reins/base/domain/ReinsError"
import { systemActor } from "@reins/core/access/Access"
import * as Core from "@reins/core/Core"
import { ChangesetStore } from "@reins/core/changes/ChangesetStore"
import { Changesets } from "@reins/core/changes/Changesets"
import { Connections } from "@reins/core/connections/Connections"
import * as Embedded from "@reins/core/Embedded"
import { EventFeed } from "@reins/core/events/EventFeed"
import { PasswordCost } from "@reins/core/identity/Passwords"
import type { Operation } from "@reins/core/jobs/Job"
import { Jobs } from "@reins/core/jobs/Jobs"
import type { SessionInput } from "@reins/core/sessions/creation/SessionsApi"
import { Sessions } from "@reins/core/sessions/Sessions"
import { Bell, jobsTopic } from "@reins/core/store/Bell"
import type { Database } from "@reins/core/store/Database"
import { Journal } from "@reins/core/store/Journal"
import { WorkingTreeStore } from "@reins/core/worktrees/WorkingTreeStore"
import { WorkingTrees } from "@reins/core/worktrees/WorkingTrees"
import { Chunk, Effect, Layer, Logger, LogLevel, Stream } from "effect"
import { onLoopback } from "../connections/Loopback.js"
import { ForgeCi } from "../forge/ForgeCi.js"
import { dialects, type KnownForge } from "../forge/ForgeDialects.js"
import { ForgeServer } from "../forge/ForgeServer.js"
import { tellForge } from "../forge/ForgeSigns.js"
import { bareCommit, bareRemote, branchHead, plainGit, put } from "../git/Fixture.js"
import { gitHttpServer } from "../git/GitHttpServer.js"
import { within } from "../MachineTime.js"
import { pathsOf } from "../sessions/Paths.js"
import { ownerWithConnection } from "../sessions/Services.js"

export const token = "forge-token-canary-Zq8rT2vX"

const dataDirectory = Effect.acquireRelease(
  Effect.sync(() => mkdtempSync(join(tmpdir(), "reins-test-"))),
  (path) => Effect.sync(() => rmSync(path, { recursive: true, force: true }))
)

/** Every service on a database, with a worker for its jobs. */
export const installation = (database: Layer.Layer<Database | Bell>, config: Partial<CoreConfig["Type"]> = {}) =>
  Layer.unwrapScoped(
    Effect.map(dataDirectory, (dataDir) =>
      Core.worker.pipe(
        Layer.provideMerge(Core.layer),
        Layer.provideMerge(
          Layer.mergeAll(
            CoreConfig.layer({
              dataDir,
              executors: ["local"],
              prewarm: false,
              allowPrivateHosts: ["127.0.0.1"],
              ...config
            }),
            database,
            Boot.layerSingle
          )
        )
      )
    )
  ).pipe(Layer.provide([Logger.minimumLogLevel(LogLevel.Error), PasswordCost.layerTest]))

let original: string | undefined

/** A bare repository with one commit, made once for all tests of this process, which copy it. */
const bareOriginal = (): string => {
  if (original !== undefined) return original
  const root = mkdtempSync(join(tmpdir(), "reins-test-"))
  process.once("exit", () => rmSync(root, { recursive: true, force: true }))
  original = bareRemote(root, { "a.txt": "one\n", "b.txt": "two\n" })
  return original
}

const basicOf = (given: string): string => Buffer.from(`x-access-token:${given}`).toString("base64")

/** A bare repository that is served over http, by a forge when a kind of forge is given. */
export const remote = (kind: KnownForge = "github", host?: string) =>
  Effect.flatMap(dataDirectory, (root) => remoteIn(root, kind, (make) => onLoopback(make, host), host))

/** The same in a directory, which may have the repository already. */
export const remoteIn = (root: string, kind: KnownForge, listen: typeof onLoopback, host?: string) =>
  Effect.gen(function* () {
    const repository = kind === "gitlab" ? "acme/tools/shop" : "acme/shop"
    const bare = join(root, `${repository}.git`)
    if (!existsSync(bare)) cpSync(bareOriginal(), bare, { recursive: true })
    const git = (...args: ReadonlyArray<string>) => plainGit(bare, ...args)
    const headOf = (branch: string) => branchHead(bare, branch)
    const conflicting = new Map<string, boolean>()
    /** Forges are asked far more often than their branches change. */
    const conflicts = (head: string, base: string): boolean => {
      const commits = `${headOf(head)} ${headOf(base)}`
      const known = conflicting.get(commits)
      if (known !== undefined) return known
      const found = spawnSync("git", ["merge-tree", "--write-tree", head, base], { cwd: bare }).status === 1
      conflicting.set(commits, found)
      return found
    }
    const forge = new ForgeServer(dialects[kind](repository), token, {
      headOf,
      conflicts,
      merge: (head, base) => void git("update-ref", `refs/heads/${base}`, headOf(head) ?? ""),
      remove: (branch) => void git("update-ref", "-d", `refs/heads/${branch}`)
    })
    const gate = {
      ...{ closed: false, silent: false, cut: false, status: 0 },
      /** The token that git has to send, as for a private repository; empty for a public one. */
      token: "",
      asked: (_method: string, _url: string) => {}
    }
    const answer = (request: IncomingMessage, response: ServerResponse) => {
      if (tellForge(kind, request, response) || forge.handle(request, response)) return true
      gate.asked(request.method ?? "", request.url ?? "")
      if (forge.app?.letsGit(request.headers.authorization, request.url ?? "") === false) {
        response.writeHead(401, { "www-authenticate": 'Basic realm="git"' }).end()
        return true
      }
      if (gate.token !== "" && !request.headers.authorization?.endsWith(basicOf(gate.token))) {
        response.writeHead(401, { "www-authenticate": 'Basic realm="git"' }).end()
        return true
      }
      if (gate.silent) return true
      if (gate.cut) {
        request.socket.destroy()
        return true
      }
      if (gate.status !== 0) response.writeHead(gate.status).end()
      else if (gate.closed) response.writeHead(401, { "www-authenticate": 'Basic realm="git"' }).end()
      return gate.status !== 0 || gate.closed
    }
    const cis: Array<ForgeCi> = []
    const server = yield* gitHttpServer(
      root,
      null,
      (request, response) => {
        const isPush = request.method === "POST" && request.url?.endsWith("/git-receive-pack") === true
        if (isPush)
          response.once("finish", () => {
            for (const ci of cis) ci.pushed()
          })
        return answer(request, response)
      },
      host,
      listen
    )
    /** A commit of somebody else on a branch. An absent branch is made from `main`. */
    const commitOn = (branch: string, path: string, content: string): string => bareCommit(bare, branch, path, content)
    return {
      forge,
      git,
      headOf,
      commitOn,
      /** Gives the repository a hook that runs before each push is taken. */
      hook: (commands: string) => put(bare, "hooks/pre-receive", `#!/bin/sh\n${commands}\n`, 0o755),
      /** Gives the forge one more CI, which runs a command of a shell in a checkout of each pushed branch. `check` is the name of its check. */
      runCi: (command: string, check?: string) =>
        Effect.gen(function* () {
          const made = new ForgeCi(forge, bare, command, check)
          cis.push(made)
          yield* Effect.addFinalizer(() => Effect.promise(made.idle))
          return made
        }),
      repository,
      gate,
      base: server.url,
      url: `${server.url}/${repository}.git`,
      seen: server.seen
    }
  })

/** The events of a session after `after` up to the first wanted one. */
export const eventsUntil = (sessionId: SessionId, after: number, wanted: (event: Event) => boolean) =>
  Effect.gen(function* () {
    const { principal } = yield* Embedded.owner
    const feed = yield* EventFeed
    return yield* feed
      .stream(principal, sessionId, { after })
      .pipe(Stream.takeUntil(wanted), Stream.runCollect, Effect.map(Chunk.toReadonlyArray), within(40))
  })

/** The first event of a session after `after` with one of the types. */
export const eventOf = (sessionId: SessionId, after: number, ...types: ReadonlyArray<string>) =>
  Effect.map(
    eventsUntil(sessionId, after, (event) => types.includes(event.type)),
    (events) => events.at(-1)
  )

/** A session with a workspace, from a repository or empty. `input` says more of the session. */
export const workspace = (url?: string, input: Partial<SessionInput> = {}) =>
  Effect.gen(function* () {
    const { principal, workspaceId } = yield* ownerWithConnection
    const trees = yield* WorkingTrees
    const session = yield* (yield* Sessions).create(principal, workspaceId, {
      title: "Fix the sum",
      ...(url !== undefined && { repository: { url } }),
      ...input
    })
    yield* trees.prepare(session.id)
    const { workTree } = yield* pathsOf(session.id)
    const capture = Effect.gen(function* () {
      const changesets = yield* Changesets
      const { changeset, event_watermark: after } = yield* changesets.capture(principal, session.id, {})
      yield* eventOf(session.id, after, "changeset.ready", "changeset.failed")
      return yield* changesets.get(principal, changeset.id)
    })
    /** Writes files and captures the workspace. */
    const change = (files: Readonly<Record<string, string>>) =>
      Effect.suspend(() => {
        for (const [path, content] of Object.entries(files)) put(workTree, path, content)
        return capture
      })
    return { session, principal, workspaceId, workTree, change }
  })

/** A capture without git objects. */
export const captured = {
  tree: "a".repeat(40),
  subjectDigest: "sha256:0",
  kept: Effect.void,
  files: [],
  additions: 0,
  deletions: 0,
  diagnostics: [],
  hidden: []
}

/** A sealed changeset of a new session, for services without a worker. It has no git objects. */
export const sealed = Effect.gen(function* () {
  const { principal, workspaceId } = yield* ownerWithConnection
  const changesets = yield* ChangesetStore
  const journal = yield* Journal
  const files = yield* WorkingTreeStore
  const session = yield* (yield* Sessions).create(principal, workspaceId, {
    repository: { url: "https://gitea.example.com/acme/shop.git", base_ref: "main" }
  })
  const id = yield* newId(ChangesetId)
  yield* journal.commit(
    Effect.gen(function* () {
      yield* files.move({ id: session.id, tree: { state: "none" } }, "preparing")
      yield* files.move({ id: session.id, tree: { state: "preparing" } }, "ready")
      yield* changesets.open(id, session.id, system, { origin: "explicit", label: null, turnId: null })
      yield* changesets.seal(id, captured, system)
    })
  )
  return { principal, workspaceId, session, changeset: yield* (yield* Changesets).get(principal, id) }
})

export const system = systemActor("test")

export const forgeConnection = (kind: KnownForge, baseUrl: string, secret = token) =>
  Effect.gen(function* () {
    const { principal, workspaceId } = yield* Embedded.owner
    return yield* (yield* Connections).create(principal, workspaceId, {
      kind,
      label: kind,
      credential: { base_url: baseUrl, token: secret }
    })
  })

/** An operation once it has ended, or is in another wanted state. */
export const operationEnd = (
  operationId: string,
  isWanted: (operation: Operation) => boolean = ({ finished_at }) => finished_at !== null
) =>
  Effect.gen(function* () {
    const { principal } = yield* Embedded.owner
    const jobs = yield* Jobs
    const bell = yield* Bell
    const rung = yield* Effect.makeLatch(false)
    const stop = yield* Effect.sync(() => bell.listen(jobsTopic, () => rung.unsafeOpen()))
    const look = Effect.zipRight(rung.close, Effect.orDie(jobs.operation(principal, operationId)))
    return yield* Effect.iterate(yield* look, {
      while: (operation) => !isWanted(operation),
      body: () => Effect.zipRight(rung.await, look)
    }).pipe(within(40), Effect.ensuring(Effect.sync(stop)))
  })

export const codeOf = <A, E>(effect: Effect.Effect<A, E | ReinsError>) =>
  Effect.map(Effect.flip(effect), (error) =>
    typeof error === "object" && error !== null && "code" in error ? error.code : error
  )
