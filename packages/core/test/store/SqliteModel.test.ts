import { isDeepStrictEqual } from "node:util"
import { assert, it } from "@effect/vitest"
import { Effect, Either, Exit, Fiber, Runtime } from "effect"
import * as fc from "fast-check"
import { nextTurn, openThings } from "./SqliteFiles.js"

/** The steps of a command, one after the other. A nested transaction is given up when it fails, and the command goes on. */
type Step =
  | { readonly kind: "write"; readonly name: string }
  | { readonly kind: "read" }
  | { readonly kind: "yield" }
  | { readonly kind: "wait" }
  | { readonly kind: "nest"; readonly steps: ReadonlyArray<Step>; readonly fails: boolean }

/** The end that a command comes to by itself, and the turn of the loop after its arrival in which it is interrupted, if it is. */
interface Command {
  readonly steps: ReadonlyArray<Step>
  readonly end: "succeeds" | "fails" | "dies" | "interrupts itself"
  readonly interruptedAfter: number | null
  readonly arrivesAfter: number
}

const names = ["a", "b", "c"]

const { step } = fc.letrec<{ step: Step; nest: Step }>((tie) => ({
  step: fc.oneof(
    { depthSize: "small", withCrossShrink: true },
    fc.record({ kind: fc.constant("write" as const), name: fc.constantFrom(...names) }),
    fc.record({ kind: fc.constantFrom("read" as const, "yield" as const, "wait" as const) }),
    tie("nest")
  ),
  nest: fc.record({
    kind: fc.constant("nest" as const),
    steps: fc.array(tie("step"), { maxLength: 3 }),
    fails: fc.boolean()
  })
}))

const command: fc.Arbitrary<Command> = fc.record({
  steps: fc.array(step, { maxLength: 5 }),
  end: fc.constantFrom("succeeds", "succeeds", "succeeds", "fails", "dies", "interrupts itself"),
  interruptedAfter: fc.option(fc.nat(4), { freq: 3 }),
  arrivesAfter: fc.constantFrom(0, 0, 0, 1, 2)
})

/** The size of each thing: how often it was written. */
type State = Readonly<Record<string, number>>

const written = (state: State, name: string): State => ({ ...state, [name]: (state[name] ?? 0) + 1 })

/** The state that a command found when its turn began, and the state that it would leave. */
interface Run {
  readonly command: number
  readonly found: State
  left: State
  /** It came to its end, so that who interrupts it later comes too late, or gets no answer to what is kept. */
  isDone: boolean
}

