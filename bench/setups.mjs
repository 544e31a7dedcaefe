// The time until another session of a project with a setup can work: its workspace has the repository and all that the setup has left.
import { readdirSync } from "node:fs"
import { join } from "node:path"
import { setTimeout } from "node:timers/promises"
import { connect, install } from "./installation.mjs"
import { median } from "./load.mjs"
import { makeRepository } from "./repository.mjs"

const files = 1_000
const packages = 480
const filesOfPackage = 25

/** Leaves a tree as package managers do, in directories that no repository holds. */
const step = `
  const { mkdirSync, writeFileSync, symlinkSync } = require("node:fs")
  for (let p = 0; p < ${packages}; p++) {
    mkdirSync("node_modules/package-" + p + "/lib", { recursive: true })
    for (let f = 0; f < ${filesOfPackage}; f++)
      writeFileSync("node_modules/package-" + p + "/lib/file-" + f + ".js", ("module.exports = " + f + "\\n").repeat(40))
  }
  mkdirSync("node_modules/.bin")
  symlinkSync("../package-0/lib/file-0.js", "node_modules/.bin/tool")
`

export const setups = async ({ report, settings }) => {
  report.subject(
    `A session of a project with a setup that leaves ${packages * filesOfPackage} files, in a repository of ${files}, SQLite`
  )
  const installation = await install("setups", { REINS_ALLOW_LOCAL_REPOSITORIES: "true" })
  const server = await installation.start()
  await connect(server)
  const project = await server.reins.projects.create({
    workspace_id: server.workspaceId,
    slug: "set-up",
    name: "Set up",
    spec: {
      repository: { url: makeRepository("set-up", files) },
      setup: [{ name: "install", argv: [process.execPath, "-e", step] }]
    }
  })
  const ready = async (fromSnapshot) => {
    const { id: session_id } = await server.newSession({ project_id: project.id })
    const began = performance.now()
    const { operation } = await server.reins.sessions.activateExecutor({ session_id })
    await server.reins.jobs.wait({ job_id: operation.job_id })
    const took = performance.now() - began
    const { items } = await server.reins.sessions.listEvents({ session_id, types: "setup.succeeded" })
    if (items[0]?.payload.from_snapshot !== fromSnapshot) throw new Error(`the setup ended as ${JSON.stringify(items)}`)
    return took
  }
  report.note(`the first session is ready after ${(await ready(false)).toFixed(0)} ms, which run the setup and keep it`)
  const times = []
  for (let sample = 0; sample < settings.samples; sample++) {
    await spares(installation.dataDir)
    times.push(await ready(true))
  }
  report.figure("From the activation of a later session to its end: p50", median(times), "ms", { atMost: 2000 })
  report.figure("From the activation of a session right after another one", await ready(true), "ms", { atMost: 2000 })
  report.figure("From the activation of a third one right after these, which is copied", await ready(true), "ms")
  await server.stop()
}

/** Waits for the copies that the server keeps for the next sessions. */
const spares = async (dataDir) => {
  while (readdirSync(join(dataDir, "setups")).filter((name) => /^(?:spare|second)-/.test(name)).length < 2)
    await setTimeout(50)
}
