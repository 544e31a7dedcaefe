// What a large repository adds to the end of a turn: from the agent's answer to `turn.succeeded`, beside turns in an empty workspace of the same server.
import { mkdirSync, writeFileSync } from "node:fs"
import { dirname, join } from "node:path"
import { connect, install } from "./installation.mjs"
import { median } from "./load.mjs"
import { directory } from "./processes.mjs"
import { git } from "./repository.mjs"
import { installAgent, turn } from "./turns.mjs"

export const ends = async ({ report, settings }) => {
  const { files } = settings.repository
  report.subject(`Ends of turns in a repository of ${files} files, with an agent that answers at once`)
  const marks = join(directory, "ends-marks")
  const { dataDir, start } = await install("ends", {
    REINS_CACHE_DIR: installAgent(marks, "ends-agents"),
    REINS_ALLOW_LOCAL_REPOSITORIES: "true"
  })
  const server = await start()
  const connection = await connect(server)
  await server.reins.connections.update({ connection_id: connection.id, preferred_model: "scripted-1" })
  /** A session, with a turn that has made its workspace. */
  const begin = async (input) => {
    const { id } = await server.newSession(input)
    await turn(server, id, marks)
    return { id, workTree: join(dataDir, "sessions", id, "workspace"), times: [] }
  }
  const sides = { empty: await begin({}), large: await begin({ repository: { url: makeWide(files) } }) }
  // In turns, so that other work on the machine meets both.
  for (let sample = 0; sample < settings.samples; sample++)
    for (const side of Object.values(sides)) {
      writeFileSync(join(side.workTree, "changed.txt"), `${sample}\n`)
      side.times.push((await turn(server, side.id, marks)).toKept)
    }
  await server.stop()
  const [empty, large] = [median(sides.empty.times), median(sides.large.times)]
  report.note(`in an empty workspace ${empty.toFixed(0)} ms, in the repository ${large.toFixed(0)} ms`)
  report.figure("End of a turn in a large repository, over one in an empty workspace", large - empty, "ms", {
    atMost: 500
  })
}

/** A repository of small files in as many folders as a large one has. */
const makeWide = (files) => {
  const source = join(directory, "wide-source")
  for (let index = 0; index < files; index++) {
    const path = join(source, `package-${index % 40}`, `folder-${Math.floor(index / 40) % 50}`, `file-${index}.txt`)
    mkdirSync(dirname(path), { recursive: true })
    writeFileSync(path, `file ${index}\n`.repeat(20))
  }
  git(source, ["init", "--quiet", "--initial-branch=main"])
  git(source, ["config", "gc.auto", "0"])
  git(source, ["add", "--all"])
  git(source, ["commit", "--quiet", "--message=first"])
  return source
}
