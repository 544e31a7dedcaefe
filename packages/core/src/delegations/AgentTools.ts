import { canonicalJson } from "@reins/base/base/CanonicalJson"
import { CoreConfig } from "@reins/base/base/CoreConfig"
import { cutText } from "@reins/base/base/CutText"
import { ChangesetId } from "@reins/base/domain/Ids"
import { notFound, ReinsError } from "@reins/base/domain/ReinsError"
import { Duration, Effect, Either, Layer, Schedule, Schema } from "effect"
import { Changesets } from "../changes/Changesets.js"
import type { SessionRow } from "../sessions/rows/SessionRow.js"
import { ResultSchema } from "../sessions/rows/TurnResult.js"
import type { Command } from "../store/Command.js"
import { Idempotency } from "../store/Idempotency.js"
import { type HeldCall, makeTool, ToolFailed, type ToolTurn } from "../tools/Tool.js"
import { ToolSources } from "../tools/ToolSources.js"
import { applyTool } from "./ApplyTool.js"
import { type Delegation, delegationStates } from "./Delegation.js"
import { DelegationStore } from "./DelegationStore.js"
import { Delegations } from "./Delegations.js"
import { DelegationRole, Instructions } from "./DelegationsApi.js"
import { changesFields, DelegationName, makeChangesOf, makeFind, optionalInput, text } from "./NamedDelegation.js"
import { Waits } from "./Waits.js"

/** The tools with which agents delegate work and follow it. They do what the endpoints do, for the account that the agent acts for. */
export const layer = Layer.effectDiscard(
  Effect.gen(function* () {
    const { limits } = yield* CoreConfig
    const sources = yield* ToolSources
    const store = yield* DelegationStore
    const [delegate, ...others] = yield* Effect.all([
      delegateTool,
      waitTool,
      messageTool,
      readDiffTool,
      applyTool,
      cancelTool
    ])

    const depthOf = ({ lineage: { parent_delegation_id: id } }: SessionRow) =>
      id === null ? Effect.succeed(0) : Effect.map(store.find(id), (own) => own?.depth ?? 0)

    yield* sources.register({
      // Nobody below the deepest level delegates, so nobody there has anything to follow.
      toolsOf: (session) =>
        Effect.map(depthOf(session), (depth) => (depth < limits.delegationDepth ? [delegate, ...others] : [])),
      delegatingTurnOf: ({ lineage: { parent_delegation_id: id } }) =>
        id === null ? Effect.succeed(undefined) : store.findTurn(id)
    })
  })
)

/** A call of the same key runs at the same time: its answer is there in a moment. */
const isBeside = (error: unknown): boolean => error instanceof ReinsError && error.code === "idempotency_in_progress"

/**
 * Runs a command once for a key, and tells whether it had run before. Only the id that it gives is stored. A refusal is decided anew, because
 * what stood in the way may be gone.
 */
const makeOnce = Effect.map(
  Idempotency,
  (idempotency) =>
    <A, E>(turn: ToolTurn, key: string, command: Command<A, ReinsError | E>, idOf: (result: A) => string) =>
      Effect.flatMap(
        Effect.retry(
          idempotency.run({
            scope: `tool:${turn.session.id}`,
            workspace: turn.session.workspace_id,
            key,
            // The words may differ when the model asks again: the key alone tells what it wants.
            fingerprint: "tool",
            sealed: false,
            command,
            encode: (result) => ({ status: 200, body: JSON.stringify({ id: idOf(result) }) }),
            encodeError: null
          }),
          { while: isBeside, schedule: Schedule.spaced("50 millis"), times: 200 }
        ),
        ({ answer, replayed }) => {
          const stored: { readonly id?: string; readonly message?: string } = JSON.parse(answer.body ?? "{}")
          return stored.id === undefined
            ? Effect.fail(new ToolFailed({ message: stored.message ?? "It was refused." }))
            : Effect.succeed({ id: stored.id, replayed })
        }
      )
)

const shown = ({ child_session_id, id, role, state }: Delegation) => ({
  delegation_id: id,
  name: role,
  session_id: child_session_id,
  state
})

const delegateKey = ({ rootTurnId }: ToolTurn, name: string): string => `delegate:${rootTurnId}:${name}`

