#!/usr/bin/env node
// Computes the tables of docs/scale.md from the figures of docs/performance.md and what is assumed: `node bench/scale.mjs` writes them anew.
// A test holds the page to this.
import { readFileSync, writeFileSync } from "node:fs"
import { dirname, join } from "node:path"
import { fileURLToPath } from "node:url"

const docs = join(dirname(fileURLToPath(import.meta.url)), "../docs")
const [begin, end] = ["<!-- arithmetic: written by bench/scale.mjs -->", "<!-- end of the arithmetic -->"]

/** The figures, each by the name of its row in docs/performance.md. */
const measured = {
  note_us: "PostgreSQL: POST a note, to 64 sessions: CPU",
  note_pg_us: "PostgreSQL: POST a note: CPU of the database",
  get_us: "PostgreSQL: GET a session: CPU",
  get_pg_us: "PostgreSQL: GET a session: CPU of the database",
  forward_us: "Forwarded read of a file: CPU of the node that passes it on",
  delivery_us: "CPU of a delivery at full speed"
}

/** The figures that nobody can measure ahead. Put in your own. */
const assumed = {
  running: [0.2, "the share of the sessions whose turn runs"],
  commits: [2, "commits a second of a running turn"],
  events: [5, "events a second of a running turn"],
  bytes: [610, "bytes of an event, as the runs of a prototype had them"],
  readers: [1, "streams that follow a session whose turn runs"],
  reads: [0.1, "other requests a second for each session, as costly as a GET of a session"],
  files: [0.01, "reads of files a second for each session, which an api node passes on"],
  minutes: [3, "minutes of a turn"],
  snapshot_mb: [0.9, "MB of a snapshot that is new, for 80 changed files of 10,000"],
  agent_cores: [0.3, "processors of an agent whose turn runs"],
  agent_gb: [0.5, "GB of memory of an agent whose turn runs"],
  runner_cores: [16, "processors of a runner"],
  runner_gb: [64, "GB of memory of a runner"],
  connections: [21, "connections of a node: REINS_DATABASE_CONNECTIONS and one for its bell"]
}

/** Each quantity: its symbol, its name, its formula over what stands above it, and its unit. */
const quantities = [
  ["turns", "running turns", "sessions * running", ""],
  ["commit_rate", "commits", "turns * commits", "/s"],
  ["event_rate", "events", "turns * events", "/s"],
  ["event_mb", "bytes of events", "event_rate * bytes / 1e6", "MB/s"],
  ["event_tb", "bytes of events a day", "event_mb * 86400 / 1e6", "TB"],
  ["commit_cores", "processors of the nodes for commits", "commit_rate * note_us / 1e6", ""],
  ["read_cores", "processors of the nodes for reads", "sessions * (reads * get_us + files * forward_us) / 1e6", ""],
  ["delivery_cores", "processors of the nodes for streams", "event_rate * readers * delivery_us / 1e6", ""],
  ["pg_commit_cores", "processors of PostgreSQL for commits", "commit_rate * note_pg_us / 1e6", ""],
  ["pg_read_cores", "processors of PostgreSQL for reads", "sessions * reads * get_pg_us / 1e6", ""],
  ["agent_total", "processors of the agents", "turns * agent_cores", ""],
  [
    "runners",
    "runners, by processors or memory",
    "max(turns * agent_cores / runner_cores, turns * agent_gb / runner_gb)",
    ""
  ],
  ["apis", "api nodes, one processor each", "read_cores + delivery_cores", ""],
  ["pooled", "connections to PostgreSQL", "(runners + apis) * connections", ""],
  ["seals", "snapshots", "turns / (minutes * 60)", "/s"],
  ["seal_mb", "bytes of snapshots", "seals * snapshot_mb", "MB/s"]
]

