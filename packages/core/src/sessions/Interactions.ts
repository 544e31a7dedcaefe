import { canonicalJson } from "@reins/base/base/CanonicalJson"
import { CoreConfig } from "@reins/base/base/CoreConfig"
import { fn } from "@reins/base/base/Traced"
import type { Page } from "@reins/base/domain/Page"
import type { Principal } from "@reins/base/domain/Principal"
import { notFound, ReinsError } from "@reins/base/domain/ReinsError"
import type { RequestInvalid } from "@reins/base/domain/RequestInvalid"
import { Context, Effect, Layer } from "effect"
import { actorOf, type Denied, type Unseen } from "../access/Access.js"
import type { Command } from "../store/Command.js"
import { Journal } from "../store/Journal.js"
import { type InteractionFilter, InteractionStore } from "./questions/InteractionStore.js"
import type { ClaimInput, InteractionAnswer } from "./questions/InteractionsApi.js"
import type { GivenAnswer } from "./questions/ResolveInteraction.js"
import { isOver, ToolCallStore } from "./questions/ToolCallStore.js"
import { type CallClaim, type Interaction, interactionStates } from "./rows/Interaction.js"
import { SessionStore } from "./rows/SessionStore.js"

/** The questions of agents, as people read and answer them. */
export class Interactions extends Context.Tag("@reins/core/sessions/Interactions")<
  Interactions,
  {
    /**
     * The interactions of a session that fit the filter, newest first. The page is empty where the provider does not ask. A session that the
     * principal may not see is `not_found`.
     */
    readonly list: (
      principal: Principal,
      sessionId: string,
      filter: InteractionFilter
    ) => Effect.Effect<Page<Interaction>, Unseen | ReinsError<"invalid_cursor">>
    /**
     * Takes one of the options, by its id, for the agent that waits, with the values of its form and a note. Of a tool call it takes the result.
     * The same answer again changes nothing. Another answer, or an answer that comes too late, fails with `invalid_transition`, and one that the
     * interaction does not take with `RequestInvalid`. A tool call that somebody else has claimed fails with `already_claimed`, and an answer that
     * has seen another subject with `stale_subject`.
     */
    readonly answer: (
      principal: Principal,
      interactionId: string,
      input: InteractionAnswer
    ) => Command<
      Interaction,
      Denied | ReinsError<"invalid_transition" | "already_claimed" | "stale_subject"> | RequestInvalid
    >
    /**
     * Claims a tool call for a holder, so that nobody else answers it for a time, or renews the claim of that holder. Fails with
     * `already_claimed` while another holder has it, and with `invalid_transition` for what is no open tool call.
     */
    readonly claim: (
      principal: Principal,
      interactionId: string,
      input: ClaimInput
    ) => Command<CallClaim, Denied | ReinsError<"invalid_transition" | "already_claimed">>
  }
>() {
  static readonly layer = Layer.effect(
    Interactions,
    Effect.gen(function* () {
      const { toolAnswerImages } = (yield* CoreConfig).limits
      const journal = yield* Journal
      const sessions = yield* SessionStore
      const interactions = yield* InteractionStore
      const calls = yield* ToolCallStore

      const existing = (interactionId: string) =>
        Effect.flatMap(interactions.find(interactionId), (interaction) =>
          interaction === undefined ? Effect.fail(notFound()) : Effect.succeed(interaction)
        )

      /** The interaction as it stands while the commit holds its session, for a principal that may change it. */
      const held = Effect.fnUntraced(function* (principal: Principal, interactionId: string) {
        const { session_id } = yield* existing(interactionId)
        yield* sessions.writable(principal, session_id)
        return yield* existing(interactionId)
      })

      return Interactions.of({
        list: fn("Interactions.list")(function* (principal, sessionId, filter) {
          const session = yield* sessions.readable(principal, sessionId)
          return yield* interactions.list(session.id, filter)
        }),
        answer: (principal, interactionId, input) =>
          journal.prepared(
            "Interactions.answer",
            { by: principal, about: { type: "interaction", id: interactionId } },
            // A start needs no rules of answers.
            Effect.map(
              Effect.promise(() => import("./questions/GivenAnswers.js")),
              ({ callAnswer, optionAnswer, requireSeen }) =>
                Effect.gen(function* () {
                  const interaction = yield* held(principal, interactionId)
                  const isCall = interaction.kind === "tool_call"
                  const given = yield* isCall ? callAnswer(input, toolAnswerImages) : optionAnswer(interaction, input)
                  const { state } = interaction
                  if (state === "answered" && isSame(interaction, given)) return interaction
                  if (!interactionStates.allows(state, "answered")) return yield* resolvedAlready(interaction)
                  yield* requireSeen(interaction, input.seen)
                  if (isCall) {
                    if (yield* isOver(interaction)) return yield* tooLate(interaction)
                    yield* calls.requireClaim(interaction, input.claim_id)
                  }
                  return yield* interactions.resolve(interaction, "answered", given, actorOf(principal))
                })
            )
          ),
        claim: (principal, interactionId, { holder, seconds }) =>
          journal.command(
            "Interactions.claim",
            { by: principal, about: { type: "interaction", id: interactionId } },
            Effect.gen(function* () {
              const interaction = yield* held(principal, interactionId)
              if (interaction.kind !== "tool_call") return yield* notClaimable(interaction)
              if (interaction.state !== "pending") return yield* resolvedAlready(interaction)
              if (yield* isOver(interaction)) return yield* tooLate(interaction)
              return yield* calls.claim(interaction, holder, seconds)
            })
          )
      })
    })
  )
}

const isSame = (interaction: Interaction, given: GivenAnswer): boolean =>
  canonicalJson(answerIn(interaction)) === canonicalJson(answerIn(given))

const answerIn = ({ answer, blocks, content, is_error, note, result }: GivenAnswer) => ({
  answer,
  note,
  content,
  result,
  blocks,
  is_error
})

const resolvedAlready = ({ answer, state }: Interaction): ReinsError<"invalid_transition"> =>
  new ReinsError({
    code: "invalid_transition",
    message:
      state === "answered"
        ? "The interaction has another answer already, which the agent was given."
        : `The interaction is ${state}: the agent does not wait for an answer any more.`,
    details: { resource: "interaction", from: state, to: "answered", answer }
  })

const tooLate = ({ answer, expires_at, state }: Interaction): ReinsError<"invalid_transition"> =>
  new ReinsError({
    code: "invalid_transition",
    message: `The time of the call was over at ${expires_at}: the agent does not wait for an answer any more.`,
    details: { resource: "interaction", from: state, to: "answered", answer }
  })

const notClaimable = ({ answer, kind, state }: Interaction): ReinsError<"invalid_transition"> =>
  new ReinsError({
    code: "invalid_transition",
    message: `Only a tool call is claimed, and this interaction is of the kind ${kind}. Answer it without a claim.`,
    details: { resource: "interaction", from: state, to: "answered", answer }
  })
