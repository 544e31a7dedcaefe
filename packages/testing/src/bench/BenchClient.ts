import type { Socket } from "node:net"
import type { TurnEar } from "@reins/machine/bench/Agents"
import type { Bench } from "@reins/machine/bench/Bench"
import { Cause, Chunk, Deferred, Effect, Exit, Fiber, Mailbox, Option, Schema, Scope, Stream } from "effect"
import { type Frame, readFrames, writeFrame } from "./Frames.js"
import { type Verb, verbs } from "./Protocol.js"

type Ear = Readonly<Record<string, unknown>>

/** A call that waits for its end. */
interface Waiting {
  readonly spec: Verb
  readonly ear: Ear
  /** Takes the values that a call gives before its end. */
  readonly begun: Deferred.Deferred<unknown, unknown>
  readonly end: Deferred.Deferred<unknown, unknown>
  /** Done when nothing of the call is left on the other side. */
  readonly over: Deferred.Deferred<void>
  readonly items: Mailbox.Mailbox<unknown, unknown>
  /** The scope of the call, for answers that need something longer than their question lasts. */
  readonly scope: Scope.CloseableScope
  readonly answers: Map<number, Fiber.RuntimeFiber<void>>
  /** The answers that are streams, each with its next parts; null at its end. */
  readonly streams: Map<number, Effect.Effect<ReadonlyArray<unknown> | null, unknown>>
}

/** The next parts of a stream; null at its end. */
const partsOf = (stream: Stream.Stream<unknown, unknown>) =>
  Effect.map(Stream.toPull(stream), (pull) =>
    Effect.matchEffect(pull, {
      onSuccess: (parts) => Effect.succeed(Chunk.toReadonlyArray(parts)),
      onFailure: Option.match({ onNone: () => Effect.succeed(null), onSome: Effect.fail })
    })
  )

/** The ear of a turn with the observer of its model calls as questions. */
const flatEar = (ear: Ear): Ear => {
  const { calls, ...rest } = ear as Ear & Pick<TurnEar, "calls">
  if (calls === undefined) return rest
  return {
    ...rest,
    admit: (bytes: number | null) =>
      Effect.promise(async () => calls.refusal() ?? (await calls.admit?.(bytes)) ?? { admission: undefined }),
    withdrawn: (leave: Parameters<NonNullable<typeof calls.withdrawn>>[0]) =>
      Effect.sync(() => calls.withdrawn?.(leave)),
    ended: (call: Parameters<typeof calls.ended>[0]) => Effect.sync(() => calls.ended(call))
  }
}

