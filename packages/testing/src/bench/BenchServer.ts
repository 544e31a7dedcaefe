import type { Socket } from "node:net"
import type { Bench } from "@reins/machine/bench/Bench"
import type { CallLeave, CallObserver, ModelCall } from "@reins/machine/relay/gateway/ModelCall"
import { Cause, Chunk, Deferred, Effect, Exit, Fiber, Option, Schema, type Scope, Stream } from "effect"
import { type Frame, readFrames, writeFrame } from "./Frames.js"
import { type Question, type Verb, verbs } from "./Protocol.js"

type Ear = Readonly<Record<string, unknown>>
type Ask = (name: string, args: ReadonlyArray<unknown>, of?: number) => Effect.Effect<unknown>

/** A call that is under way, with the questions that wait for their answers. */
interface Running {
  readonly asked: Map<number, Deferred.Deferred<unknown>>
  /** Lets the next part of a stream out. */
  more: Deferred.Deferred<void>
  fiber: Fiber.RuntimeFiber<void> | undefined
}

/** The observer of model calls whose methods are questions. */
const observerOf = (ask: Ask): CallObserver => ({
  refusal: () => undefined,
  // Boundary: the schema of the question says what its answer is.
  admit: (bytes) => Effect.runPromise(ask("admit", [bytes])) as ReturnType<NonNullable<CallObserver["admit"]>>,
  withdrawn: (leave: CallLeave) => void Effect.runFork(ask("withdrawn", [leave])),
  ended: (call: ModelCall) => void Effect.runFork(ask("ended", [call]))
})

/** A stream whose parts are answers. */
const streamOf = (ask: Ask, name: string, of: number, args: ReadonlyArray<unknown>) =>
  Stream.repeatEffectChunkOption(
    Effect.flatMap(ask(name, args, of), (parts) =>
      // Boundary: the schema of the question says what its answer is.
      parts === null ? Effect.fail(Option.none()) : Effect.succeed(Chunk.fromIterable(parts as ReadonlyArray<unknown>))
    )
  )

/** The ear of a call: each question that the other end answers, as an effect or as a function. */
const earOf = ({ ear }: Verb, has: ReadonlyArray<string>, ask: Ask): Ear => {
  let opened = 0
  const answered = (name: string, { streams, takes }: Question) => {
    if (takes === null) return ask(name, [])
    return (...args: ReadonlyArray<unknown>) =>
      streams ? Stream.suspend(() => streamOf(ask, name, opened++, args)) : ask(name, args)
  }
  const questions = has.flatMap((name) => {
    const question = ear[name]
    return question === undefined ? [] : [[name, answered(name, question)] as const]
  })
  return { ...Object.fromEntries(questions), ...(has.includes("ended") && { calls: observerOf(ask) }) }
}

/** One end of a connection that serves a bench. */
interface Serving {
  readonly bench: Bench["Type"]
  readonly calls: Map<number, Running>
  readonly send: (frame: Frame) => Effect.Effect<void>
  readonly nextAsk: () => number
}

type CallFrame = Extract<Frame, { t: "call" }>

/** Asks the other end of a call, and waits for the answer. */
const askerOf = ({ nextAsk, send }: Serving, id: number, spec: Verb, running: Running): Ask =>
  Effect.fnUntraced(function* (name, args, of) {
    const question = spec.ear[name]
    if (question === undefined) return yield* Effect.dieMessage(`no question ${name}`)
    const ask = nextAsk()
    const answer = yield* Deferred.make<unknown>()
    running.asked.set(ask, answer)
    const encoded = yield* Schema.encodeUnknown(Schema.Tuple(...(question.takes ?? [])))(args)
    yield* send({ t: "ask", id, ask, name, args: encoded, ...(of !== undefined && { of }) })
    const value = yield* Deferred.await(answer).pipe(
      Effect.onInterrupt(() => send({ t: "unask", id, ask })),
      Effect.ensuring(Effect.sync(() => running.asked.delete(ask)))
    )
    return yield* Schema.decodeUnknown(question.streams ? Schema.NullOr(Schema.Array(question.gives)) : question.gives)(
      value
    )
  }, Effect.orDie)

/** Sends the parts of a stream, each when the other end has taken the one before. */
const sendParts = (
  { send }: Serving,
  id: number,
  spec: Verb,
  running: Running,
  parts: Stream.Stream<unknown, unknown>
) =>
  Stream.runForEachChunk(parts, (chunk) =>
    Effect.gen(function* () {
      const next = yield* Deferred.make<void>()
      running.more = next
      const items = yield* Effect.orDie(
        Effect.forEach(Chunk.toReadonlyArray(chunk), (item) => Schema.encode(spec.gives)(item))
      )
      yield* send({ t: "items", id, items })
      yield* Deferred.await(next)
    })
  )

