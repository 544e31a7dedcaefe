import { assert, describe, it } from "@effect/vitest"
import {
  ElicitationRequest,
  PermissionRequest,
  PromptResult,
  SessionResult
} from "@reins/machine/harness/acp/AcpSchema"
import { AcpSettings } from "@reins/machine/harness/acp/AcpSettings"
import { AgentFacts } from "@reins/machine/harness/acp/AgentFacts"
import { elicitationQuestion } from "@reins/machine/harness/acp/Elicitation"
import { rpcText } from "@reins/machine/harness/acp/Failures"
import * as JsonRpc from "@reins/machine/harness/acp/JsonRpc"
import { decided, permissionQuestion } from "@reins/machine/harness/acp/Permission"
import * as Transcript from "@reins/machine/harness/acp/Transcript"
import { HarnessEvent } from "@reins/machine/harness/HarnessEvent"
import { scrubber } from "@reins/machine/harness/Secrets"
import { approvalSubject } from "@reins/machine/subjects/ApprovalSubjects"
import type { AskedFiles } from "@reins/machine/subjects/AskedFiles"
import { scriptedManifest } from "@reins/testing/harness/Turns"
import type { Answer, Change } from "@reins/testing/world/Answer"
import { tryBorder } from "@reins/testing/world/Border"
import { changesOfAnswer, changesOfElement, changesOfField, stepsOf } from "@reins/testing/world/Changes"
import { inJson } from "@reins/testing/world/Speaker"
import { Effect, Either, Option, Queue, Schema, Stream } from "effect"
import { option, updates } from "./AgentUpdates.js"

const settings = Schema.decodeUnknownSync(AcpSettings)(scriptedManifest().runtime?.settings ?? {})
const encode = Schema.encodeUnknownEither(HarnessEvent)
const decode = Schema.decodeUnknownEither(HarnessEvent)

/** A message of an agent comes as a line: it has no status, and its bytes are those of one text. */
const isOfLine = ({ name }: Change): boolean =>
  !/^\d{3} |^in two|^late|^cut off|type$|^a type|^an empty body|HTML|^errors|^each element twice|order$|spaces/.test(
    name
  )

const changesOf = (list: string | undefined, fields: ReadonlyArray<string>, ofAll: ReadonlyArray<string>) => [
  ...(list === undefined ? [] : changesOfElement(["update", list], 1, fields)),
  ...(list === undefined ? [] : changesOfAnswer(["update", list]).filter(isOfLine)),
  ...ofAll.flatMap((field) => changesOfField(["update", ...field.split(".")]))
]

