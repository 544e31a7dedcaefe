import { execFile } from "node:child_process"
import { accessSync, constants, existsSync, statfsSync, statSync } from "node:fs"
import { dirname } from "node:path"
import { promisify } from "node:util"
import { type Ring, readRing } from "@reins/base/secrets/KeyRingFile"
import { type Inventory, inventory, missingFrom } from "@reins/core/backup/Inventory"
import * as SmtpMailer from "@reins/core/identity/SmtpMailer"
import { sealedValues } from "@reins/core/Rooms"
import { Database } from "@reins/core/store/Database"
import * as DatabaseFile from "@reins/core/store/DatabaseFile"
import { databaseFile, restoreMarker, serverLock } from "@reins/core/store/DataDirectory"
import { failedStatementOf } from "@reins/core/store/FailedStatement"
import { known, pending } from "@reins/core/store/Migrations"
import { Executors } from "@reins/machine/executor/Executors"
import { select, systemsInWords, systemsOf, thisMachine } from "@reins/machine/harness/HostPlatform"
import { HarnessInstall } from "@reins/machine/harness/Install"
import { Manifests } from "@reins/machine/harness/Manifests"
import { Cause, Effect, Either, Layer } from "effect"
import { type Config, isLoopback } from "../../Config.js"
import { reasonOfDefect } from "../DefectReason.js"
import * as Installation from "../operator/Installation.js"
import { executorsOf, whyNoExecutor } from "../operator/RequiredExecutor.js"
import { runningAddress } from "../operator/ServerAddress.js"
import { blobFindings } from "./BlobFindings.js"
import { egressFindings } from "./EgressFindings.js"
import { type Finding, fail, ok, warn } from "./Finding.js"
import { nodeFindings } from "./NodeFindings.js"
import { securityFindings } from "./SecurityFindings.js"
import { processes } from "./SystemFindings.js"

/** Checks everything that a server needs. It changes nothing. */
export const findings = (
  config: Config,
  { readBlobs }: { readonly readBlobs: boolean }
): Effect.Effect<ReadonlyArray<Finding>> =>
  Effect.map(
    Effect.all([
      Effect.sync(node),
      git,
      Effect.sync(processes),
      Effect.sync(() => directory(config)),
      Effect.sync(() => space(config)),
      lock(config),
      database(config),
      nodeFindings(config),
      blobFindings(config, readBlobs),
      harnesses(config),
      sandbox(config),
      mail(config),
      egressFindings(config),
      Effect.sync(() => address(config)),
      Effect.sync(() => securityFindings(config))
    ]),
    (found) => found.flat()
  )

const node = (): Finding => {
  const [major = 0, minor = 0] = process.versions.node.split(".").map(Number)
  return major > 20 || (major === 20 && minor >= 19)
    ? ok("node", process.versions.node)
    : fail("node", process.versions.node, "Install Node 20.19 or newer.")
}

/** The first version that has `merge-tree --write-tree` with the messages that the core reads. */
const leastGit = [2, 38] as const

const git = Effect.promise(async (): Promise<Finding> => {
  const said = await promisify(execFile)("git", ["--version"]).catch(() => undefined)
  const [major = 0, minor = 0] =
    /(?<!\d)(\d+)\.(\d+)/
      .exec(said?.stdout ?? "")
      ?.slice(1)
      .map(Number) ?? []
  if (said === undefined) return fail("git", "not found", "Install git, 2.38 or newer.")
  return major > leastGit[0] || (major === leastGit[0] && minor >= leastGit[1])
    ? ok("git", said.stdout.trim().replace("git version ", ""))
    : fail("git", `${major}.${minor}`, "Install git 2.38 or newer.")
})

const mayWrite = (path: string): boolean => {
  try {
    accessSync(path, constants.R_OK | constants.W_OK | constants.X_OK)
    return true
  } catch {
    return false
  }
}

/** The directory, or the nearest one above it that exists. */
const nearest = (path: string): string => (existsSync(path) ? path : nearest(dirname(path)))

