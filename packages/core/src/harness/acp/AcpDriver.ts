import { pathToFileURL } from "node:url"
import { Clock, Deferred, Duration, Effect, Fiber, Mailbox, Option, Ref, Schema, Stream } from "effect"
import { failpoint } from "../../base/Failpoint.js"
import type { AgentProcess, ExecutorError, StopHooks } from "../../executor/Executor.js"
import type { HarnessDriver, RunTurn } from "../HarnessDriver.js"
import type { HarnessEvent, HarnessFailure } from "../HarnessEvent.js"
import * as Launch from "../Launch.js"
import type { Runtime } from "../Manifest.js"
import { type Scrubber, scrubber } from "../Secrets.js"
import type { PromptBlock, TurnInput } from "../TurnInput.js"
import { InitializeResult, PermissionRequest, PromptResult, SessionResult } from "./AcpSchema.js"
import { AcpSettings } from "./AcpSettings.js"
import * as Failures from "./Failures.js"
import * as JsonRpc from "./JsonRpc.js"
import * as Permission from "./Permission.js"
import * as Transcript from "./Transcript.js"

const waitingEvents = 256
/** After its exit an agent's last lines are still in the pipe. */
const drainTimeout = "2 seconds"

/** What the parts of one running turn share. */
interface Turn {
  readonly input: TurnInput
  readonly runtime: Runtime
  readonly settings: AcpSettings
  readonly scrubber: Scrubber
  readonly emit: (events: ReadonlyArray<HarnessEvent>) => Effect.Effect<void>
  /** Fails when nothing more can come of the turn. */
  readonly broken: Deferred.Deferred<never, HarnessFailure>
  /** The transcript once the prompt was sent; updates before it are a replay. */
  readonly transcript: Ref.Ref<Option.Option<Transcript.Transcript>>
  readonly cancelled: Ref.Ref<boolean>
  /** Done once the agent was told of the cancellation. */
  readonly cancelSent: Deferred.Deferred<void>
  /** How many questions the agent has asked people, and how many of them are open. */
  readonly asked: Ref.Ref<number>
  readonly waiting: Ref.Ref<number>
  readonly lastLineAt: Ref.Ref<number>
  /** What the agent said beside the protocol about a failed model call. */
  readonly report: Ref.Ref<string>
}

const makeTurn = Effect.fnUntraced(function* (
  input: TurnInput,
  runtime: Runtime,
  settings: AcpSettings,
  emit: Turn["emit"]
) {
  const turn: Turn = {
    input,
    runtime,
    settings,
    scrubber: scrubber(input.connection?.secrets ?? {}),
    emit,
    broken: yield* Deferred.make<never, HarnessFailure>(),
    transcript: yield* Ref.make(Option.none<Transcript.Transcript>()),
    cancelled: yield* Ref.make(false),
    cancelSent: yield* Deferred.make<void>(),
    asked: yield* Ref.make(0),
    waiting: yield* Ref.make(0),
    lastLineAt: yield* Effect.flatMap(Clock.currentTimeMillis, Ref.make),
    report: yield* Ref.make("")
  }
  return turn
})

/** A result, or the reason why it will never come. */
const orBroken =
  (turn: Turn) =>
  <A, E>(effect: Effect.Effect<A, E>): Effect.Effect<A, E | HarnessFailure> =>
    Effect.raceFirst(effect, Deferred.await(turn.broken))

/** Waits for the answer of a person. A turn that is cancelled takes the question back, once the agent was told of the cancellation. */
const awaitAnswer = Effect.fnUntraced(function* (
  turn: Turn,
  ask: NonNullable<TurnInput["ask"]>,
  transcript: Transcript.Transcript,
  request: PermissionRequest,
  requestId: string
) {
  yield* Ref.update(turn.waiting, (count) => count + 1)
  const cancelled = Effect.as(Deferred.await(turn.cancelSent), null)
  const optionId = yield* Effect.raceFirst(ask(requestId), cancelled).pipe(
    Effect.ensuring(Ref.update(turn.waiting, (count) => count - 1))
  )
  if (Permission.isRefusal(request, optionId)) transcript.refuse()
  return Permission.outcome(optionId)
})

