import { Context, Effect, Layer, ParseResult, Schema } from "effect"
import { actorOf, type Denied, type Unseen } from "../access/Access.js"
import { canonicalJson } from "../base/CanonicalJson.js"
import { fn } from "../base/Traced.js"
import type { FormContent } from "../domain/Form.js"
import type { Page } from "../domain/Page.js"
import type { Principal } from "../domain/Principal.js"
import { notFound, ReinsError } from "../domain/ReinsError.js"
import { RequestInvalid } from "../domain/RequestInvalid.js"
import type { Command } from "../store/Command.js"
import { Journal } from "../store/Journal.js"
import { type Interaction, interactionStates } from "./Interaction.js"
import type { InteractionAnswer } from "./InteractionsApi.js"
import { faultOf } from "./questions/FormAnswers.js"
import { type InteractionFilter, InteractionStore } from "./questions/InteractionStore.js"
import type { GivenAnswer } from "./questions/ResolveInteraction.js"
import { SessionStore } from "./SessionStore.js"

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
     * Takes one of the options, by its id, for the agent that waits, with the values of its form and a note. The same answer again changes
     * nothing. Another answer, or an answer that comes too late, fails with `invalid_transition`, and a text that is no option, or a value that
     * the form does not take, with `RequestInvalid`.
     */
    readonly answer: (
      principal: Principal,
      interactionId: string,
      input: InteractionAnswer
    ) => Command<Interaction, Denied | ReinsError<"invalid_transition"> | RequestInvalid>
  }
>() {
  static readonly layer = Layer.effect(
    Interactions,
    Effect.gen(function* () {
      const journal = yield* Journal
      const sessions = yield* SessionStore
      const interactions = yield* InteractionStore

      const existing = (interactionId: string) =>
        Effect.flatMap(interactions.find(interactionId), (interaction) =>
          interaction === undefined ? Effect.fail(notFound()) : Effect.succeed(interaction)
        )

      return Interactions.of({
        list: fn("Interactions.list")(function* (principal, sessionId, filter) {
          const session = yield* sessions.readable(principal, sessionId)
          return yield* interactions.list(session.id, filter)
        }),
        answer: (principal, interactionId, { answer, content = null, note = null }) =>
          journal.command(
            "Interactions.answer",
            { by: principal, about: { type: "interaction", id: interactionId } },
            Effect.gen(function* () {
              const { session_id } = yield* existing(interactionId)
              yield* sessions.writable(principal, session_id)
              const interaction = yield* existing(interactionId)
              const { options, state } = interaction
              if (!options.some(({ id }) => id === answer)) return yield* noOption(interaction, answer)
              yield* checkContent(interaction, answer, content)
              if (interaction.kind === "budget" && note !== null) return yield* unheard(note)
              if (state === "answered" && isSame(interaction, { answer, content, note })) return interaction
              if (!interactionStates.allows(state, "answered")) return yield* resolvedAlready(interaction)
              return yield* interactions.resolve(interaction, "answered", { answer, content, note }, actorOf(principal))
            })
          )
      })
    })
  )
}

const noOption = ({ options }: Interaction, answer: string): RequestInvalid => {
  const known = options.map(({ id }) => `'${id}'`).join(", ")
  return new RequestInvalid({
    loc: ["body", "answer"],
    issue: new ParseResult.Type(Schema.String.ast, answer, `it is no option of the interaction, which has ${known}`),
    input: answer
  })
}

/** A note goes to the agent with the answer, and the answer to a budget ends the turn. */
const unheard = (note: string): RequestInvalid =>
  new RequestInvalid({
    loc: ["body", "note"],
    issue: new ParseResult.Type(Schema.String.ast, note, "the agent hears no note when a budget ends its turn"),
    input: note
  })

const isSame = (interaction: Interaction, { answer, content, note }: GivenAnswer): boolean =>
  interaction.answer === answer &&
  interaction.note === note &&
  canonicalJson(interaction.content) === canonicalJson(content)

/** Only the acceptance of a form has values, and they are what its fields take. */
const checkContent = (
  { form, options }: Interaction,
  answer: string,
  content: FormContent | null
): Effect.Effect<void, RequestInvalid> => {
  const isAcceptance = options.some(({ id, kind }) => id === answer && kind === "accept")
  const fault =
    form === null || !isAcceptance
      ? content === null
        ? undefined
        : { path: [], problem: "only an answer that accepts a form has values" }
      : faultOf(form, content ?? {})
  if (fault === undefined) return Effect.void
  return new RequestInvalid({
    loc: ["body", "content", ...fault.path],
    issue: new ParseResult.Type(Schema.Unknown.ast, content, `Input is not what the form takes: ${fault.problem}`),
    input: content
  })
}

const resolvedAlready = ({ answer, state }: Interaction): ReinsError<"invalid_transition"> =>
  new ReinsError({
    code: "invalid_transition",
    message:
      state === "answered"
        ? "The interaction has another answer already, which the agent was given."
        : `The interaction is ${state}: the agent does not wait for an answer any more.`,
    details: { resource: "interaction", from: state, to: "answered", answer }
  })