const play = (commands: ReadonlyArray<Command>) =>
  Effect.gen(function* () {
    const { db, other } = yield* openThings({ synchronous: "off" })
    const { sql } = db
    const write = db.prepare(
      (name: string) => sql`insert into things (name, size) values (${name}, 1)
      on conflict (name) do update set size = things.size + 1`
    )
    const readAll = db.prepare(() => sql<{ name: string; size: number }>`select name, size from things order by name`)
    const state = Effect.map(
      db.all(readAll()),
      (rows): State => Object.fromEntries(rows.map((row) => [row.name, row.size]))
    )
    const runs: Array<Run> = []
    const ended: Array<number> = []

    const take = (steps: ReadonlyArray<Step>, run: Run): Effect.Effect<void> =>
      Effect.forEach(
        steps,
        (each) => {
          switch (each.kind) {
            case "write":
              run.left = written(run.left, each.name)
              return db.run(write(each.name))
            case "read":
              return Effect.map(state, (found) => assert.deepStrictEqual(found, run.left))
            case "yield":
              return Effect.yieldNow()
            case "wait":
              return nextTurn
            case "nest": {
              const before = run.left
              const inner = Effect.zipRight(take(each.steps, run), each.fails ? Effect.fail("given up") : Effect.void)
              return Effect.map(Effect.either(db.transaction(inner)), (outcome) => {
                if (Either.isLeft(outcome)) run.left = before
              })
            }
          }
        },
        { discard: true }
      )

    const body = (index: number, { end, steps }: Command) =>
      Effect.gen(function* () {
        const found = yield* state
        const run: Run = { command: index, found, left: found, isDone: false }
        runs.push(run)
        yield* take(steps, run)
        if (end === "fails") return yield* Effect.fail("failed")
        if (end === "dies") return yield* Effect.dieMessage("died")
        if (end === "interrupts itself") return yield* Effect.interrupt
        run.isDone = true
      })

    /** Reads what is committed while the commands run: it holds all that has been acknowledged, and never goes back. */
    const total = (seen: State) => Object.values(seen).reduce((sum, size) => sum + size, 0)
    let acknowledged = 0
    let isOver = false
    const watcher = yield* Effect.fork(
      Effect.iterate(0, {
        while: () => !isOver,
        body: (before) =>
          Effect.gen(function* () {
            const least = Math.max(before, acknowledged)
            const seen = total(yield* state)
            assert.isAtLeast(seen, least)
            yield* nextTurn
            return seen
          })
      })
    )

    const arrive = (each: Command, index: number) =>
      Effect.gen(function* () {
        for (let turn = 0; turn < each.arrivesAfter; turn++) yield* nextTurn
        const outcome = Effect.exit(db.transaction(body(index, each)))
        const fiber = yield* Effect.fork(
          Effect.zipLeft(
            outcome,
            Effect.sync(() => ended.push(index))
          )
        )
        // It has its place in the queue before the next one comes.
        yield* Effect.yieldNow()
        const interrupting =
          each.interruptedAfter === null
            ? undefined
            : yield* Effect.fork(
                Effect.zipRight(Effect.repeatN(nextTurn, each.interruptedAfter), Fiber.interrupt(fiber))
              )
        return { fiber, interrupting }
      })
    const arrivals = yield* Effect.forEach(commands, arrive)
    const kept = new Set<number>()
    for (const [index, { fiber, interrupting }] of arrivals.entries()) {
      const exit = Exit.flatten(yield* Fiber.await(fiber))
      if (Exit.isSuccess(exit)) {
        kept.add(index)
        acknowledged = Math.max(acknowledged, total(runs.find((run) => run.command === index)?.left ?? {}))
      } else if (commands[index]?.interruptedAfter === null) assert.notStrictEqual(commands[index]?.end, "succeeds")
      if (interrupting !== undefined) yield* Fiber.join(interrupting)
    }
    isOver = true
    yield* Fiber.join(watcher)

    // One after the other, in the order in which they came; each on what those before it have left.
    const order = runs.map((run) => run.command)
    assert.deepStrictEqual(
      order,
      [...order].sort((one, two) => one - two)
    )
    const ran = ended.filter((index) => kept.has(index))
    assert.deepStrictEqual(
      ran,
      [...ran].sort((one, two) => one - two)
    )
    const rows = other.prepare<[], { name: string; size: number }>("select name, size from things order by name").all()
    const final: State = Object.fromEntries(rows.map((row) => [row.name, row.size]))
    let expected: State = {}
    for (const [at, run] of runs.entries()) {
      assert.deepStrictEqual(run.found, expected)
      const next = runs[at + 1]?.found ?? final
      const mayBeKept = run.isDone && commands[run.command]?.interruptedAfter !== null
      if (kept.has(run.command) || (mayBeKept && isDeepStrictEqual(next, run.left))) expected = run.left
    }
    assert.deepStrictEqual(final, expected)
  }).pipe(Effect.scoped)

it.live(
  "whatever commands do and suffer, what is committed is what those that succeeded have written, in their order",
  () =>
    Effect.gen(function* () {
      const runtime = yield* Effect.runtime()
      yield* Effect.promise(() =>
        fc.assert(
          fc.asyncProperty(fc.array(command, { maxLength: 12 }), (commands) =>
            Runtime.runPromise(runtime)(play(commands))
          ),
          { numRuns: 150 }
        )
      )
    })
)