const onPermission = Effect.fnUntraced(function* (turn: Turn, params: unknown) {
  const decoded = Schema.decodeUnknownOption(PermissionRequest)(params)
  if (Option.isNone(decoded)) return null
  const request = decoded.value
  const transcript = yield* Ref.get(turn.transcript)
  const about = Option.isSome(transcript) ? transcript.value.tool(request.toolCall) : []
  yield* turn.emit(about)
  if (yield* Ref.get(turn.cancelled)) return Effect.succeed(Permission.outcome(null))
  const { ask } = turn.input
  if (ask === undefined || Option.isNone(transcript) || request.options.length === 0) {
    return Effect.succeed(Permission.outcome(Permission.chosenBy(turn.settings, request)))
  }
  const requestId = `ask-${yield* Ref.updateAndGet(turn.asked, (count) => count + 1)}`
  yield* turn.emit([Permission.asked(requestId, request, about)])
  return awaitAnswer(turn, ask, transcript.value, request, requestId)
})

const onNotification = Effect.fnUntraced(function* (turn: Turn, method: string, params: unknown, line: string) {
  // `_` and `$/` are for extensions that a client may leave alone.
  if (method.startsWith("_") || method.startsWith("$/")) return
  if (method !== "session/update") return yield* turn.emit([Transcript.diagnostic("unknown_message", line)])
  const transcript = yield* Ref.get(turn.transcript)
  if (Option.isSome(transcript)) yield* turn.emit(transcript.value.update(params, line))
})

const makePeer = (turn: Turn, process: AgentProcess): JsonRpc.Peer =>
  JsonRpc.make({
    lines: Stream.map(process.lines, turn.scrubber.scrub),
    write: process.write,
    onLine: (direction, line) =>
      Effect.zipRight(
        Effect.flatMap(Clock.currentTimeMillis, (now) => Ref.set(turn.lastLineAt, now)),
        turn.input.onLine?.(direction, turn.scrubber.scrub(line)) ?? Effect.void
      ),
    onNotification: (method, params, line) => onNotification(turn, method, params, line),
    onRequest: (method, params) =>
      method === "session/request_permission" ? onPermission(turn, params) : Effect.succeed(null),
    onUnparsed: (line) => turn.emit([Transcript.diagnostic("unparsed", line)])
  })

/** Reads the agent until it is gone; then nothing that was asked will be answered. */
const watchOutput = (turn: Turn, process: AgentProcess, peer: JsonRpc.Peer) =>
  Effect.gen(function* () {
    const reading = yield* Effect.forkScoped(Effect.exit(peer.run))
    yield* Effect.raceFirst(Fiber.join(reading), Effect.zipRight(process.exit, Effect.sleep(drainTimeout)))
    const exit = yield* Effect.timeoutOption(process.exit, drainTimeout)
    const how = Option.match(exit, {
      onNone: () => "it closed its output",
      onSome: ({ code, signal }) => (signal === null ? `exit code ${code}` : signal)
    })
    yield* Deferred.fail(turn.broken, Failures.crashed(turn.runtime, how))
  })

const watchStderr = (turn: Turn, process: AgentProcess) => {
  const { error, fatal } = turn.settings.stderr
  const text = (pattern: string | null, line: string) =>
    pattern === null ? undefined : new RegExp(pattern, "i").exec(line)?.[1]
  return Stream.runForEach(process.stderrLines, (raw) => {
    const line = turn.scrubber.scrub(raw)
    const fatalText = text(fatal, line)
    if (fatalText !== undefined) return Deferred.fail(turn.broken, Failures.reported(fatalText, turn))
    const report = text(error, line)
    return report === undefined ? Effect.void : Ref.set(turn.report, report)
  })
}