/** The bench at the other end of a socket, which serves it with `serve`. */
export const benchOver = (socket: Socket): Bench["Type"] => {
  const calls = new Map<number, Waiting>()
  const send = (frame: Frame) => Effect.sync(() => writeFrame(socket, frame))
  let ids = 0

  const finish = (id: number, waiting: Waiting, exit: Exit.Exit<unknown, unknown>): void => {
    calls.delete(id)
    Effect.runFork(
      Effect.all([
        Deferred.done(waiting.end, exit),
        Deferred.done(waiting.begun, exit),
        waiting.items.done(Exit.asVoid(exit)),
        Deferred.succeed(waiting.over, undefined),
        Scope.close(waiting.scope, Exit.void)
      ])
    )
  }

  /** Answers a question. An answer that fails ends the call with its failure. */
  const answer = (id: number, waiting: Waiting, frame: Extract<Frame, { t: "ask" }>): void => {
    const question = waiting.spec.ear[frame.name]
    const found = waiting.ear[frame.name]
    if (question === undefined || found === undefined) return
    const said = Effect.gen(function* () {
      const args = yield* Effect.orDie(Schema.decodeUnknown(Schema.Tuple(...(question.takes ?? [])))(frame.args))
      if (frame.of !== undefined) {
        // Boundary: the question says that it streams.
        const begun =
          waiting.streams.get(frame.of) ??
          (yield* partsOf((found as (...args: ReadonlyArray<unknown>) => Stream.Stream<unknown, unknown>)(...args)))
        waiting.streams.set(frame.of, begun)
        const parts = yield* begun
        return parts && (yield* Effect.orDie(Schema.encode(Schema.Array(question.gives))(parts)))
      }
      // Boundary: the question says what it is.
      const value = yield* (typeof found === "function" ? found(...args) : found) as Effect.Effect<unknown, unknown>
      return yield* Effect.orDie(Schema.encode(question.gives)(value))
    })
    const fiber = Effect.runFork(
      Scope.extend(said, waiting.scope).pipe(
        Effect.flatMap((value) => send({ t: "reply", id, ask: frame.ask, value })),
        Effect.catchAllCause((cause) =>
          Cause.isInterruptedOnly(cause)
            ? Effect.void
            : Effect.all([
                Deferred.failCause(waiting.end, cause),
                Deferred.failCause(waiting.begun, cause),
                send({ t: "unanswered", id, ask: frame.ask }),
                send({ t: "cancel", id })
              ])
        ),
        Effect.asVoid
      )
    )
    waiting.answers.set(frame.ask, fiber)
  }

  readFrames(socket, (frame) => {
    const waiting = calls.get(frame.id)
    if (waiting === undefined) return
    const { id } = frame
    switch (frame.t) {
      case "begun":
        return void Effect.runFork(
          Deferred.done(
            waiting.begun,
            waiting.spec.form === "scoped" ? decode(waiting.spec.gives, frame.value) : Exit.void
          )
        )
      case "items":
        return void Effect.runFork(
          Effect.forEach(frame.items, (item) => Effect.orDie(Schema.decodeUnknown(waiting.spec.gives)(item))).pipe(
            Effect.flatMap((items) => waiting.items.offerAll(items)),
            Effect.zipRight(send({ t: "more", id }))
          )
        )
      case "done": {
        const value = waiting.spec.form === "stream" ? Exit.void : decode(waiting.spec.gives, frame.value)
        return finish(id, waiting, value)
      }
      case "fail":
        return finish(id, waiting, Exit.flatMap(decode(waiting.spec.fails, frame.error), Exit.fail))
      case "defect":
        return finish(id, waiting, Exit.die(new Error(frame.message)))
      case "interrupted":
        return finish(id, waiting, Effect.runSync(Effect.exit(Effect.interrupt)))
      case "ask":
        return answer(id, waiting, frame)
      case "unask": {
        const fiber = waiting.answers.get(frame.ask)
        return void (fiber && Effect.runFork(Fiber.interrupt(fiber)))
      }
    }
  })

  // Nobody waits for a bench that is gone.
  socket.once("close", () => {
    for (const [id, waiting] of calls) finish(id, waiting, Exit.die(new Error("the bench is gone")))
  })

  const begin = Effect.fnUntraced(function* (group: string, verb: string, spec: Verb, args: ReadonlyArray<unknown>) {
    const id = ids++
    const last = args[spec.takes.length]
    const ear = flatEar(typeof last === "function" ? { hear: last } : ((last ?? {}) as Ear))
    const encoded = yield* Effect.orDie(
      Schema.encode(Schema.Tuple(...spec.takes))(args.slice(0, spec.takes.length) as unknown as readonly [])
    )
    const waiting: Waiting = {
      spec,
      ear,
      begun: yield* Deferred.make<unknown, unknown>(),
      end: yield* Deferred.make<unknown, unknown>(),
      over: yield* Deferred.make<void>(),
      items: yield* Mailbox.make<unknown, unknown>({ capacity: 256 }),
      scope: yield* Scope.make(),
      answers: new Map(),
      streams: new Map()
    }
    calls.set(id, waiting)
    const has = Object.keys(ear).filter((name) => ear[name] !== undefined)
    yield* send({ t: "call", id, group, verb, args: encoded, has })
    return { id, waiting }
  })
  type Begun = Effect.Effect.Success<ReturnType<typeof begin>>

  const cancel = ({ id, waiting }: Begun) =>
    Effect.suspend(() =>
      calls.has(id) ? Effect.zipRight(send({ t: "cancel", id }), Deferred.await(waiting.over)) : Effect.void
    )
  const started = ({ waiting }: Begun) => Deferred.await(waiting.begun)

  const callOf = (group: string, verb: string, spec: Verb, args: ReadonlyArray<unknown>) => {
    const call = begin(group, verb, spec, args)
    switch (spec.form) {
      case "value":
      case "effect":
        return Effect.acquireUseRelease(call, ({ waiting }) => Deferred.await(waiting.end), cancel)
      case "later":
        return Effect.flatMap(call, (begun) => Effect.as(started(begun), Deferred.await(begun.waiting.end)))
      case "scoped":
        return Effect.flatMap(Effect.acquireRelease(call, cancel), started)
      case "standing":
        return Effect.flatMap(call, started)
      case "stream":
        return Stream.unwrapScoped(
          Effect.map(Effect.acquireRelease(call, cancel), ({ waiting }) => Mailbox.toStream(waiting.items))
        )
    }
  }

  const groups = Object.entries(verbs).map(([group, members]) => [
    group,
    Object.fromEntries(
      Object.entries(members).map(([verb, spec]) => [
        verb,
        spec.form === "value"
          ? Effect.suspend(() => callOf(group, verb, spec, []) as Effect.Effect<unknown, unknown>)
          : (...args: ReadonlyArray<unknown>) => callOf(group, verb, spec, args)
      ])
    )
  ])
  // Boundary: the table of verbs has those of a bench.
  return Object.fromEntries(groups) as Bench["Type"]
}

const decode = (schema: Verb["gives"], value: unknown): Exit.Exit<unknown> =>
  Effect.runSync(Effect.exit(Effect.orDie(Schema.decodeUnknown(schema)(value))))
