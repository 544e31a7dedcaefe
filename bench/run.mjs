#!/usr/bin/env node
// Measures every figure that Reins has a goal for, beside a bare server that does the same work in the same run.
//   npm run bench                       all of it; meant for ten minutes on an idle machine
//   npm run bench -- reads writes       some subjects
//   npm run bench -- --quick            less of all of it; meant for two minutes
//   npm run bench -- --json             the figures as JSON on the standard output, the lines for a person on the standard error
//   npm run bench -- --postgres URL     a PostgreSQL server to use, in the place of one that is started for this
//   npm run bench -- repository --files 2000 --megabytes 10    the size of the large repository; 40,000 files and 200 MB when absent
// A goal that is not met is printed, and is no error. Errors are what could not be measured, and a count above what is allowed.
import { rmSync } from "node:fs"
import { parseArgs } from "node:util"
import { acp } from "./acp.mjs"
import { agents } from "./agents.mjs"
import { automations } from "./automations.mjs"
import { checkouts } from "./checkouts.mjs"
import { consolePage } from "./console.mjs"
import { ends } from "./ends.mjs"
import { history } from "./history.mjs"
import { jobs } from "./jobs.mjs"
import { nodes } from "./nodes.mjs"
import { postgres } from "./postgres.mjs"
import { directory, killAll } from "./processes.mjs"
import { reads } from "./reads.mjs"
import { machine, makeReport } from "./report.mjs"
import { sandbox } from "./sandbox.mjs"
import { setups } from "./setups.mjs"
import { snapshots } from "./snapshots.mjs"
import { start } from "./start.mjs"
import { streams } from "./streams.mjs"
import { tools } from "./tools.mjs"
import { turns } from "./turns.mjs"
import { workspace } from "./workspace.mjs"
import { writes } from "./writes.mjs"

const subjects = {
  start,
  reads,
  writes,
  streams,
  workspace,
  postgres,
  nodes,
  jobs,
  automations,
  turns,
  acp,
  tools,
  history,
  console: consolePage,
  sandbox,
  agents,
  setups,
  snapshots,
  ends,
  repository: checkouts
}

const { positionals, values } = parseArgs({
  allowPositionals: true,
  options: {
    json: { type: "boolean" },
    quick: { type: "boolean" },
    postgres: { type: "string" },
    files: { type: "string" },
    megabytes: { type: "string" }
  }
})
const unknown = positionals.filter((name) => !Object.hasOwn(subjects, name))
if (unknown.length > 0) {
  process.stderr.write(`There is no subject ${unknown.join(", ")}. There are: ${Object.keys(subjects).join(", ")}\n`)
  process.exit(2)
}

const size = (given, usual, quick) => Number(given ?? (values.quick ? quick : usual))
const repository = { files: size(values.files, 40_000, 2_000), megabytes: size(values.megabytes, 200, 10) }
if (!Object.values(repository).every((number) => Number.isInteger(number) && number > 0)) {
  process.stderr.write("--files and --megabytes have to be whole numbers above 0.\n")
  process.exit(2)
}

const rates = values.quick
  ? { rounds: 1, seconds: 1.5, warmUp: 1500, longLog: 100_000, samples: 3, postgresUrl: values.postgres }
  : { rounds: 3, seconds: 3, warmUp: 4000, longLog: 1_000_000, samples: 9, postgresUrl: values.postgres }

/** The later turns of a session that are compared with its first. */
const laterTurns = values.quick ? [10, 40] : [50, 200]

const settings = { ...rates, repository, history: laterTurns }

const say = (line) => void (values.json ? process.stderr : process.stdout).write(`${line}\n`)
const report = makeReport(say)
const { cpus, load, memoryGb, node } = machine()
say(`Node ${node}, ${cpus}, ${memoryGb} GB, load ${load.toFixed(2)}`)

// Nothing is left behind, also by a run that is broken off.
process.once("exit", () => {
  killAll()
  rmSync(directory, { recursive: true, force: true, maxRetries: 10, retryDelay: 50 })
})
for (const [signal, number] of [
  ["SIGINT", 2],
  ["SIGTERM", 15]
])
  process.once(signal, () => process.exit(128 + number))

const began = performance.now()
let code = 0
for (const name of positionals.length > 0 ? positionals : Object.keys(subjects)) {
  try {
    await subjects[name]({ report, settings })
  } catch (error) {
    code = 1
    process.stderr.write(`\n${name} could not be measured: ${error.stack}\n`)
  } finally {
    killAll()
  }
}
if (report.isExceeded()) code = 1
say(`\nMeasured in ${((performance.now() - began) / 1000).toFixed(0)} s, load ${machine().load.toFixed(2)} at the end`)
const finish = () => process.exit(code)
if (values.json) process.stdout.write(`${JSON.stringify(report.json(), null, 2)}\n`, finish)
else finish()