/** Silence counts only while the agent waits for its model: a tool may be quiet for as long as it runs, and so may a person who is asked. */
const watchSilence = Effect.fnUntraced(function* (turn: Turn) {
  const limit = Duration.toMillis(turn.input.silenceTimeout ?? turn.settings.silence_timeout_ms)
  while (true) {
    const transcript = yield* Ref.get(turn.transcript)
    const now = yield* Clock.currentTimeMillis
    const hasOpenTool = Option.isSome(transcript) && transcript.value.hasOpenTool()
    if (hasOpenTool || (yield* Ref.get(turn.waiting)) > 0) yield* Ref.set(turn.lastLineAt, now)
    const left = (yield* Ref.get(turn.lastLineAt)) + limit - now
    if (left <= 0) {
      return yield* Deferred.fail(
        turn.broken,
        Failures.timedOut(turn.runtime, `got no answer from its model for ${limit / 1000} seconds`)
      )
    }
    yield* Effect.sleep(Math.min(left, 1000))
  }
})

const watchDeadline = Effect.fnUntraced(function* (turn: Turn) {
  const { deadline } = turn.input
  yield* Effect.sleep(deadline)
  yield* Deferred.fail(turn.broken, Failures.timedOut(turn.runtime, `did not end within ${Duration.format(deadline)}`))
})

const ask = <A, I>(turn: Turn, peer: JsonRpc.Peer, method: string, params: unknown, schema: Schema.Schema<A, I>) =>
  peer.request(method, params).pipe(
    // A pipe that breaks is an agent that ends; its exit says more.
    Effect.catchTag("ExecutorError", () => Effect.never),
    Effect.flatMap((result) => Schema.decodeUnknown(schema)(result)),
    Effect.catchTag("ParseError", () => Effect.fail(Failures.protocolBroken(turn.runtime, method))),
    orBroken(turn)
  )

const failed = (turn: Turn) => (error: JsonRpc.RpcError) =>
  Effect.flatMap(Ref.get(turn.report), (report) =>
    Effect.fail(Failures.reported(report === "" ? Failures.rpcText(error) : report, turn))
  )

const inTime =
  (turn: Turn) =>
  <A, E>(effect: Effect.Effect<A, E>): Effect.Effect<A, E | HarnessFailure> =>
    Effect.timeoutFail(effect, {
      duration: turn.settings.start_timeout_ms,
      onTimeout: () => Failures.timedOut(turn.runtime, "did not start in time")
    })

const initialize = Effect.fnUntraced(function* (turn: Turn, peer: JsonRpc.Peer) {
  const capabilities = { fs: { readTextFile: false, writeTextFile: false }, terminal: false }
  const params = { protocolVersion: 1, clientCapabilities: capabilities, clientInfo: { name: "reins", version: "1" } }
  const result = yield* ask(turn, peer, "initialize", params, InitializeResult).pipe(
    Effect.catchTag("RpcError", failed(turn))
  )
  const { agent } = turn.runtime
  yield* turn.emit([
    {
      _tag: "ready",
      agent_name: result.agentInfo?.name ?? agent.name,
      agent_version: result.agentInfo?.version ?? agent.version
    }
  ])
})

