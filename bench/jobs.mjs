// Durable jobs, through the core inside this process: the time from submitting a job to its start, attempts with their evidence, and a capture.
import { mkdtempSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { Boot } from "@reins/core/base/Boot"
import { CoreConfig } from "@reins/core/base/CoreConfig"
import * as Core from "@reins/core/Core"
import { JobStore } from "@reins/core/internal/jobs/JobStore"
import * as Worker from "@reins/core/internal/jobs/Worker"
import { Journal } from "@reins/core/internal/store/Journal"
import * as Sqlite from "@reins/core/store/Sqlite"
import { Bell, Database } from "@reins/core/store/Storage"
import { Effect, Layer, Logger, LogLevel } from "effect"
import { connect, install } from "./installation.mjs"
import { median } from "./load.mjs"
import { cpuSeconds, directory } from "./processes.mjs"
import { contentOf, fileName, git, makeRepository } from "./repository.mjs"

export const jobs = async ({ report, settings }) => {
  report.subject("Jobs, SQLite")
  const { cpuMicros, perSecond, toStart } = await inProcess(settings)
  report.figure("From submitting a job to its start: p50", toStart, "ms", { atMost: 5 })
  report.figure("Attempts with evidence", perSecond, "/s", { atLeast: 500 })
  report.figure("Attempts with evidence: CPU", cpuMicros, "us")
  await capture(report, settings)
}

const inProcess = (settings) => {
  const started = new Map()
  let ended = 0
  let whenEnded = () => {}
  const kind = {
    kind: "bench",
    concurrency: 32,
    deadlineMs: 60_000,
    run: ({ claim }) =>
      Effect.sync(() => {
        started.get(claim.payload.number)?.(performance.now())
        return { state: "succeeded", command: Effect.sync(() => ++ended && whenEnded()) }
      }),
    failed: () => Effect.void,
    lost: () => Effect.succeed({ next: "retry", command: Effect.void })
  }
  const dataDir = mkdtempSync(join(directory, "jobs-"))
  const services = Worker.layer(Effect.succeed([kind])).pipe(
    Layer.provideMerge(Core.layer),
    Layer.provideMerge(
      Layer.mergeAll(
        CoreConfig.layer({ dataDir, executors: ["local"] }),
        Sqlite.layer(dataDir),
        Bell.layer,
        Boot.layerSingle
      )
    )
  )
  return Effect.gen(function* () {
    const journal = yield* Journal
    const jobs = yield* JobStore
    const db = yield* Database
    const submit = (number) =>
      journal.commit(
        jobs.enqueue({
          kind: "bench",
          subject: { type: "bench", id: "bench" },
          workspaceId: null,
          payload: { number },
          maxAttempts: 3
        })
      )
    const until = (count) =>
      Effect.promise(
        () =>
          new Promise((resolve) => {
            whenEnded = () => ended >= count && resolve()
            whenEnded()
          })
      )
    // This run also warms up.
    const count = Math.ceil(settings.warmUp / 4) * 4
    const times = []
    for (let number = 0; number < count / 4; number++) {
      const start = new Promise((resolve) => started.set(number, resolve))
      const submitted = performance.now()
      yield* submit(number)
      times.push((yield* Effect.promise(() => start)) - submitted)
      yield* until(number + 1)
    }
    const before = ended
    const cpu = cpuSeconds(process.pid)
    const began = performance.now()
    yield* Effect.forEach(
      Array.from({ length: count }, (_, index) => count + index),
      submit,
      { concurrency: 32, discard: true }
    )
    yield* until(before + count)
    const perSecond = count / ((performance.now() - began) / 1000)
    const cpuMicros = ((cpuSeconds(process.pid) - cpu) * 1e6) / count
    const { evidence } = yield* db.first(
      db.sql`select cast(count(*) as integer) as evidence from attempts where state = 'succeeded'`
    )
    if (evidence !== ended) throw new Error(`${ended} attempts were made, ${evidence} are written down`)
    return { perSecond, cpuMicros, toStart: median(times.slice(-settings.warmUp / 8)) }
  }).pipe(Effect.provide(services), Logger.withMinimumLogLevel(LogLevel.Warning), Effect.runPromise)
}

const files = 10_000
const changed = 50

/** A changeset of a large workspace, beside the git commands that a person would run for it. */
const capture = async (report, settings) => {
  const installation = await install("capture", { REINS_ALLOW_LOCAL_REPOSITORIES: "true" })
  const server = await installation.start()
  await connect(server)
  const url = makeRepository("large", files)
  const session = await server.newSession({ repository: { url } })
  const { operation } = await server.reins.sessions.activateExecutor({ session_id: session.id })
  await server.reins.jobs.wait({ job_id: operation.job_id })
  const byHand = join(directory, "by-hand")
  git(directory, ["clone", "--quiet", url, byHand])
  const workTree = join(installation.dataDir, "sessions", session.id, "workspace")
  const times = { reins: [], byHand: [] }
  for (let round = 0; round <= settings.samples; round++) {
    change(workTree, round)
    change(byHand, round)
    const handTook = captureByHand(byHand, round)
    const reinsTook = await captureByReins(server, session.id)
    // The first run fills the caches of both.
    if (round === 0) continue
    times.byHand.push(handTook)
    times.reins.push(reinsTook)
  }
  report.note(`a capture takes ${median(times.reins).toFixed(0)} ms, by hand ${median(times.byHand).toFixed(0)} ms`)
  report.figure(
    `Capture of ${files} files, ${changed} changed, in git commands by hand`,
    median(times.reins) / median(times.byHand),
    "",
    { atMost: 1.5 }
  )
  await server.stop()
}

const change = (tree, round) => {
  for (let index = 0; index < changed; index++) {
    const at = (round * changed + index * 7) % files
    writeFileSync(join(tree, fileName(at)), contentOf(at, round + 1))
  }
}

const captureByReins = async (server, sessionId) => {
  const { event_watermark: after } = await server.reins.sessions.get({ session_id: sessionId })
  const ready = readyOf(server.reins.sessions.stream({ session_id: sessionId, after }))
  const began = performance.now()
  await server.reins.sessions.capture({ session_id: sessionId })
  return (await ready) - began
}

const readyOf = async (events) => {
  for await (const { payload, type } of events) {
    if (type === "changeset.ready") return performance.now()
    if (type === "changeset.failed") throw new Error(`the capture failed: ${payload.reason}`)
  }
}

/** A tree of all files, a commit of it that is kept, and its changes, on disk like the commit of a changeset. */
const captureByHand = (cwd, round) => {
  const began = performance.now()
  const run = (...args) => git(cwd, ["-c", "core.fsync=committed,-loose-object", ...args])
  run("add", "--all")
  const tree = run("write-tree")
  const commit = run("commit-tree", tree, "-p", "HEAD", "-m", "captured")
  run("update-ref", `refs/captured/${round}`, commit)
  run("diff-tree", "-r", "--raw", "--numstat", "-z", "HEAD", commit)
  return performance.now() - began
}