const figures: ReadonlyArray<Change> = ["-1", "1.5", "1e400", "9007199254740991"].map((figure) => ({
  name: `each figure is ${figure}`,
  kind: "element",
  apply: (answer) => ({ ...answer, text: answer.text.replaceAll(/(?<=":)\d+/g, figure) })
}))

const unreadFiles: AskedFiles = { roots: ["/w"], read: () => Effect.succeed({ is: "unread" }) }

/** Texts that stand in one line before people. */
const names = new Set(["title", "name", "kind", "agent_name", "severity", "priority", "status", "hint", "media_type"])

const unseen = /\\u00(?:0[0-9a-f]|1[0-9a-f])|\u202e/

/** The faults of events. They are written to logs, which read them again. */
const ofEvents = (events: ReadonlyArray<HarnessEvent>): ReadonlyArray<string> =>
  events.flatMap((event) => {
    const written = encode(event)
    const read = Either.isRight(written) ? decode(JSON.parse(JSON.stringify(written.right))) : written
    const problems = Either.isLeft(read) ? [`an event that is none: ${JSON.stringify(event).slice(0, 200)}`] : []
    JSON.stringify(event, (field, value) => {
      if (names.has(field) && typeof value === "string") {
        if (value.length > 16_000) problems.push(`${field} has ${value.length} characters`)
        if (unseen.test(JSON.stringify(value))) problems.push(`${field} has what nobody sees`)
      }
      if (/_id$|_key$/.test(field) && typeof value === "string" && value.length > 1000) problems.push(`a long ${field}`)
      return value
    })
    return problems
  })

const made = () => Transcript.make("s1", settings, scrubber({}), new AgentFacts())

/** An answer in JSON before its changes. */
const answerOf = (value: unknown): Answer => ({ ...inJson, text: JSON.stringify(value) })

const parsed = (change: Change, value: unknown): unknown => {
  const { text } = change.apply(answerOf(value))
  return JSON.parse(text.replace("\ufeff", "").trim() || "null")
}

describe("the world of agents", () => {
  it.effect("their updates", () =>
    Effect.gen(function* () {
      let all = 0
      for (const [what, { fields = [], list, ofAll, stays = [], update }] of Object.entries(updates)) {
        const changes = [
          ...changesOf(list, fields, []),
          ...ofAll.flatMap((field) => changesOfField(["update", ...stepsOf(field)])),
          ...(what.startsWith("figures") ? figures : [])
        ]
        const { tried, wrong } = yield* tryBorder({
          name: `agents: ${what}`,
          changes,
          ask: (change) =>
            Effect.sync(() => {
              const params = parsed(change, { sessionId: "s1", update })
              const transcript = made()
              const events = [...transcript.update(params, JSON.stringify(params)), ...transcript.finish()]
              const problems = [...ofEvents(events)]
              const isUnread = events.some(({ _tag }) => _tag === "diagnostic")
              if (events.length === 0 && !/sessionUpdate|title|text ""/.test(change.name))
                problems.push("it is gone in silence")
              if (change.kind === "same" && isUnread) problems.push("the truth is lost")
              const isOfAll = change.name.startsWith("update.")
              // A summary is cut where it is too long.
              const isCut = what === "compactions" && change.name.includes("100,000")
              if (change.kind === "element" && !isOfAll && !isCut)
                for (const text of stays) if (!JSON.stringify(events).includes(text)) problems.push(`"${text}" is lost`)
              return problems
            })
        })
        assert.deepStrictEqual(wrong, [])
        all += tried
      }
      assert.isAbove(all, 400)
    })
  )

  it.effect("what they ask leave for", () =>
    Effect.gen(function* () {
      const options = [
        { optionId: "yes", kind: "allow_once", name: "Allow" },
        { optionId: "odd", kind: "allow_always", name: "Always" },
        { optionId: "no", kind: "reject_once", name: "Refuse" }
      ]
      const request = {
        sessionId: "s1",
        toolCall: { toolCallId: "t", title: "Run", kind: "execute", rawInput: { command: "make" } },
        options
      }
      const asTwice: Change = {
        name: "two options of one id",
        kind: "element",
        apply: (answer) => ({ ...answer, text: answer.text.replace('"odd"', '"no"') })
      }
      const { tried, wrong } = yield* tryBorder({
        name: "agents: what they ask leave for",
        changes: [
          asTwice,
          ...changesOfElement(["options"], 1, ["optionId", "kind", "name"]),
          ...changesOfAnswer(["options"]).filter((change) => isOfLine(change) || /^each|order/.test(change.name)),
          ...["toolCall", "toolCall.toolCallId", "toolCall.title", "toolCall.kind", "toolCall.rawInput"].flatMap(
            (field) => changesOfField(field.split("."))
          )
        ],
        ask: (change) =>
          Effect.sync(() => {
            const read = Schema.decodeUnknownOption(PermissionRequest)(parsed(change, request))
            if (Option.isNone(read)) return change.kind === "lost" ? [] : ["one costs all"]
            if (change.kind === "lost") return ["nothing was told, and something was read"]
            const about = made().tool(read.value.toolCall)
            const call = about.find((event) => event._tag === "tool")
            const subject = Effect.runSync(approvalSubject(call, read.value.toolCall, unreadFiles))
            const question = permissionQuestion("ask-1", read.value, call, subject)
            const problems = [...ofEvents([...about, question])]
            const ids = question.options.map(({ id }) => id)
            if (new Set(ids).size !== ids.length) problems.push("an option stands twice")
            if (!ids.includes("yes")) problems.push("the first option is lost")
            if (change !== asTwice && !ids.includes("no")) problems.push("the last option is lost")
            const allowed = decided(settings, read.value, {
              kind: "execute",
              policy: { default: "allow" },
              canAsk: false
            })
            if (allowed !== "yes" && allowed !== null)
              problems.push(`leave is given by ${String(allowed).slice(0, 50)}`)
            const denied = decided(settings, read.value, {
              kind: "execute",
              policy: { default: "deny" },
              canAsk: false
            })
            if (denied !== "no" && denied !== null) problems.push(`refused by ${String(denied).slice(0, 50)}`)
            return problems
          })
      })
      assert.deepStrictEqual(wrong, [])
      assert.isAbove(tried, 80)
    })
  )

  it.effect("the forms that they ask for", () =>
    Effect.gen(function* () {
      const request = {
        mode: "form",
        message: "Which?",
        requestedSchema: {
          type: "object",
          properties: {
            first: { type: "string", title: "First", minLength: 1 },
            odd: { type: "integer", title: "Odd", description: "d", minimum: 1, default: 3 },
            last: { type: "string", enum: ["a", "b"] }
          },
          required: ["first"]
        }
      }
      const odd = ["requestedSchema", "properties", "odd"]
      const { tried, wrong } = yield* tryBorder({
        name: "agents: the forms that they ask for",
        changes: [
          ...["type", "title", "description", "minimum", "default"].flatMap((field) => changesOfField([...odd, field])),
          ...changesOfField(odd),
          ...changesOfField(["message"], "lost"),
          ...changesOfField(["mode"], "lost"),
          ...changesOfField(["requestedSchema"], "lost"),
          // A bound that cannot be read, of a field that has to be there, costs the form: no answer could be right.
          ...figures.map((change) => (change.name.endsWith("1e400") ? { ...change, kind: "lost" as const } : change))
        ],
        ask: (change) =>
          Effect.sync(() => {
            const read = Schema.decodeUnknownOption(ElicitationRequest)(parsed(change, request))
            const question = Option.flatMap(read, (each) => elicitationQuestion("ask-1", each))
            // What nobody can be asked is declined.
            if (Option.isNone(question)) return change.kind === "lost" ? [] : ["one costs all"]
            const fields = question.value.form?.map(({ name }) => name) ?? []
            const problems = [...ofEvents([question.value])]
            if (change.kind === "element")
              for (const name of ["first", "last"]) if (!fields.includes(name)) problems.push(`${name} is lost`)
            return problems
          })
      })
      assert.deepStrictEqual(wrong, [])
      assert.isAbove(tried, 60)
    })
  )

  it.effect("their sessions, and the ends of their turns", () =>
    Effect.gen(function* () {
      const session = {
        sessionId: "s1",
        configOptions: ["first", "odd", "last"].map(option),
        modes: { currentModeId: "a", availableModes: [{ id: "a" }, { id: "b", name: "B" }] },
        models: { currentModelId: "m", availableModels: [{ modelId: "m", name: "M" }] }
      }
      const ofSession = yield* tryBorder({
        name: "agents: the opening of a session",
        changes: [
          ...changesOfElement(["configOptions"], 1, ["id", "name", "category", "currentValue", "options"]),
          ...changesOfAnswer(["configOptions"])
            .filter(isOfLine)
            .map((change) => (change.name === "null" ? change : { ...change, kind: "element" as const })),
          ...["modes", "modes.currentModeId", "modes.availableModes", "models", "models.availableModels"].flatMap(
            (field) => changesOfField(field.split("."))
          ),
          ...changesOfField(["sessionId"], "lost")
        ],
        ask: (change) =>
          Effect.sync(() => {
            const read = Schema.decodeUnknownOption(SessionResult)(parsed(change, session))
            if (Option.isNone(read)) return change.kind === "lost" ? [] : ["one costs all"]
            const facts = new AgentFacts()
            facts.opened(read.value)
            const ids = facts.options.map(({ id }) => id)
            const problems = [...ofEvents(facts.known())]
            if (change.kind === "element" && !change.name.startsWith("the list is"))
              for (const id of ["first", "last"]) if (!ids.includes(id)) problems.push(`${id} is lost`)
            return problems
          })
      })
      const end = { stopReason: "end_turn", usage: { inputTokens: 10, outputTokens: 5, cachedReadTokens: 1 } }
      const ofEnd = yield* tryBorder({
        name: "agents: the end of a turn",
        changes: [
          ...["usage", "usage.inputTokens", "usage.outputTokens", "usage.cachedReadTokens"].flatMap((field) =>
            changesOfField(field.split("."))
          ),
          ...changesOfField(["stopReason"], "lost"),
          ...figures
        ],
        ask: (change) =>
          Effect.sync(() => {
            const read = Schema.decodeUnknownOption(PromptResult)(parsed(change, end))
            if (Option.isNone(read)) return change.kind === "lost" ? [] : ["the usage costs the turn"]
            return ofEvents(made().usage(read.value))
          })
      })
      assert.deepStrictEqual([...ofSession.wrong, ...ofEnd.wrong], [])
      assert.isAbove(ofSession.tried + ofEnd.tried, 100)
    })
  )

  it.effect("the messages that hold their answers", () =>
    Effect.gen(function* () {
      const answer = { jsonrpc: "2.0", id: 1, error: { code: -32000, message: "No model", data: { details: "x" } } }
      const { tried, wrong } = yield* tryBorder({
        name: "agents: their errors",
        changes: ["jsonrpc", "error", "error.code", "error.message", "error.data"].flatMap((field) =>
          changesOfField(field.split("."))
        ),
        ask: (change) =>
          Effect.gen(function* () {
            const lines = yield* Queue.unbounded<string>()
            const unparsed: Array<string> = []
            const peer = JsonRpc.make({
              lines: Stream.fromQueue(lines),
              write: () => Effect.asVoid(Queue.offer(lines, change.apply(answerOf(answer)).text)),
              onLine: () => Effect.void,
              onNotification: () => Effect.void,
              onRequest: () => Effect.succeed(null),
              onUnparsed: (line) => Effect.sync(() => void unparsed.push(line))
            })
            const found = yield* Effect.raceFirst(
              Effect.either(peer.request("initialize", { protocolVersion: 1 })),
              Effect.zipRight(peer.run, Effect.never)
            ).pipe(Effect.orDie)
            if (unparsed.length > 0) return ["the answer is not seen as one"]
            const isNone = /^error (?:absent|null)/.test(change.name)
            if (Either.isRight(found)) return isNone ? [] : ["an error counts as an answer"]
            const { left } = found
            if (left._tag !== "RpcError") return ["the agent has ended"]
            return typeof rpcText(left) === "string" && Number.isFinite(left.code) ? [] : ["no error"]
          })
      })
      assert.deepStrictEqual(wrong, [])
      assert.isAbove(tried, 40)
    })
  )
})
