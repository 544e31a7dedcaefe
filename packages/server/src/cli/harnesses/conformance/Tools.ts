import { join } from "node:path"
import { Executors } from "@reins/machine/executor/Executors"
import type { TurnInput } from "@reins/machine/harness/TurnInput"
import { ToolLoans } from "@reins/machine/relay/mcp/ToolLoans"
import type { CallTool, OfferedCall, OfferedTool, ToolAnswer } from "@reins/machine/relay/mcp/ToolOffer"
import { Clock, Deferred, Effect, Option } from "effect"
import { script } from "reins-example-scripted-gateway/gateway.mjs"
import { turnAlone } from "./Abilities.js"
import { finding, type Ground } from "./Ground.js"

/** The one tool of the trials. It answers a word after some seconds. */
const tool: OfferedTool = {
  name: "pomegranate",
  description: "Counts seeds. Says a word after so many seconds.",
  input_schema: {
    type: "object",
    properties: { word: { type: "string" }, seconds: { type: "number" } },
    required: ["word"]
  },
  is_read_only: true
}

/** A call as the endpoint has heard it. */
interface Heard {
  readonly call: OfferedCall
  /** The time after which the agent withdrew it, in milliseconds; null for one that was answered. */
  withdrawnAfterMs: number | null
}

const answerOf = (word: string): string => `SEEDS-${word}-4711`

const inputOf = ({ input }: OfferedCall): { readonly word: string; readonly seconds: number } => {
  const given = typeof input === "object" && input !== null ? input : {}
  const word = "word" in given ? String(given.word) : ""
  return { word, seconds: "seconds" in given ? Number(given.seconds) : 0 }
}

/** The endpoint that the service has for agents, with one tool. */
const lendTool = Effect.fnUntraced(function* (ground: Ground) {
  const heard: Array<Heard> = []
  const began = yield* Deferred.make<void>()
  const needs = ground.manifest.tools?.needs ?? []
  const lent = yield* (yield* ToolLoans).lend({
    servers: [{ name: "verify", tools: [tool] }],
    is_always_loaded: needs.includes("always_load")
  })
  const call: CallTool = Effect.fnUntraced(function* (given) {
    const kept: Heard = { call: given, withdrawnAfterMs: null }
    heard.push(kept)
    const atMs = yield* Clock.currentTimeMillis
    yield* Deferred.succeed(began, undefined)
    const { seconds, word } = inputOf(given)
    const answer: ToolAnswer = { text: answerOf(word), is_error: false }
    return yield* Effect.as(Effect.sleep(seconds * 1000), answer).pipe(
      Effect.onInterrupt(() =>
        Effect.map(Clock.currentTimeMillis, (now) => {
          kept.withdrawnAfterMs = now - atMs
        })
      )
    )
  })
  yield* lent.open(call)
  return { began: Deferred.await(began), heard, lent }
})