const directory = ({ dataDir }: Config): Finding => {
  const check = "data dir"
  if (!existsSync(dataDir)) {
    return mayWrite(nearest(dataDir))
      ? ok(check, `${dataDir} does not exist yet; the first start makes it`)
      : fail(
          check,
          `${dataDir} does not exist and cannot be made`,
          "Make it for the user of the server, or name another with --data-dir."
        )
  }
  const stat = statSync(dataDir)
  if (!stat.isDirectory()) return fail(check, `${dataDir} is not a directory`, "Name a directory with --data-dir.")
  if (!mayWrite(dataDir))
    return fail(check, `${dataDir} cannot be written`, "Give it to the user of the server with chown.")
  if (existsSync(restoreMarker(dataDir)))
    return fail(
      check,
      `a restore into ${dataDir} is not finished`,
      "Wait until it ends. If it was broken off, empty the directory and restore again."
    )
  return ok(check, dataDir)
}

const mebibyte = 1024 * 1024

const space = ({ dataDir }: Config): Finding => {
  const { bavail, bsize } = statfsSync(nearest(dataDir))
  const free = Math.floor((bavail * bsize) / mebibyte)
  if (free < 100) return fail("disk", `${free} MiB free`, "Make room: the server will soon be unable to write.")
  return free < 1024
    ? warn("disk", `${free} MiB free`, "Make room before the disk is full.")
    : ok("disk", `${free} MiB free`)
}

const lock = (config: Config): Effect.Effect<Finding> =>
  DatabaseFile.isHeld(serverLock(config.dataDir)).pipe(
    Effect.zipWith(runningAddress(config), (held, running) => {
      const where = running === undefined ? "" : `, at ${running.url}`
      return ok(
        "server",
        `${held || running !== undefined ? "a server works" : "no server works"} on the data directory${where}`
      )
    }),
    Effect.catchAll(({ message }) =>
      Effect.succeed(
        fail("server", message, "The file system of the data directory has to support locks: use a local disk.")
      )
    )
  )

const database = (config: Config): Effect.Effect<ReadonlyArray<Finding>> => {
  const file = databaseFile(config.dataDir)
  const keys = ringOf(config)
  if (config.databaseUrl === undefined && !existsSync(file))
    return Effect.succeed([ok("database", "does not exist yet; the first start makes it"), keyRing(config, keys, [])])
  const problems = config.databaseUrl === undefined ? DatabaseFile.problems(file) : Effect.succeed([])
  return Effect.gen(function* () {
    const [problem, ...more] = yield* problems
    const full = yield* room(config)
    if (full !== undefined) return [full, keyRing(config, keys, [])]
    const read = Effect.provide(inventory(sealedValues), Installation.databaseAsIs(config, { writes: true }))
    const state = yield* Effect.either(read)
    if (problem !== undefined) {
      const detail = `damaged: ${problem}${more.length > 0 ? ` and ${more.length} more` : ""}`
      return [fail("database", detail, "Stop the server and restore the newest backup.")]
    }
    if (Either.isLeft(state))
      return [
        fail("database", state.left.message, "Run the release that made it, or correct --data-dir and --database-url."),
        keyRing(config, keys, [])
      ]
    const missing = pending(state.right.schema)
    const name = config.databaseUrl === undefined ? "whole" : "reachable"
    const newest = state.right.schema.at(-1)?.id ?? 0
    const isExpanded = newest > (known.at(-1)?.id ?? 0)
    const byNewer = isExpanded
      ? `, to which a newer release has added: it works with ${state.right.minRelease} and newer`
      : ""
    return [
      missing.length === 0
        ? ok("database", `${name}, schema ${newest}${byNewer}`)
        : warn(
            "database",
            `${name}, but the schema lacks ${missing.length} ${missing.length === 1 ? "step" : "steps"}`,
            "Make a backup, then run: reins migrate"
          ),
      keyRing(config, keys, state.right.keyIds),
      files(config, state.right)
    ]
  }).pipe(
    Effect.catchAll(({ message }) =>
      Effect.succeed([fail("database", message, "Correct --data-dir and --database-url.")])
    ),
    Effect.catchAllCause((cause) =>
      Effect.flatMap(reasonOfDefect(cause), (reason) =>
        reason === undefined ? Effect.failCause(cause) : Effect.succeed([unusable(reason), keyRing(config, keys, [])])
      )
    )
  )
}

