// Counts the statements and trees of requests to a real server, and reports them with what is allowed.
import { writeFileSync } from "node:fs"
import { dirname, join } from "node:path"
import { fileURLToPath, pathToFileURL } from "node:url"
import { connect, install } from "./installation.mjs"
import { load } from "./load.mjs"
import { directory } from "./processes.mjs"
import { allowedWork, heardIn, leastWork } from "./work.mjs"

export const countWork = async (report) => {
  const heard = join(directory, "statements")
  writeFileSync(heard, "")
  const { dataDir, start } = await install("work")
  const listening = pathToFileURL(join(dirname(fileURLToPath(import.meta.url)), "overhear.mjs"))
  const server = await start({ NODE_OPTIONS: `--import=${listening}`, REINS_BENCH_STATEMENTS: heard })
  await connect(server)
  const { id } = await server.newSession()
  const requests = {
    "GET a session": server.get(`/api/sessions/${id}`),
    "GET a page of events": server.get(`/api/sessions/${id}/events?after=0&limit=100`),
    "POST a session": server.createSession(),
    "POST a note": server.sendNote(id)
  }
  const once = ({ next, status, url }) => load(url, { connections: 1, count: 1, next, status })
  for (const [name, request] of Object.entries(requests)) {
    const { statements, trees } = await leastWork({
      database: join(dataDir, "reins.db"),
      heard: () => heardIn(heard),
      before: () => once(requests["POST a note"]),
      run: () => once(request)
    })
    report.count(`${name}: statements`, statements.length, allowedWork[name].statements)
    report.count(`${name}: trees of SQLite that are written`, trees.length, allowedWork[name].trees)
  }
  await server.stop()
}
