import type * as acp from "@agentclientprotocol/sdk"
import { Effect, Ref, Schema } from "effect"
import { ConfigOptions, InitializeResult, SessionResult } from "./AcpSchema.js"
import { ask, failed, type Turn } from "./AcpTurn.js"
import * as Failures from "./Failures.js"
import type * as JsonRpc from "./JsonRpc.js"

/**
 * What agents may use of this side. Agents work on files and run commands themselves, so neither is offered. Input is asked for only where
 * somebody answers.
 */
const capabilities = ({ input }: Turn): acp.ClientCapabilities => ({
  fs: { readTextFile: false, writeTextFile: false },
  terminal: false,
  session: { notices: {}, compaction: {}, configOptions: { boolean: {} } },
  plan: {},
  ...(input.ask !== undefined && { elicitation: { form: {}, url: {} } })
})

/** Makes the handshake. */
export const initialize = Effect.fnUntraced(function* (turn: Turn, peer: JsonRpc.Peer) {
  const clientInfo = { name: "reins", version: "1" }
  const params = { protocolVersion: 1, clientCapabilities: capabilities(turn), clientInfo }
  const result = yield* ask(turn, peer, "initialize", params, InitializeResult).pipe(
    Effect.catchTag("RpcError", failed(turn))
  )
  yield* Ref.set(turn.offered, result.agentCapabilities ?? {})
  const { agent } = turn.runtime
  yield* turn.emit([
    {
      _tag: "ready",
      agent_name: result.agentInfo?.name ?? agent.name,
      agent_version: result.agentInfo?.version ?? agent.version
    }
  ])
})

/** The directories that a native session works with. Fails for an agent that knows one only and is to have several. */
const placesOf = Effect.fnUntraced(function* ({ input, offered, runtime }: Turn) {
  const { additionalDirectories = [], workspaceDir } = input
  const place = { cwd: workspaceDir, mcpServers: [] }
  if (additionalDirectories.length === 0) return place
  const { sessionCapabilities } = yield* Ref.get(offered)
  if (sessionCapabilities?.additionalDirectories === undefined || sessionCapabilities.additionalDirectories === null)
    return yield* Failures.notOffered(
      runtime,
      "works in one directory only, so it cannot have the other ones of the session"
    )
  return { ...place, additionalDirectories: [...additionalDirectories] }
})

/** Resumes a native session. Fails when that is impossible, because a new session in its place would have forgotten everything. */
const resume = Effect.fnUntraced(function* (turn: Turn, peer: JsonRpc.Peer, sessionId: string) {
  const { resume } = turn.settings
  if (resume === "none") return yield* Failures.contextUnavailable(turn.runtime, "it has no way to resume")
  const params = { sessionId, ...(yield* placesOf(turn)) }
  return yield* ask(turn, peer, `session/${resume}`, params, Schema.NullishOr(SessionResult)).pipe(
    Effect.map((result) => ({ ...result, sessionId })),
    Effect.catchTag("RpcError", (error) => {
      const meaning = Failures.reported(Failures.rpcText(error), turn)
      return Effect.fail(
        meaning.reason === "credential_invalid"
          ? meaning
          : Failures.contextUnavailable(turn.runtime, Failures.rpcText(error))
      )
    })
  )
})

/** Opens a new native session, or resumes the session of the conversation. */
export const openSession = Effect.fnUntraced(function* (turn: Turn, peer: JsonRpc.Peer) {
  const { nativeSessionId } = turn.input
  const session =
    nativeSessionId === null
      ? yield* ask(turn, peer, "session/new", yield* placesOf(turn), SessionResult).pipe(
          Effect.catchTag("RpcError", failed(turn))
        )
      : yield* resume(turn, peer, nativeSessionId)
  const id = session.sessionId
  if (id === null || id === undefined) return yield* Failures.protocolBroken(turn.runtime, "session/new")
  turn.facts.opened(session)
  yield* turn.emit([{ _tag: "native_session", id, resumed: nativeSessionId !== null }])
  return id
})

/** Sets an option, and notes what the agent says that its options are now. */
const setOption = Effect.fnUntraced(function* (
  turn: Turn,
  peer: JsonRpc.Peer,
  sessionId: string,
  configId: string,
  value: string | boolean
) {
  const params = {
    sessionId,
    configId,
    ...(typeof value === "boolean" ? { type: "boolean" as const, value } : { value })
  }
  const answer = ask(turn, peer, "session/set_config_option", params, Schema.Unknown)
  const told = Schema.decodeUnknownOption(ConfigOptions)(yield* Effect.catchTag(answer, "RpcError", failed(turn)))
  if (told._tag === "Some") turn.facts.opened(told.value)
})

const setModel = (turn: Turn, peer: JsonRpc.Peer, sessionId: string, modelId: string) =>
  Effect.catchTag(
    ask(turn, peer, "session/set_model", { sessionId, modelId }, Schema.Unknown),
    "RpcError",
    failed(turn)
  )

/** Selects the model. A resumed session may still have the model of its last turn. */
export const selectModel = Effect.fnUntraced(function* (turn: Turn, peer: JsonRpc.Peer, sessionId: string) {
  const { model_selector: selector, model_value } = turn.settings
  const { model } = turn.input
  if (model === null || selector === "none") return
  const wanted = model_value.replaceAll("{{model}}", model)
  const { options } = turn.facts
  if (selector === "set_model") {
    const present = options.find((option) => option.category === "model" && turn.facts.isOlder(option))
    if (present?.value !== wanted) yield* setModel(turn, peer, sessionId, wanted)
    return
  }
  const option =
    selector === "config_option"
      ? options.find((each) => each.category === "model" && !turn.facts.isOlder(each))
      : options.find(({ id }) => id === selector.config_option)
  if (option === undefined && selector !== "config_option")
    return yield* Failures.notOffered(turn.runtime, `has no option ${selector.config_option} to choose the model with`)
  if (option === undefined || option.value === wanted) return
  yield* setOption(turn, peer, sessionId, option.id, wanted)
})

/** Sets the options that the session chooses, such as the mode and the thought level. Fails for one that the agent does not have. */
export const setOptions = Effect.fnUntraced(function* (turn: Turn, peer: JsonRpc.Peer, sessionId: string) {
  for (const [name, value] of Object.entries(turn.input.options ?? {})) {
    const { options } = turn.facts
    const option = options.find(({ id }) => id === name) ?? options.find(({ category }) => category === name)
    const isKnown =
      option !== undefined && (option.choices.length === 0 || option.choices.some((choice) => choice.value === value))
    if (!isKnown) {
      const known = option === undefined ? options.map(({ id }) => id) : option.choices.map((choice) => choice.value)
      return yield* Failures.notOffered(
        turn.runtime,
        `has no option ${name}${option === undefined ? "" : ` with the value ${value}`}; it has ${known.join(", ") || "none"}`
      )
    }
    if (option.value === value) continue
    if (!turn.facts.isOlder(option)) yield* setOption(turn, peer, sessionId, option.id, value)
    else if (option.category === "model") yield* setModel(turn, peer, sessionId, String(value))
    else {
      const params = { sessionId, modeId: String(value) }
      yield* Effect.catchTag(ask(turn, peer, "session/set_mode", params, Schema.Unknown), "RpcError", failed(turn))
      turn.facts.update("current_mode_update", { currentModeId: value })
    }
  }
})