const delegateTool = Effect.gen(function* () {
  const delegations = yield* Delegations
  const store = yield* DelegationStore
  const runOnce = yield* makeOnce
  return makeTool({
    name: "delegate",
    description:
      "Gives a part of the work to another agent, which works in a session and a working tree of its own and sees nothing of this conversation. " +
      "Write down all that it has to know. A name that was used in this work gives that delegation again, with existing: true. " +
      "Wait for it with wait, and read what it has changed with read_diff.",
    is_read_only: false,
    input: Schema.Struct({
      name: DelegationRole.annotations({
        description: "A short name of the work, on one line. The same name is the same work."
      }),
      instructions: Instructions.annotations({ description: "All that the other agent is told." }),
      provider: optionalInput(text("The id of the agent to use; the one of this session when absent.")),
      model: optionalInput(text("The model of that provider; its default when absent.")),
      changeset_id: optionalInput(text("A changeset whose files the other agent begins with.")),
      result_schema: optionalInput(
        ResultSchema.annotations({ description: "A JSON Schema that the value of the result has to satisfy." })
      ),
      deadline_seconds: optionalInput(
        Schema.Int.pipe(Schema.between(1, 604_800)).annotations({
          description: "The seconds after which the work fails."
        })
      )
    }),
    keyOf: (turn, { name }) => delegateKey(turn, name),
    run: Effect.fnUntraced(function* (turn, input) {
      const { principal, session } = turn
      const findLive = Effect.map(store.findNamed(session.id, input.name), (found) =>
        found === undefined || delegationStates.isTerminal(found.state)
          ? undefined
          : { ...shown(found), existing: true }
      )
      const live = yield* findLive
      if (live !== undefined) return live
      if (input.model !== undefined && input.provider === undefined)
        return yield* new ToolFailed({ message: "model: name the provider too, because each has models of its own." })
      const command = delegations.spawn(principal, session.id, {
        role: input.name,
        instructions: input.instructions,
        ...(input.provider !== undefined && {
          harness: { provider_id: input.provider, ...(input.model !== undefined && { model: input.model }) }
        }),
        ...(input.changeset_id !== undefined && { changeset_id: yield* changesetId(input.changeset_id) }),
        ...(input.result_schema !== undefined && { result_schema: input.result_schema }),
        ...(input.deadline_seconds !== undefined && { deadline_seconds: input.deadline_seconds })
      })
      const made = yield* Effect.either(
        runOnce(turn, delegateKey(turn, input.name), command, ({ delegation }) => delegation.id)
      )
      // Another call of the same name may have taken the last place.
      if (Either.isLeft(made)) return (yield* findLive) ?? (yield* Effect.fail(made.left))
      const { id, replayed } = made.right
      return { ...shown(yield* delegations.get(principal, id)), existing: replayed }
    })
  })
})

/** Enough for a wait that begins anew after each answer, and short enough that a lost agent keeps nobody waiting. */
const longestWait = Duration.toSeconds("1 hour")

const waitTool = Effect.gen(function* () {
  const waits = yield* Waits
  const find = yield* makeFind
  const store = yield* DelegationStore

  /** Waits until the delegation has ended. */
  const ended = ({ principal }: ToolTurn, id: string) =>
    Effect.asVoid(
      Effect.repeat(waits.wait(principal, id, { timeout_seconds: 60 }), {
        until: ({ delegation }) => delegationStates.isTerminal(delegation.state)
      })
    )

  return makeTool({
    name: "wait",
    description:
      "Waits for delegations to end, and gives their states and results. With pending: true some go on: call wait again. " +
      "Without delegation_ids it waits for all that have not ended.",
    is_read_only: true,
    input: Schema.Struct({
      delegation_ids: optionalInput(Schema.Array(DelegationName).pipe(Schema.maxItems(50))),
      for: optionalInput(
        Schema.Literal("any", "all").annotations({ description: "any: until one has ended; all when absent." })
      ),
      seconds: optionalInput(
        Schema.Number.pipe(Schema.between(0, longestWait)).annotations({ description: "The longest time to wait." })
      )
    }),
    run: Effect.fnUntraced(function* (turn, input, call) {
      const named = input.delegation_ids ?? (yield* store.live(turn.session.id)).map(({ id }) => id)
      const found = yield* Effect.forEach(named, (each) => find(turn, each))
      const waiting = found.map(({ id }) => ended(turn, id))
      const all =
        input.for === "any" && waiting.length > 0
          ? Effect.raceAll(waiting)
          : Effect.all(waiting, { concurrency: "unbounded", discard: true })
      yield* Effect.timeoutOption(all, patienceOf(call, input.seconds))
      const states = yield* Effect.forEach(found, ({ id }) =>
        Effect.map(waits.wait(turn.principal, id, { timeout_seconds: 0 }), ({ delegation, result }) => ({
          ...shown(delegation),
          ...(delegation.reason !== null && { reason: delegation.reason, message: delegation.reason_message }),
          ...(result !== undefined && {
            result: {
              summary: result.summary,
              value: result.value,
              verdict: result.verdict,
              changeset_id: result.changeset_id
            }
          })
        }))
      )
      return { pending: states.some(({ state }) => !delegationStates.isTerminal(state)), delegations: states }
    })
  })
})