/** The reason that PostgreSQL takes no more rows; undefined when it takes them. The table that is tried is gone again with its transaction. */
const room = (config: Config): Effect.Effect<Finding | undefined, { readonly message: string }> =>
  config.databaseUrl === undefined
    ? Effect.succeed(undefined)
    : Effect.flatMap(Database, ({ run, sql, transaction }) =>
        transaction(
          Effect.zipRight(
            run(sql`create temporary table reins_doctor (text text) on commit drop`),
            run(sql`insert into reins_doctor select repeat(md5(n::text), 32) from generate_series(1, 4096) as n`)
          )
        )
      ).pipe(
        Effect.as(undefined),
        Effect.catchAllDefect((defect) =>
          // Temporary tables may be forbidden, and the server makes none.
          failedStatementOf(defect)?.code === "42501"
            ? Effect.succeed(undefined)
            : Effect.flatMap(reasonOfDefect(Cause.die(defect)), (reason) =>
                reason === undefined ? Effect.die(defect) : Effect.succeed(unusable(reason))
              )
        ),
        Effect.provide(Installation.databaseAsIs(config, { writes: true }))
      )

const unusable = (reason: string): Finding =>
  fail("database", reason, "Mend it, then run this again: no server works with the database as it is.")

/** The files that the database tells of. Of several nodes each has those of its sessions. */
const files = ({ dataDir }: Config, known: Inventory): Finding => {
  const check = "files"
  const [first, ...more] = missingFrom(dataDir, known).map(({ id }) => id)
  if (first === undefined)
    return ok(
      check,
      known.places.size === 0
        ? "the files of every session are here"
        : `the files that nodes do not have are in ${dataDir}`
    )
  const detail = `files of ${more.length === 0 ? first : `${first} and ${more.length} more sessions`} are not in ${dataDir}`
  return fail(
    check,
    detail,
    "If another machine works on the database, look there. Otherwise restore the newest backup."
  )
}

const ringOf = (config: Config) => {
  const { keyFile } = Installation.coreConfigOf(config)
  return existsSync(keyFile) ? readRing(keyFile) : undefined
}

const keyRing = (
  config: Config,
  ring: Either.Either<Ring, { readonly message: string }> | undefined,
  used: ReadonlyArray<string>
): Finding => {
  const check = "key ring"
  const { keyFile } = Installation.coreConfigOf(config)
  const restoreKey = `Put the copy of the key ring that you kept in the place ${keyFile}, or give the credentials up: reins keyring forget ${used.join(" ")}`
  if (ring === undefined) {
    return used.length === 0
      ? ok(check, "does not exist yet; the first start makes it")
      : fail(check, `${keyFile} does not exist, and credentials are sealed with it`, restoreKey)
  }
  if (Either.isLeft(ring))
    return fail(check, ring.left.message, `Repair ${keyFile}, or put the copy that you kept in its place.`)
  const { forgotten, keys } = ring.right
  const missing = used.filter((id) => !keys.has(id) && !forgotten.has(id))
  if (missing.length > 0)
    return fail(check, `${missing.join(", ")} is missing, and credentials are sealed with it`, restoreKey)
  return keys.size === 1
    ? ok(check, `${keyFile}, one key`)
    : ok(check, `${keyFile}, ${keys.size} keys; this removes old ones that nothing needs: reins keyring prune`)
}

