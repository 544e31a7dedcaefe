// The time that a snapshot of a session takes: from a change to the moment at which the store of blobs has everything of it.
import { writeFileSync } from "node:fs"
import { join } from "node:path"
import { setTimeout } from "node:timers/promises"
import { connect, install } from "./installation.mjs"
import { median } from "./load.mjs"
import { directory } from "./processes.mjs"
import { contentOf, fileName, makeRepository } from "./repository.mjs"

const files = 10_000
const changed = 50

export const snapshots = async ({ report, settings }) => {
  report.subject(`Snapshots of a session, ${changed} changed files of ${files}, blobs in a directory, SQLite`)
  const installation = await install("snapshots", {
    REINS_ALLOW_LOCAL_REPOSITORIES: "true",
    REINS_METRICS: "on",
    REINS_BLOBS: `directory:${join(directory, "blobs")}`
  })
  const server = await installation.start()
  await connect(server)
  const { id: session_id } = await server.newSession({ repository: { url: makeRepository("sealed", files) } })
  const sealed = async () => {
    for (;;) {
      const text = await (await fetch(`${server.url}/metrics`)).text()
      if (/^reins_sessions_unsealed 0$/m.test(text)) return
      await setTimeout(5)
    }
  }
  const upload = (content) =>
    server.reins.sessions.uploadFile({ session_id, path: "uploaded.txt", content, encoding: "utf-8" })
  const began = performance.now()
  await upload("first")
  await sealed()
  report.note(`the first one takes ${(performance.now() - began).toFixed(0)} ms, with the clone and its base`)
  const workTree = join(installation.dataDir, "sessions", session_id, "workspace")
  const times = []
  for (let sample = 1; sample <= settings.samples; sample++) {
    for (let index = 0; index < changed; index++)
      writeFileSync(join(workTree, fileName(index * 7)), contentOf(index, sample))
    const change = performance.now()
    await upload(`upload ${sample}`)
    await sealed()
    times.push(performance.now() - change)
  }
  report.figure("From a change to its snapshot: p50", median(times), "ms", { atMost: 2000 })
  await server.stop()
}