/** One turn in which the model calls the tool. */
const callOnce = Effect.fnUntraced(function* (
  ground: Ground,
  given: { readonly word: string; readonly seconds: number } & Pick<Partial<TurnInput>, "executor"> & {
      readonly cancelsAfterMs?: number
    }
) {
  const { began, heard, lent } = yield* lendTool(ground)
  const { cancelsAfterMs, executor, seconds, word } = given
  const before = ground.gateway.requests.length
  const root = join(ground.dataDir, "tools", word)
  let isOffered = false
  const ended = yield* turnAlone(ground, {
    leaseId: `verify-${process.pid}-${word}`,
    workspaceDir: join(root, "workspace"),
    homeDir: join(root, "home"),
    nativeSessionId: null,
    ...(executor && { executor }),
    prompt: [
      { type: "text", text: script("Ask for a word.", { tool: tool.name, args: { word, seconds } }, { say: "Asked." }) }
    ],
    toolServers: lent.servers,
    deadline: `${seconds + 120} seconds`,
    silenceTimeout: `${seconds + 120} seconds`,
    ...(cancelsAfterMs !== undefined && { cancel: Effect.zipRight(began, Effect.sleep(cancelsAfterMs)) }),
    onLine: (direction, line) =>
      Effect.sync(() => {
        if (direction === "in" && /"mcpCapabilities":\{[^{}]*"http":true/.test(line)) isOffered = true
      })
  })
  const requests = ground.gateway.requests.slice(before)
  const isTold = requests.some(({ messages }) =>
    messages.some(({ role, text }) => role === "tool_result" && text.includes(answerOf(word)))
  )
  return { ended, heard, isOffered, isTold, wasListed: yield* lent.wereListed }
}, Effect.scoped)

type Called = Effect.Effect.Success<ReturnType<typeof callOnce>>

const inWords = ({ heard, isTold, wasListed }: Called): string =>
  [
    wasListed ? "its tools were listed" : "its tools were not listed",
    heard.length === 0 ? "none was called" : "one was called",
    isTold ? "the model got the answer" : "the model got no answer"
  ].join(", ")

const isAnswered = ({ ended, heard, isTold }: Called): boolean => ended === "completed" && heard.length > 0 && isTold

/** The agent connects to the endpoint of the service with its token, offers the tool to its model and calls it. A tool that was only listed proves nothing. */
const calling = Effect.fnUntraced(function* (ground: Ground) {
  const called = yield* callOnce(ground, { word: "plain", seconds: 0 })
  const id = called.heard[0]?.call.call_id.startsWith("request-") === false ? "with" : "without"
  const seen = called.isOffered ? inWords(called) : "the agent speaks to none"
  return finding(
    "tools over http",
    "tool_calls",
    isAnswered(called),
    `${called.ended}; a server with a token: ${seen}${called.heard.length === 0 ? "" : `, ${id} the id of the model's call`}`
  )
})

/** A cancelled turn withdraws the call under way. */
const withdrawing = Effect.fnUntraced(function* (ground: Ground) {
  const { ended, heard } = yield* callOnce(ground, { word: "withdrawn", seconds: 60, cancelsAfterMs: 500 })
  const ms = heard[0]?.withdrawnAfterMs ?? null
  return finding(
    "cancelled call",
    "tool_calls",
    ended === "cancelled" && ms !== null,
    `${ended}; ${heard.length === 0 ? "no tool was called" : ms === null ? "the call went on" : "the call was withdrawn"}`
  )
})

/** The same in the sandbox, which lets the port of the endpoint through. Nothing is found where no sandbox works. */
const sandboxed = Effect.fnUntraced(function* (ground: Ground) {
  const found = yield* Effect.option((yield* Executors).get("bubblewrap"))
  if (Option.isNone(found)) return []
  const called = yield* callOnce(ground, { word: "sandboxed", seconds: 0, executor: found.value })
  return [
    finding(
      "tools in the sandbox",
      "tool_calls",
      isAnswered(called),
      `${called.ended} in bubblewrap; ${inWords(called)}`
    )
  ]
})

/** The calls of a tool: the agent makes them, its model reads the answer, a cancelled turn withdraws them, and they work in the sandbox too. */
export const callingTools = Effect.fnUntraced(function* (ground: Ground) {
  return [yield* calling(ground), yield* withdrawing(ground), ...(yield* sandboxed(ground))]
})

/** The share of the time without progress that a call with progress takes. Agents give up in silence after at most a third more than that time. */
const longer = 1.5

/**
 * The agent waits for as long as its manifest says: in silence for `hold_seconds`, and for half as much again where it hears of progress. The
 * service answers a call within that time.
 */
export const holding = Effect.fnUntraced(function* (ground: Ground) {
  const { hold_seconds = 45, progress = false } = ground.manifest.tools ?? {}
  const seconds = Math.round(hold_seconds * (progress ? longer : 1))
  const called = yield* callOnce(ground, { word: "long", seconds })
  const hears = called.heard[0]?.call.hears_progress === true
  return finding(
    "long call",
    "tool_calls",
    isAnswered(called) && (hears || !progress),
    `${called.ended}; a call of ${seconds} s, ${hears ? "whose progress it asked for" : "whose progress it did not ask for"}: ${inWords(called)}`
  )
})