/** A wait ends a little before the agent would give it up. */
const patienceOf = ({ patienceMs }: HeldCall, seconds = longestWait): number =>
  Math.min(seconds * 1000, Math.max(0, patienceMs - 2000), longestWait * 1000)

const messageTool = Effect.gen(function* () {
  const delegations = yield* Delegations
  const find = yield* makeFind
  const runOnce = yield* makeOnce
  const keyOf = ({ rootTurnId }: ToolTurn, input: object) => `message:${rootTurnId}:${canonicalJson(input)}`
  return makeTool({
    name: "message",
    description: "Sends another message to the agent of a delegation that has not ended.",
    is_read_only: false,
    input: Schema.Struct({
      delegation_id: DelegationName,
      content: Instructions.annotations({ description: "What is said." })
    }),
    keyOf,
    run: Effect.fnUntraced(function* (turn, input) {
      const { id } = yield* find(turn, input.delegation_id)
      const command = delegations.send(turn.principal, id, { content: input.content })
      const sent = yield* Effect.catchIf(
        runOnce(turn, keyOf(turn, input), command, ({ message }) => message.id),
        isEnded,
        () => Effect.flatMap(delegations.get(turn.principal, id), hearsNothing)
      )
      const { state } = yield* delegations.get(turn.principal, id)
      return { message_id: sent.id, existing: sent.replayed, state }
    })
  })
})

const isEnded = (error: unknown): boolean => error instanceof ReinsError && error.code === "invalid_transition"

const hearsNothing = ({ role, state }: Delegation) =>
  new ToolFailed({
    message:
      `The work ${JSON.stringify(role)} has ended: it is ${state}, and its agent reads no more messages. ` +
      "Call wait for its result, and delegate what is left under another name."
  })

/** The longest page of a diff, in characters. */
const diffPage = 60_000

const readDiffTool = Effect.gen(function* () {
  const changesets = yield* Changesets
  const changesOf = yield* makeChangesOf
  return makeTool({
    name: "read_diff",
    description:
      "Gives the changes of a changeset as a unified diff, in pages: while next_offset is a number, ask again with it as offset.",
    is_read_only: true,
    input: Schema.Struct({
      ...changesFields,
      path: optionalInput(text("The only file to show.")),
      offset: optionalInput(
        Schema.Int.pipe(Schema.nonNegative()).annotations({ description: "The next_offset of the page before." })
      )
    }),
    run: Effect.fnUntraced(function* (turn, { offset = 0, path, ...named }) {
      const id = yield* changesOf(turn, named)
      const { diff, files, omitted } = yield* changesets.diff(turn.principal, id, path === undefined ? {} : { path })
      const page = cutText(diff.slice(offset), diffPage)
      const next = offset + page.length
      return {
        changeset_id: id,
        files: files.length,
        ...(omitted.length > 0 && { left_out: omitted.map((each) => each.path) }),
        diff: page,
        next_offset: next < diff.length ? next : null
      }
    })
  })
})

const cancelTool = Effect.gen(function* () {
  const delegations = yield* Delegations
  const find = yield* makeFind
  return makeTool({
    name: "cancel",
    description: "Cancels a delegation and ends the session that works on it. One that has ended stays as it is.",
    is_read_only: false,
    input: Schema.Struct({ delegation_id: DelegationName }),
    run: Effect.fnUntraced(function* (turn, input) {
      const found = yield* find(turn, input.delegation_id)
      if (delegationStates.isTerminal(found.state)) return shown(found)
      return yield* delegations.cancel(turn.principal, found.id).pipe(
        Effect.map(shown),
        // It may have ended meanwhile.
        Effect.catchIf(
          (error) => error.code === "invalid_transition",
          () => Effect.map(delegations.get(turn.principal, found.id), shown)
        )
      )
    })
  })
})

const changesetId = (id: string) => Effect.mapError(Schema.decode(ChangesetId)(id), () => notFound())