/** A session that cannot be resumed is a failure. A new one in its place would have forgotten everything. */
const resume = (turn: Turn, peer: JsonRpc.Peer, sessionId: string) => {
  const { resume } = turn.settings
  if (resume === "none") return Effect.fail(Failures.contextUnavailable(turn.runtime, "it has no way to resume"))
  const params = { sessionId, cwd: turn.input.workspaceDir, mcpServers: [] }
  return ask(turn, peer, `session/${resume}`, params, Schema.NullishOr(SessionResult)).pipe(
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
}

const openSession = Effect.fnUntraced(function* (turn: Turn, peer: JsonRpc.Peer) {
  const { nativeSessionId, workspaceDir } = turn.input
  const session =
    nativeSessionId === null
      ? yield* ask(turn, peer, "session/new", { cwd: workspaceDir, mcpServers: [] }, SessionResult).pipe(
          Effect.catchTag("RpcError", failed(turn))
        )
      : yield* resume(turn, peer, nativeSessionId)
  const id = session.sessionId
  if (id === null || id === undefined) return yield* Failures.protocolBroken(turn.runtime, "session/new")
  yield* turn.emit([{ _tag: "native_session", id, resumed: nativeSessionId !== null }])
  return { id, session }
})

/** A resumed session may come with the model of its last turn. */
const selectModel = Effect.fnUntraced(function* (turn: Turn, peer: JsonRpc.Peer, id: string, session: SessionResult) {
  const { model_selector, model_value } = turn.settings
  const { model } = turn.input
  if (model === null || model_selector === "none") return
  const wanted = model_value.replaceAll("{{model}}", model)
  const option = session.configOptions?.find((each) => each.category === "model")
  const current = model_selector === "config_option" ? option?.currentValue : session.models?.currentModelId
  if (current === wanted || (model_selector === "config_option" && option === undefined)) return
  const [method, params] =
    model_selector === "config_option"
      ? ["session/set_config_option", { sessionId: id, configId: option?.id, value: wanted }]
      : ["session/set_model", { sessionId: id, modelId: wanted }]
  yield* ask(turn, peer, method, params, Schema.Unknown).pipe(Effect.catchTag("RpcError", failed(turn)))
})

type StopReason = Extract<HarnessEvent, { _tag: "ended" }>["stop_reason"]

const stopReasons: Readonly<Record<string, StopReason>> = {
  end_turn: "completed",
  cancelled: "cancelled",
  refusal: "refused",
  max_tokens: "limit",
  max_turn_requests: "limit"
}

const conclude = Effect.fnUntraced(function* (turn: Turn, transcript: Transcript.Transcript, result: PromptResult) {
  yield* turn.emit(transcript.usage(result))
  const reason = stopReasons[result.stopReason]
  if (reason === undefined) return yield* Failures.protocolBroken(turn.runtime, "session/prompt")
  const isOver = reason === "completed" || reason === "cancelled"
  if (isOver && transcript.wasRefused() && transcript.errorText() === "" && !(yield* Ref.get(turn.cancelled)))
    return "denied"
  if (reason !== "completed") return reason
  const error = transcript.errorText()
  if (error !== "") return yield* Failures.reported(error, turn)
  return transcript.hasOutput() ? reason : yield* Failures.noOutput(turn.runtime)
})

/** Every agent takes text and links to resources; that it takes more would have to be asked. */
const promptBlock = (block: PromptBlock): object =>
  block.type === "text"
    ? block
    : {
        type: "resource_link",
        uri: pathToFileURL(block.path).href,
        name: block.name,
        size: block.size,
        ...(block.mediaType !== null && { mimeType: block.mediaType })
      }

const prompt = Effect.fnUntraced(function* (
  turn: Turn,
  peer: JsonRpc.Peer,
  sessionId: string,
  answered: Deferred.Deferred<void>
) {
  const transcript = Transcript.make(sessionId, turn.settings, turn.scrubber)
  yield* Ref.set(turn.transcript, Option.some(transcript))
  const params = { sessionId, prompt: turn.input.prompt.map(promptBlock) }
  const answer = yield* Effect.fork(
    ask(turn, peer, "session/prompt", params, PromptResult).pipe(
      Effect.catchTag("RpcError", failed(turn)),
      Effect.ensuring(Deferred.succeed(answered, undefined))
    )
  )
  const afterCancel = turn.input.cancel.pipe(
    Effect.zipRight(Ref.set(turn.cancelled, true)),
    Effect.zipRight(
      // An agent that does not even read what it is told is waited for no longer than one that does not answer.
      Effect.ignore(peer.notify("session/cancel", { sessionId })).pipe(
        Effect.zipRight(Deferred.succeed(turn.cancelSent, undefined)),
        Effect.zipRight(Effect.option(Fiber.join(answer))),
        Effect.timeoutOption(turn.settings.cancel_timeout_ms)
      )
    ),
    Effect.map(Option.flatten)
  )
  const result = yield* Effect.raceFirst(Effect.map(Fiber.join(answer), Option.some), afterCancel).pipe(
    // The answer may fail because of the cancellation, just before the cancelling side is heard.
    Effect.catchAll((failure) =>
      Effect.flatMap(Ref.get(turn.cancelled), (asked) => (asked ? Effect.succeedNone : Effect.fail(failure)))
    ),
    // What the agent says from now on would open again what is closed here.
    Effect.ensuring(Ref.set(turn.transcript, Option.none())),
    Effect.tap(() => turn.emit(transcript.finish())),
    Effect.tapError(() => turn.emit(transcript.finish()))
  )
  return yield* Option.match(result, {
    onNone: () => Effect.succeed<StopReason>("cancelled"),
    onSome: (answer) => conclude(turn, transcript, answer)
  })
})

/** What the agent is asked before it is made to end. A prompt without an answer is cancelled first. */
const stopHooks = (peer: JsonRpc.Peer, sessionId: string, answered: Deferred.Deferred<void>): StopHooks => ({
  cancel: Effect.flatMap(Deferred.isDone(answered), (done) =>
    done ? Effect.void : Effect.zipRight(peer.notify("session/cancel", { sessionId }), Deferred.await(answered))
  ),
  close: peer.request("session/close", { sessionId })
})

const unavailable = (error: ExecutorError) => Failures.executorUnavailable(error.message, error.kind !== "unavailable")

const runSession = Effect.fnUntraced(function* (turn: Turn) {
  const command = yield* Launch.prepare(turn.input, turn.runtime)
  const process = yield* Effect.mapError(turn.input.executor.spawn(command), unavailable)
  yield* failpoint("turn.spawned")
  yield* Effect.forkScoped(watchDeadline(turn))
  const peer = makePeer(turn, process)
  yield* Effect.forkScoped(watchOutput(turn, process, peer))
  yield* Effect.forkScoped(watchStderr(turn, process))
  const answered = yield* Deferred.make<void>()
  const begin = Effect.gen(function* () {
    yield* inTime(turn)(initialize(turn, peer))
    const { id, session } = yield* inTime(turn)(openSession(turn, peer))
    yield* Effect.addFinalizer(() => process.stop(stopHooks(peer, id, answered)))
    yield* inTime(turn)(selectModel(turn, peer, id, session))
    return id
  })
  const id = yield* Effect.raceFirst(begin, Effect.as(turn.input.cancel, undefined))
  if (id === undefined || (turn.input.beforePrompt !== undefined && !(yield* turn.input.beforePrompt(id)))) {
    yield* Deferred.succeed(answered, undefined)
    return "cancelled" as const
  }
  yield* Effect.forkScoped(watchSilence(turn))
  return yield* prompt(turn, peer, id, answered)
})

const run = Effect.fnUntraced(function* (settings: AcpSettings, input: TurnInput, emit: Turn["emit"]) {
  const { runtime } = input.manifest
  if (runtime === null) return yield* Failures.executorUnavailable(`${input.manifest.provider_id} is disabled.`, false)
  const turn = yield* makeTurn(input, runtime, settings, emit)
  const stop_reason = yield* Effect.scoped(runSession(turn))
  yield* emit([{ _tag: "ended", stop_reason }])
})

/** One turn over the Agent Client Protocol, version 1. */
const runTurn =
  (settings: AcpSettings): RunTurn =>
  (input) =>
    Stream.unwrapScoped(
      Effect.gen(function* () {
        const events = yield* Mailbox.make<HarnessEvent, HarnessFailure>({ capacity: waitingEvents })
        yield* run(settings, input, (batch) => Effect.asVoid(events.offerAll(batch))).pipe(
          Mailbox.into(events),
          Effect.forkScoped
        )
        return Mailbox.toStream(events)
      })
    )

/** For agents that speak the Agent Client Protocol. */
export const acpDriver: HarnessDriver = {
  driver: "acp",
  bind: (settings) => Effect.map(Schema.decodeUnknown(AcpSettings, { onExcessProperty: "error" })(settings), runTurn)
}
