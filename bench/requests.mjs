// The goals of requests, and how they are held to them: beside the bare server in one run, on one processor and on two.
import { spawnSync } from "node:child_process"
import { inTurns } from "./load.mjs"

/**
 * `share` is the least of the bare server's rate, `cpu` the most CPU in requests of the bare server, and `p99` the most in its p99. A page is compared
 * with a GET. On two processors the kernel's part is larger on both sides, because it wakes the client on the other one.
 */
export const goals = {
  "GET a session": { one: { share: 0.4, cpu: 3 }, two: { share: 0.45, cpu: 2.2 } },
  "Page of 100 events": { one: { cpu: 9 }, two: { cpu: 9 } },
  "POST a session": { one: { share: 1, cpu: 2, p99: 1.5 }, two: { share: 1, cpu: 2, p99: 1.5 } },
  "POST a note": { one: { share: 1, cpu: 2, p99: 1.5 }, two: { share: 1, cpu: 2, p99: 1.5 } }
}

const counts = { one: 1, two: 2 }

/** Measures `reins` beside `bare`, and reports both on each number of processors. */
export const compare = async (report, name, sides, how) => {
  const all = processorsOf(process.pid)
  const processes = [process.pid, ...Object.values(sides).map(({ pid }) => pid)]
  for (const [word, goal] of Object.entries(goals[name])) {
    if (all.length < counts[word]) {
      report.note(`${name}: this process may use ${all.length} processor, so two are not measured`)
      continue
    }
    for (const pid of processes) bind(pid, all.slice(0, counts[word]))
    try {
      tell(report, `${name}, ${word} processor${word === "one" ? "" : "s"}`, await inTurns(sides, how), goal)
    } finally {
      for (const pid of processes) bind(pid, all)
    }
  }
}

const tell = (report, name, { bare, reins }, { cpu, p99, share }) => {
  for (const [side, of] of Object.entries({ reins, bare })) report.note(`${side.padEnd(5)} ${inWords(of)}`)
  if (share !== undefined)
    report.figure(`${name}: share of the bare server's rate`, reins.perSecond / bare.perSecond, "", { atLeast: share })
  report.figure(`${name}: CPU, in bare requests`, reins.cpuMicros / bare.cpuMicros, "", { atMost: cpu })
  if (p99 !== undefined)
    report.figure(`${name}: p99, in the bare server's p99`, reins.p99 / bare.p99, "", { atMost: p99 })
  report.figure(name, reins.perSecond, "/s")
}

const inWords = ({ cpuMicros, p50, p99, perSecond }) =>
  `${perSecond.toFixed(0).padStart(6)}/s  p50 ${p50.toFixed(1)} ms  p99 ${p99.toFixed(1)} ms  CPU ${cpuMicros.toFixed(0)} us`

const taskset = (...args) => {
  const { error, status, stderr, stdout } = spawnSync("taskset", args, { encoding: "utf8" })
  if (status !== 0) throw new Error(`taskset ${args.join(" ")}: ${error?.message ?? stderr}`)
  return stdout
}

/** The numbers of the processors that a process may use, from a list as `0-3,8`. */
const processorsOf = (pid) =>
  (/: (\S+)$/.exec(taskset("-cp", String(pid)).trim())?.[1] ?? "").split(",").flatMap((range) => {
    const [first, last = first] = range.split("-").map(Number)
    return Array.from({ length: last - first + 1 }, (_, index) => first + index)
  })

/** Gives all threads of a process these processors. */
const bind = (pid, processors) => taskset("-acp", processors.join(","), String(pid))