const harnesses = (config: Config): Effect.Effect<ReadonlyArray<Finding>> =>
  Effect.gen(function* () {
    const manifests = yield* Manifests
    const install = yield* HarnessInstall
    const enabled = manifests.list.filter(({ tier }) => tier !== "disabled")
    return yield* Effect.forEach(enabled, ({ provider_id, runtime }) =>
      Effect.map(
        Effect.all([
          Effect.either(install.find(provider_id)),
          manifests.originOf(provider_id),
          manifests.provenOf(provider_id)
        ]),
        ([found, { digest, source }, { proofs }]) => {
          const agent = `${runtime?.agent.name ?? ""} ${runtime?.agent.version ?? ""} (${source}, ${shortly(digest)})`
          const unproven = proofs.filter(({ shown }) => shown === "unproven").map(({ capability }) => capability)
          const platforms = runtime?.install.platforms ?? []
          if (select(platforms) === undefined)
            return warn(
              provider_id,
              `${agent} has no build for ${thisMachine()}`,
              `Install it on ${systemsInWords(systemsOf(platforms))}, or choose another agent.`
            )
          if (Either.isLeft(found) || found.right._tag === "None")
            return warn(
              provider_id,
              `${agent} is not installed`,
              `To use it in sessions, run: reins harnesses install ${provider_id}`
            )
          return unproven.length === 0
            ? ok(provider_id, agent)
            : warn(
                provider_id,
                `${agent}: nothing has shown ${unproven.join(", ")}, so it counts as unknown`,
                `To find out what it can do, run: reins harnesses verify ${provider_id}`
              )
        }
      )
    )
  }).pipe(
    Effect.provide(
      Layer.provideMerge(
        HarnessInstall.layer(Installation.coreConfigOf(config).cacheDir, config.egress),
        Installation.knownManifests(config)
      )
    ),
    Effect.catchTags({
      CommandFailed: ({ message }) => Effect.succeed([noManifests(message)]),
      ManifestInvalid: ({ message }) => Effect.succeed([noManifests(message)])
    }),
    Effect.orDie
  )

const noManifests = (message: string): Finding =>
  fail("manifests", message, "Mend the file, or take it out of the directory: no server starts with it.")

/** As much of a digest as tells two manifests apart. */
const shortly = (digest: string): string => digest.slice(0, "sha256:".length + 12)

/** The executor that sessions get, as the server would choose it. */
const sandbox = (config: Config): Effect.Effect<Finding> =>
  Effect.gen(function* () {
    const check = "sandbox"
    const list = yield* (yield* Executors).list
    const chosen = list.find((each) => each.default)
    const missing = whyNoExecutor(Installation.coreConfigOf(config), list)
    if (chosen === undefined)
      return fail(
        check,
        missing,
        "Mend that, or run agents without a boundary: --executor local (REINS_EXECUTOR=local)."
      )
    if (chosen.isolation.security_boundary) return ok(check, `${chosen.backend}: ${chosen.note}`)
    return warn(
      check,
      `agents run as the user of the server, without a boundary. ${missing}`,
      "Use bubblewrap, or run the server as a user of its own, in a container or a virtual machine; see docs/security.md."
    )
  }).pipe(Effect.provide(executorsOf(config)))

const mail = (config: Config): Effect.Effect<Finding> =>
  config.smtpUrl === undefined
    ? Effect.succeed(
        isLoopback(config.publicUrl.hostname)
          ? ok("mail", "mails are written as files to the outbox")
          : warn("mail", "mails are written as files to the outbox, which people cannot read", "Set REINS_SMTP_URL.")
      )
    : Effect.match(SmtpMailer.checkMailServer(config.smtpUrl), {
        onFailure: ({ code }) =>
          fail("mail", `the mail server refuses the connection or the credentials (${code})`, "Check REINS_SMTP_URL."),
        onSuccess: () => ok("mail", "the mail server accepts the credentials")
      })

const address = ({ host, publicUrl }: Config): Finding => {
  const check = "public URL"
  if (publicUrl.protocol === "https:") return ok(check, publicUrl.href)
  if (!isLoopback(publicUrl.hostname)) {
    return fail(
      check,
      `${publicUrl.href} is plain http: passwords and cookies would cross the network in the open`,
      "Put a TLS proxy in front of the server, and set --public-url to its https address."
    )
  }
  return isLoopback(host)
    ? ok(check, publicUrl.href)
    : warn(
        check,
        `the server listens on ${host}, and its links lead to ${publicUrl.host}`,
        "Set --public-url to the address that people use."
      )
}
