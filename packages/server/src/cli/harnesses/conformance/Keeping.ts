import { readFile } from "node:fs/promises"
import { join } from "node:path"
import { liveState } from "@reins/core/execution/setup/AgentDigest"
import { SessionStore } from "@reins/core/sessions/rows/SessionStore"
import { sessionPaths } from "@reins/machine/bench/SessionPaths"
import { signal } from "@reins/machine/executor/ProcessTable"
import { Effect, Schedule } from "effect"
import { canary, endOf, finding, type Ground, newSession, type Place, processesOf, remembers, run } from "./Ground.js"

/** The life of an agent between its turns. Where the system shows no processes, there is nothing to see. */
export const keeping = Effect.fnUntraced(function* (ground: Ground) {
  if (process.platform !== "linux") return []
  const place = yield* newSession(ground)
  yield* run(ground, place, { words: `Remember the word ${canary}.`, steps: [{ say: "I do." }] })
  const kept = yield* processesOf(place.sessionId)
  const token = yield* deadToken(ground, place)
  const again = yield* run(ground, place, {
    words: "Leave something running.",
    steps: [{ tool: "bash", cmd: "setsid sleep 987 > /dev/null 2>&1 & echo left" }, { say: "Left." }]
  })
  const later = yield* processesOf(place.sessionId)
  const same = later.filter(({ pid }) => kept.some((each) => each.pid === pid))
  const isLeft = later.some(({ command }) => /(?:^|\/)sleep$/.test(command))
  for (const { pid } of later) signal(pid, "SIGKILL")
  // The turn that meets a dying agent fails, as it does when its own agent is killed.
  yield* Effect.repeat((yield* SessionStore).find(place.sessionId), {
    until: (session) => session?.agent.native_digest !== liveState,
    schedule: Schedule.spaced("50 millis")
  })
  const killed = yield* run(ground, place, { words: "Go on.", steps: [{ say: "I go on." }] })
  // An agent that cannot resume has lost what it knew, and the session has to say so.
  const isRefused =
    ground.manifest.capabilities.native_resume !== "supported" && killed.turn.reason === "context_unavailable"
  return [
    finding(
      "kept",
      null,
      same.length > 0 && again.turn.state === "succeeded",
      `${endOf(again)}; the second turn ran in ${same.length > 0 ? "the process of the first" : "another process"}`
    ),
    token,
    finding(
      "detached",
      null,
      !isLeft,
      `a detached process that the turn started is ${isLeft ? "still there" : "gone at the end of the turn"}`
    ),
    finding(
      "killed",
      null,
      killed.turn.state === "succeeded" || isRefused,
      `killed between its turns: ${endOf(killed)}, ${remembers(killed.worked) ? "remembered" : "forgot"}`
    )
  ]
})

/** The relay refuses the token of an agent that works on no turn. */
const deadToken = Effect.fnUntraced(function* ({ dataDir, manifest }: Ground, { sessionId }: Place) {
  const { home } = sessionPaths(dataDir, sessionId)
  const texts = yield* Effect.flatMap(processesOf(sessionId), (found) =>
    Effect.promise(async () => {
      const files = found.flatMap(({ pid }) => [`/proc/${pid}/environ`, `/proc/${pid}/cmdline`])
      const own = (manifest.runtime?.launch.profiles ?? []).flatMap((profile) =>
        profile.files.map(({ path }) => join(home, path.replace("{{home}}/", "")))
      )
      return (await Promise.all([...files, ...own].map((file) => readFile(file, "utf8").catch(() => "")))).join("\0")
    })
  )
  const [relay = ""] = /http:\/\/(?:127\.0\.0\.1|localhost|\[::1\]):\d+\/[0-9a-f]{24}/.exec(texts) ?? []
  const tokens = [...new Set(texts.match(/(?<![\w-])[\w-]{43}(?![\w-])/g) ?? [])]
  const answers = yield* Effect.promise(() =>
    Promise.all(
      tokens.map((token) =>
        fetch(`${relay}/v1/models`, { headers: { authorization: `Bearer ${token}` } }).then(
          ({ status }) => status,
          () => null
        )
      )
    )
  )
  const statuses = [...new Set(answers)].join(", ")
  return finding(
    "token",
    null,
    relay !== "" && tokens.length > 0 && answers.every((status) => status === 401),
    relay === "" || tokens.length === 0
      ? "no token was found in the agent's process"
      : `between the turns the relay answers ${statuses} to what the agent holds`
  )
})