/** The number of sessions at which something is used up, and its formula. */
const limits = [
  ["PostgreSQL as the store of snapshots, at 20 MB/s", "20 / snapshot_mb * minutes * 60 / running"],
  ["500 connections of PostgreSQL", "500 / connections * runner_cores / agent_cores / running"],
  ["500 connections, with REINS_DATABASE_CONNECTIONS=5", "500 / 6 * runner_cores / agent_cores / running"],
  ["16 processors of PostgreSQL", "16e6 / (running * commits * note_pg_us + reads * get_pg_us)"],
  ["1 TB of events a day", "1e12 / 86400 / (running * events * bytes)"],
  ["64 processors of PostgreSQL", "64e6 / (running * commits * note_pg_us + reads * get_pg_us)"]
]

const rounded = (value) => {
  if (value === 0) return "0"
  const digits = Math.max(0, 1 - Math.floor(Math.log10(Math.abs(value))))
  const scale = 10 ** (1 - Math.floor(Math.log10(Math.abs(value))))
  const two = Math.round(value * scale) / scale
  return two.toLocaleString("en-US", { maximumFractionDigits: digits })
}

const evaluate = (formula, values) =>
  new Function(...Object.keys(values), "max", `return ${formula}`)(...Object.values(values), Math.max)

/** The number in the last column of a row. Fails without it. */
const figureOf = (page, name) => {
  const row = page.split("\n").find((line) => line.startsWith(`| ${name} |`))
  const value = Number.parseFloat((row?.split("|").at(-2) ?? "").replaceAll("*", ""))
  if (Number.isNaN(value)) throw new Error(`docs/performance.md has no figure "${name}"`)
  return value
}

const table = (header, rows) =>
  [header, header.map(() => "---"), ...rows].map((cells) => `| ${cells.join(" | ")} |`).join("\n")

/** The tables, from the text of docs/performance.md. */
export const arithmetic = (performance) => {
  const figures = Object.entries(measured).map(([symbol, row]) => [symbol, figureOf(performance, row), row])
  const given = Object.fromEntries([
    ...figures.map(([symbol, value]) => [symbol, value]),
    ...Object.entries(assumed).map(([symbol, [value]]) => [symbol, value])
  ])
  const at = (sessions) => {
    const values = { ...given, sessions }
    for (const [symbol, , formula] of quantities) values[symbol] = evaluate(formula, values)
    return values
  }
  const [small, large] = [at(10_000), at(100_000)]
  const shown = (value, unit) => [rounded(value), unit].filter(Boolean).join(unit.startsWith("/") ? "" : " ")
  const reached = limits
    .map(([what, formula]) => [what, formula, evaluate(formula, given)])
    .sort((one, other) => one[2] - other[2])
  return [
    table(
      ["Measured", "Value", "Row of docs/performance.md"],
      figures.map(([symbol, value, row]) => [`\`${symbol}\``, value, row])
    ),
    table(
      ["Assumed", "Value", "It is"],
      Object.entries(assumed).map(([symbol, [value, text]]) => [`\`${symbol}\``, value, text])
    ),
    table(
      ["Computed", "Formula", "10,000 sessions", "100,000 sessions"],
      quantities.map(([symbol, name, formula, unit]) => [
        `\`${symbol}\`: ${name}`,
        `\`${formula}\``,
        shown(small[symbol], unit),
        shown(large[symbol], unit)
      ])
    ),
    table(
      ["Used up", "Formula", "Sessions"],
      reached.map(([what, formula, sessions]) => [what, `\`${formula}\``, rounded(sessions)])
    )
  ].join("\n\n")
}

/** The page with its tables made anew. */
export const written = (page, performance) => {
  const [head, rest] = page.split(begin)
  const [, tail] = (rest ?? "").split(end)
  if (tail === undefined) throw new Error(`docs/scale.md has no "${begin}"`)
  return `${head}${begin}\n\n${arithmetic(performance)}\n\n${end}${tail}`
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const [page, performance] = ["scale.md", "performance.md"].map((name) => readFileSync(join(docs, name), "utf8"))
  writeFileSync(join(docs, "scale.md"), written(page, performance))
}