/** Calls a verb of the bench. */
const work = Effect.fnUntraced(function* (serving: Serving, frame: CallFrame, spec: Verb, running: Running) {
  const { group, has, id, verb } = frame
  const args = yield* Effect.orDie(Schema.decodeUnknown(Schema.Tuple(...spec.takes))(frame.args))
  const ear = earOf(spec, has, askerOf(serving, id, spec, running))
  // Boundary: the table of verbs has the groups of a bench and their verbs.
  const found = (serving.bench as unknown as Record<string, Record<string, unknown>>)[group]?.[verb]
  const call: unknown = typeof found === "function" ? found(...args, "hear" in ear ? ear["hear"] : ear) : found
  // Boundary: the form of a verb says what it gives.
  if (spec.form === "stream")
    return yield* sendParts(serving, id, spec, running, call as Stream.Stream<unknown, unknown>)
  const effect = call as Effect.Effect<unknown, unknown, Scope.Scope>
  if (spec.form === "effect" || spec.form === "value") return yield* effect
  const begun = Effect.tap(effect, (value) =>
    Effect.flatMap(spec.form === "scoped" ? Effect.orDie(Schema.encode(spec.gives)(value)) : Effect.void, (value) =>
      serving.send({ t: "begun", id, value })
    )
  )
  if (spec.form === "later") return yield* Effect.flatten(begun as Effect.Effect<Effect.Effect<void>>)
  return yield* Effect.zipRight(begun, Effect.never)
}, Effect.scoped)

/** Tells the other end how a call has ended. */
const tellEnd = ({ send }: Serving, id: number, spec: Verb, exit: Exit.Exit<unknown, unknown>): Effect.Effect<void> => {
  if (Exit.isSuccess(exit)) {
    const value = spec.form === "stream" ? Effect.void : Effect.orDie(Schema.encode(spec.gives)(exit.value))
    return Effect.flatMap(value, (value) => send({ t: "done", id, value }))
  }
  const failure = Cause.failureOption(exit.cause)
  if (failure._tag === "Some")
    return Effect.flatMap(Effect.orDie(Schema.encode(spec.fails)(failure.value)), (error) =>
      send({ t: "fail", id, error })
    )
  return Cause.isInterruptedOnly(exit.cause)
    ? send({ t: "interrupted", id })
    : send({ t: "defect", id, message: Cause.pretty(exit.cause) })
}

const begin = (serving: Serving, frame: CallFrame): void => {
  const spec = verbs[frame.group]?.[frame.verb]
  const { id } = frame
  const { calls, send } = serving
  if (spec === undefined) {
    Effect.runFork(send({ t: "defect", id, message: `no verb ${frame.verb}` }))
    return
  }
  const running: Running = { asked: new Map(), more: Effect.runSync(Deferred.make<void>()), fiber: undefined }
  calls.set(id, running)
  running.fiber = Effect.runFork(
    Effect.uninterruptibleMask((restore) =>
      Effect.exit(restore(work(serving, frame, spec, running))).pipe(
        Effect.flatMap((exit) => tellEnd(serving, id, spec, exit)),
        Effect.catchAllCause((cause) => send({ t: "defect", id, message: Cause.pretty(cause) })),
        Effect.ensuring(Effect.sync(() => calls.delete(id)))
      )
    )
  )
}

const take = (serving: Serving, frame: Frame): void => {
  if (frame.t === "call") begin(serving, frame)
  const running = serving.calls.get(frame.id)
  if (running === undefined) return
  if (frame.t === "cancel" && running.fiber !== undefined) Effect.runFork(Fiber.interrupt(running.fiber))
  if (frame.t === "more") Effect.runFork(Deferred.succeed(running.more, undefined))
  if (frame.t === "reply" || frame.t === "unanswered") {
    const answer = running.asked.get(frame.ask)
    const end = frame.t === "reply" ? Exit.succeed(frame.value) : Exit.die(new Error("the question has no answer"))
    if (answer !== undefined) Effect.runFork(Deferred.done(answer, end))
  }
}

/** Serves a bench on a socket, until that ends. */
export const serve = (bench: Bench["Type"], socket: Socket): Effect.Effect<void> =>
  Effect.gen(function* () {
    let asks = 0
    const serving: Serving = {
      bench,
      calls: new Map(),
      send: (frame) => Effect.sync(() => writeFrame(socket, frame)),
      nextAsk: () => asks++
    }
    readFrames(socket, (frame) => take(serving, frame))
    yield* Effect.async<void>((resume) => {
      socket.once("close", () => resume(Effect.void))
    })
    const fibers = [...serving.calls.values()].flatMap(({ fiber }) => (fiber === undefined ? [] : [fiber]))
    yield* Fiber.interruptAll(fibers)
  })
